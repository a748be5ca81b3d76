"""The back end's answers beside the rules: LDS, registers, spills, and what only it refuses.

A rule of kind ``launch`` or ``hardware`` is confirmed by a sign in the code object: there is none,
its workgroup was clamped, or it holds no matrix instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from ckrules.certify.codeobjects import CodeObjectFigures
from ckrules.certify.oracle import CompilerError
from ckrules.engine.expr import Value
from ckrules.engine.rules.book import RuleBook

Point = Mapping[str, Value]

KINDS = ("hardware", "launch")
"""The kinds of rules that the back end can confirm."""

SIGNS = ("refused", "clamped", "idle")
"""There is no code object; it is made for fewer threads; it has no matrix instruction."""


@dataclass(frozen=True)
class Compared:
    """One kernel: what the rules say of it and what the compiler made of it."""

    point: Point
    broken: tuple[str, ...]
    """The codes of the broken rules of `KINDS`."""
    lds_bytes: int
    vgprs: int
    bound_vgprs: int
    """Those that the launch bound leaves a lane."""
    threads: int
    """Of a workgroup, as launched."""
    figures: CodeObjectFigures | None
    failure: str = ""

    @property
    def spills(self) -> bool:
        """Whether the estimate of registers says that some spill."""
        return self.vgprs >= self.bound_vgprs

    @property
    def signs(self) -> frozenset[str]:
        """What speaks against the kernel, of `SIGNS`."""
        f = self.figures
        if f is None:
            return frozenset()
        if f.error is not None:
            return frozenset({"refused"})
        found = {"clamped"} if (f.max_threads or 0) < self.threads else set()
        return frozenset(found | ({"idle"} if f.matrix == 0 else set()))

    @property
    def differs(self) -> bool:
        """True if a kernel that these rules let through shows a sign, or has less LDS than said.

        LLVM may add to a kernel's LDS, where private arrays move into what is left over.
        """
        f = self.figures
        if f is None or self.broken:
            return False
        return bool(self.signs) or (f.lds_bytes or 0) < self.lds_bytes


def compare(book: RuleBook, point: Point, found: CodeObjectFigures | CompilerError) -> Compared:
    """Sets what the compiler made of a kernel beside what the rules say."""
    broken = tuple(v.code for v in book.violations(point) if v.kind in KINDS)
    said = book.resources(point, ["lds_bytes", "vgprs", "bound_vgprs", "launch_threads"])
    failed = isinstance(found, CompilerError)
    return Compared(
        point,
        broken,
        said["lds_bytes"],
        said["vgprs"],
        said["bound_vgprs"],
        said["launch_threads"],
        None if isinstance(found, CompilerError) else found,
        str(found) if failed else "",
    )


@dataclass(frozen=True, slots=True)
class RuleSigns:
    """How often kernels that break a rule showed each sign."""

    code: str
    kernels: int
    alone: int
    """Of them those that break no other rule of `KINDS`."""
    confirmed_alone: int
    """Of these those with some sign."""
    signs: Mapping[str, int]

    @property
    def confirmed(self) -> int:
        """Kernels with some sign."""
        return self.signs["any"]


def by_rule(cases: Sequence[Compared]) -> list[RuleSigns]:
    """The signs of the kernels that break each rule, for the rules that some kernel breaks."""
    judged = [c for c in cases if c.figures is not None]
    out = []
    for code in sorted({code for c in judged for code in c.broken}):
        own = [c for c in judged if code in c.broken]
        counts = {sign: sum(sign in c.signs for c in own) for sign in SIGNS}
        counts["any"] = sum(bool(c.signs) for c in own)
        alone = [c for c in own if len(c.broken) == 1]
        shown = sum(bool(c.signs) for c in alone)
        out.append(RuleSigns(code, len(own), len(alone), shown, counts))
    return out


@dataclass(frozen=True, slots=True)
class Estimates:
    """How far predictions are from what the compiler made, over kernels that have code."""

    kernels: int
    lds_exact: int
    lds_more: int
    """Kernels to whose LDS LLVM added."""
    vgpr_errors: tuple[float, ...]
    """Relative errors in order."""
    spills: tuple[int, int, int, int]
    """Kernels with spills predicted and found, predicted only, found only, neither."""

    def within(self, share: float) -> float | None:
        """The least relative error that this share of the kernels keeps; None without kernels."""
        errors = self.vgpr_errors
        return errors[max(0, ceil(share * len(errors)) - 1)] if errors else None


def estimates(cases: Iterable[Compared]) -> Estimates:
    """The errors of LDS, registers and spills over the kernels that compiled."""
    made = [(c, f) for c in cases if (f := c.figures) is not None and f.error is None]
    errors = sorted(abs(c.vgprs - f.vgprs) / f.vgprs for c, f in made if f.vgprs)
    table = {(p, f): 0 for p in (True, False) for f in (True, False)}
    for c, f in made:
        table[c.spills, bool(f.spills)] += 1
    return Estimates(
        len(made),
        sum(c.lds_bytes == f.lds_bytes for c, f in made),
        sum(c.lds_bytes < (f.lds_bytes or 0) for c, f in made),
        tuple(errors),
        (table[True, True], table[True, False], table[False, True], table[False, False]),
    )
