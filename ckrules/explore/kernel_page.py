"""What is shown of one kernel: its tile, quantities, rules, source, builds and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from ckrules.arch import Gpu
from ckrules.codegen.generate import files_of
from ckrules.engine.evaluate.pointwise import At
from ckrules.engine.expr import Value
from ckrules.engine.rules import Violation
from ckrules.engine.rules.book import RuleBook
from ckrules.explore.kernel_address import address
from ckrules.explore.lists import title
from ckrules.explore.subject import Subject
from ckrules.kernels.config import Config
from ckrules.kernels.lds_map import LdsMap
from ckrules.pictures.tile_map import inline
from ckrules.support.errors import CkrulesError, UsageError
from ckrules.support.tables import word

if TYPE_CHECKING:
    from ckrules.explore.assembly import AssembledKernel

_ROWS = 50
MOST = 3
"""Kernels that are shown side by side at most."""
_BUILD = (
    *("artifact", "ck", "status", "error_class", "lds_bytes", "vgprs", "agprs", "sgprs"),
    *("vgpr_spills", "scratch_bytes", "seconds", "tool_version"),
)
_RUN = ("problem", "status", "wrong", "max_abs", "latency_ms", "tflops", "device_name", "detail")


@dataclass(frozen=True)
class RuleVerdict:
    """What a rule says of a kernel: ``holds``, ``broken`` or ``does not apply``."""

    code: str
    summary: str
    verdict: str
    severity: str
    values: str
    message: str


@dataclass(frozen=True)
class Turning:
    """Accesses of a block tile to LDS: how many, and the bank cycles that they take."""

    what: str
    size: int
    accesses: int
    turns: int
    least: int


@dataclass(frozen=True)
class ResultRows:
    """Rows of a results database, of the columns that have something."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class KernelPage:
    """One kernel.

    Args:
        subject: Whose rules, GPUs and results are meant.
    """

    def __init__(self, subject: Subject, config: Config) -> None:
        self.subject, self.config = subject, config
        self.books = subject.books.at(config.ck)
        self.book: RuleBook = self.books.of(config.variant)
        self.point: Mapping[str, Value] = config.point

    @property
    def address(self) -> str:
        """What addresses say of it."""
        return address(self.point, self.books)

    @cached_property
    def title(self) -> str:
        """Its name, or its fields."""
        return title(self.point, self.books)

    @cached_property
    def fields(self) -> Mapping[str, str]:
        """Its fields, as words."""
        return {name: word(value) for name, value in self.point.items()}

    @cached_property
    def quantities(self) -> Mapping[str, str]:
        """Its derived quantities, as words."""
        return {n: _shown(v) for n, v in self.known.items()}

    @cached_property
    def known(self) -> Mapping[str, Any]:
        """Its derived quantities; None for one that is undefined."""
        return self.book.resources(self.point)

    @cached_property
    def drawing(self) -> str | None:
        """How its block tiles are divided, as a picture for a page."""
        tiles = self.config.family.block_maps(self.point)
        return inline(tiles) if tiles else None

    @cached_property
    def lines(self) -> Sequence[str]:
        """What ``ckrules draw`` says of it: what waves compute, what lanes load, what it takes."""
        return self.config.family.picture(self.point, self.known, self.gpu) or ()

    @property
    def gpu(self) -> Gpu:
        """Its GPU; of a family with GPUs of its own a `TargetGpu`."""
        return cast("Gpu", self.books.gpu(str(self.point["arch"])))

    @cached_property
    def lds(self) -> LdsMap | str:
        """The way of its operands through LDS, or why there is none."""
        if self.broken:
            return "it breaks rules"
        return self.config.family.lds_map(self.point, self.book.vocabulary, self.gpu)

    @cached_property
    def turning(self) -> Sequence[Turning]:
        """What LDS has to do for each block tile; nothing where that is not modelled."""
        if isinstance(self.lds, str):
            return ()
        found = []
        for operand in self.lds.operands:
            for writes, what in ((True, "stores"), (False, "reads")):
                for (size, turns), n in self.lds.counted(operand, writes=writes).items():
                    name = f"{what} of {operand.name}"
                    found.append(Turning(name, size, n, turns.taken * n, turns.least * n))
        return found

    @cached_property
    def registers(self) -> Mapping[str, str]:
        """Quantities that count registers of a lane, and what the GPU has."""
        registers = {n: _shown(v) for n, v in self.known.items() if n.endswith("vgprs")}
        if registers and isinstance(self.gpu, Gpu):
            registers["of the GPU"] = _shown(self.gpu.vgprs_per_wave)
        return registers

    @cached_property
    def broken(self) -> Sequence[Violation]:
        """The rules that it breaks."""
        return self.book.violations(self.point)

    @cached_property
    def verdicts(self) -> Sequence[RuleVerdict]:
        """Every rule: the broken ones first, then those that hold, then those not about it."""
        at, said = At(self.point), {v.code: v.message for v in self.broken}
        found = []
        for rule in self.book.rules:
            if rule.code in said:
                verdict = "broken"
            else:
                verdict = "holds" if at.holds(rule.applies) else "does not apply"
            values = ", ".join(
                f"{n} = {self.fields[n]}" for n in rule.message_fields() if n in self.fields
            )
            found.append(
                RuleVerdict(rule.code, rule.summary, verdict, rule.severity, values,
                        said.get(rule.code, ""))
            )  # fmt: skip
        order = ("broken", "holds", "does not apply")
        return sorted(found, key=lambda v: (order.index(v.verdict), v.code))

    @cached_property
    def files(self) -> tuple[Sequence[tuple[str, str]], str]:
        """The files that ``ckrules generate`` writes of it, or why there are none."""
        try:
            return list(files_of(self.config, self.books)), ""
        except CkrulesError as error:
            return [], str(error)

    @cached_property
    def builds(self) -> ResultRows | None:
        """Its builds in the results database; None without one."""
        from ckrules.compiling.results import Results

        return self._records(Results, _BUILD)

    @cached_property
    def runs(self) -> ResultRows | None:
        """Its runs in the results database; None without one."""
        from ckrules.device.store import Runs

        return self._records(Runs, _RUN)

    @cached_property
    def built(self) -> AssembledKernel | None:
        """What the compiler made of it; None where it was not built or the file is gone."""
        from ckrules.compiling.results import Results
        from ckrules.explore.assembly import built

        if self.subject.results is None:
            return None
        name, arch = self.config.name or self.title, str(self.point["arch"])
        with Results(self.subject.results, reading=True) as table:
            asked = "name = ? AND arch = ? AND artifact = 'device' AND status = 'ok'"
            rows = list(table.records(where=asked, values=(name, arch), limit=1))
        if not rows:
            return None
        return built(self.subject.results, name, arch, rows[0]["artifact_digest"])

    def _records(self, kind: Any, columns: Sequence[str]) -> ResultRows | None:
        if self.subject.results is None:
            return None
        with kind(self.subject.results, reading=True) as table:
            asked = (self.config.name or self.title, str(self.point["arch"]))
            found = table.records(where="name = ? AND arch = ?", values=asked, limit=_ROWS)
            records = [{c: r.get(c) for c in columns} for r in found]
        some = [c for c in columns if any(r[c] is not None for r in records)]
        return ResultRows(some, [[_shown(r[c]) for c in some] for r in records])


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return word(value)
    return (
        f"{value:,}"
        if isinstance(value, int)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def beside(pages: Sequence[KernelPage]) -> None:
    """Refuses kernels that cannot be shown side by side.

    Raises:
        UsageError: For none, or more than `MOST`.
    """
    if not 1 <= len(pages) <= MOST:
        raise UsageError("one kernel is shown, or two or three side by side")


def differing(parts: Sequence[Mapping[str, str]]) -> Sequence[tuple[str, Sequence[str]]]:
    """What kernels have under each name that one of them has.

    >>> differing([{"m": "1", "n": "2"}, {"m": "1", "n": "3"}])
    [('m', ['1', '1']), ('n', ['2', '3'])]
    """
    names = dict.fromkeys(name for part in parts for name in part)
    return [(name, [part.get(name, "") for part in parts]) for name in names]
