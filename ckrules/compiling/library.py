"""The dispatcher library of a built folder: its kernels from C, by our calls and upstream's.

The C++ is in ``data``; what is made here is the header that lists the kernels, with what rules say
of the problems that each takes and computes wrong, and with the times that were measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.codegen import condition
from ckrules.codegen.project import runtime_text
from ckrules.codegen.render import render
from ckrules.codegen.stamp import current
from ckrules.compiling import speeds
from ckrules.compiling.folder import manifests
from ckrules.compiling.models import Models
from ckrules.compiling.toolchain import Missing, MissingToolError, find_compiler
from ckrules.engine.expr import TRUE, BoolExpr, all_of
from ckrules.engine.rewrite.simplify import Simplifier
from ckrules.kernels import library, problem_books
from ckrules.kernels.families import families, family_of, problems_of
from ckrules.kernels.timing import CAUTION
from ckrules.support import files
from ckrules.support.errors import CkrulesError, UsageError
from ckrules.support.tables import word

if TYPE_CHECKING:
    from ckrules.compiling.manifest import ManifestEntry
    from ckrules.kernels.family import Family
    from ckrules.kernels.parts import LibraryKernel
    from ckrules.ranking.learned import TimeModel

NAME = "libckrules_dispatcher.so"
"""The library's name in the folder of its kernels."""
HEADER = "ckrules_dispatcher.h"
"""The C header that is copied beside it."""
REGISTRY = "registry.json"
"""All its kernels in the form of upstream's registries."""
_DATA = Path(__file__).parent / "data"
_SOURCES = ("ckrules_dispatcher.cpp", "ckrules_upstream.cpp")
_OPTIMIZE = "-O2"
_LISTED = "ckrules_listed.cpp"
_WHOLE = "ckrules_whole.cpp"
"""Includes them all: half of what compiling one by one costs is the headers that they share."""
ESTIMATED = ("ckrules_convolution", "ckrules_gemm")
"""The C structures of problems that it pads, and estimates times of, by their number there."""
_UPSTREAM = {1: "dispatcher", 2: "conv_dispatcher"}
"""How upstream's calls begin, by `LibraryKernel.upstream`."""
_PATIENCE = 300.0


class LibraryError(CkrulesError, RuntimeError):
    """A dispatcher library that the compiler refused."""


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """How long a kernel took for a problem."""

    kernel: str
    problem: Any
    microseconds: float
    right: bool = True
    """False if it miscomputed the problem, crashed or hung."""


@dataclass(frozen=True, slots=True)
class Built:
    """A library that was made."""

    path: Path
    kernels: int
    notes: tuple[str, ...]
    """What its callers should know: kernels left out, calls that it cannot answer."""


def build(
    folder: Path,
    compiler: str | None = None,
    times: Iterable[MeasuredTime] = (),
    model: TimeModel | bool | None = None,
) -> Built:
    """Builds the library of a folder.

    Args:
        folder: What `ckrules build` filled.
        compiler: A compiler by name.
        times: What is known of the kernels' times.
        model: What predicts the others; None for the package's own models, False for estimates.

    Raises:
        UsageError: If the folder has no kernels for it, or some of several GPUs, or if the model
            speaks of none of them.
        MissingToolError: If there is no compiler.
        LibraryError: If the compiler refuses it.
    """
    rows, notes = chosen(manifests(folder))
    models = Models(model)
    texts = list(headers(rows, times, models))
    notes += _of_model(models)
    target = rows[0].kernel.folder / NAME
    found = find_compiler(compiler)
    if isinstance(found, Missing):
        raise MissingToolError(str(found))
    with tempfile.TemporaryDirectory(prefix="ckrules-") as name:
        place = Path(name)
        (place / "runtime").mkdir()
        for file, text in texts:
            files.put(place / file, text)
        each = (f'#include "{source}"\n' for source in (*_SOURCES, _LISTED))
        files.put(place / _WHOLE, "".join(each))
        made = place / NAME
        words = [
            *(str(found[1]), "--driver-mode=g++", "-shared", "-fPIC", _OPTIMIZE, "-std=c++17"),
            f"-ffile-prefix-map={place}=.",
            *("-fvisibility=hidden", f"-I{place}", f"-I{place / 'runtime'}", f"-I{_DATA}"),
            *(str(place / _WHOLE), "-o", str(made), "-ldl"),
        ]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=_PATIENCE, check=False
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise LibraryError(f"{NAME}: {error}") from None
        if done.returncode:
            said = next((x for x in done.stderr.splitlines() if "error" in x), done.stderr[-300:])
            raise LibraryError(f"{NAME}: {said.strip()}")
        files.replace(target, made.read_bytes(), mode=0o755)
        for header in sorted((place / "runtime").iterdir()):  # a folder lacks other families' ones
            beside = target.parent / "runtime" / header.name
            if not beside.exists():
                files.replace(beside, header.read_bytes())
    files.replace(target.with_name(HEADER), (_DATA / HEADER).read_bytes())
    registry = json.dumps(registry_json(rows), indent=2)
    files.replace(target.with_name(REGISTRY), registry + "\n")
    return Built(target, len(rows), tuple(notes))


@dataclass(frozen=True)
class LibraryRow:
    """A kernel of the library."""

    kernel: ManifestEntry
    condition: BoolExpr
    """What holds of the problems that it computes right, as far as rules know."""
    facts: LibraryKernel


def chosen(listed: Iterable[ManifestEntry]) -> tuple[list[LibraryRow], list[str]]:
    """The built kernels that the library has, and what there is to say about others.

    Raises:
        UsageError: If there is none, or they are of several GPUs.
    """
    found, notes, others = [], [], Counter[str]()
    for kernel in (k for k in listed if not k.missing and k.legal):
        part = _family(kernel).library
        if part is None:
            others[_family(kernel).name] += 1
            continue
        try:
            facts = part.kernel({**kernel.config, "arch": kernel.arch})
            found.append(LibraryRow(kernel, _right(kernel), facts))
            _condition_text("known", found[-1])
        except UsageError as error:
            found.pop()
            notes.append(f"left out: {kernel.name} (its rules on problems: {error})")
    if others:
        notes.insert(0, _other_families(others))
    if not found:
        raise UsageError("; ".join(["no built kernel that breaks no rule", *notes]))
    archs = sorted({r.kernel.arch for r in found})
    if len(archs) > 1:
        raise UsageError(f"kernels of {', '.join(archs)}: a library is of one GPU")
    # where C knows no times, the first is taken: that which is usually fastest
    found.sort(key=lambda r: 0.0 if _structure(r.kernel) in ESTIMATED else speeds.typical(r.kernel))
    return found, [*notes, *filter(None, (_unclear(found, calls) for calls in _UPSTREAM))]


def _structure(kernel: ManifestEntry) -> str:
    return problems_of(str(kernel.config["variant"])).members()[0]


def _other_families(counts: Mapping[str, int]) -> str:
    """What is left out for want of a header that C programs describe its problems by."""
    what = ", ".join(f"{n:,} kernel{'s' * (n != 1)} of {name}" for name, n in counts.items())
    have = ", ".join(f.name for f in families().values() if f.library is not None)
    return f"left out: {what}: the C library has {have}; from Python ckrules.runtime runs them all"


def _unclear(rows: Sequence[LibraryRow], calls: int) -> str | None:
    """Why upstream's calls cannot be answered: they could mean several kinds of kernels."""
    asked = [r for r in rows if r.facts.upstream == calls]
    kinds = {tuple(str(r.kernel.config.get(f)) for f in r.facts.unnamed) for r in asked}
    if len(kinds) < 2:
        return None
    what = "; ".join(sorted(" ".join(values) for values in kinds))
    return (
        f"upstream's {_UPSTREAM[calls]}_init will refuse: its calls name no "
        f"{', '.join(asked[0].facts.unnamed)}, and there are kernels of {what}"
    )


def _right(kernel: ManifestEntry) -> BoolExpr:
    """What rules ask of problems so that the kernel computes right, over the problem's fields."""
    variant = str(kernel.config["variant"])
    usual = family_of(variant).defaults(variant, kernel.config.get("ndim"))
    rules = problem_books.book(variant, ck=kernel.ck).rules
    config = {**usual, **kernel.config, "arch": kernel.arch}
    fixed = {
        name: config[name] for name in library.book(variant, ck=kernel.ck).fields if name in config
    }
    wrong = [r.condition for r in rules if r.kind == "wrong-result" and r.severity == "error"]
    return Simplifier(fixed).condition(all_of(*wrong))


def _family(kernel: ManifestEntry) -> Family:
    return family_of(str(kernel.config["variant"]))


def _of_model(models: Models) -> list[str]:
    """Of which kernels the model that was given does not speak."""
    reasons = [
        f"{count:,} kernel{'s' * (count != 1)} without it: {why}"
        for why, count in models.silent.items()
    ]
    if reasons and not models.speaks:
        raise UsageError(f"the model speaks of no kernel: {'; '.join(models.silent)}")
    return reasons


def headers(
    rows: Sequence[LibraryRow], times: Iterable[MeasuredTime], models: Models | None = None
) -> Iterable[tuple[str, str]]:
    """Name and text of what the C++ includes, and of the list itself."""
    ck, models = rows[0].kernel.ck, models or Models()
    yield "runtime/ckrules_kernel.h", runtime_text("ckrules_kernel.h", ck)
    described = {}
    for family in families().values():
        if family.library is not None:
            assert family.generation is not None
            described[family.library.header] = family.generation.templates
    for header, templates in described.items():
        name = f"runtime/{header}"
        yield name, render(f"{name}.j2", {"stamp": current(ck)}, templates)
    right = [_condition_text(f"right_{k}", row) for k, row in enumerate(rows)]
    quick = [speeds.row(r.kernel) for r in rows]
    learned = [models.name(k, r.kernel) if quick[k] else "nullptr" for k, r in enumerate(rows)]
    registry = registry_json([r for r in rows if r.facts.upstream == 1])
    known = list(_times(rows, times))
    reasons = [
        json.dumps(said) if (said := _unclear(rows, calls)) else "nullptr" for calls in _UPSTREAM
    ]
    yield (
        _LISTED,
        render(
            "ckrules_listed.cpp.j2",
            {
                "described": list(described),
                "conditions": [text for text in right if text],
                "speeds": [f"speed_{k} = {text}" for k, text in enumerate(quick) if text],
                "models": models.texts,
                "rows": [
                    _row(
                        r,
                        f"right_{k}" if right[k] else "nullptr",
                        f"&speed_{k}" if quick[k] else "nullptr",
                        learned[k],
                    )
                    for k, r in enumerate(rows)
                ],
                "times": known,
                "refused": reasons,
                "registry": json.dumps(json.dumps(registry, indent=2)),
                "caution": CAUTION,
                "copying": speeds.copying(rows[0].kernel.arch),
            },
        ),
    )


def _condition_text(name: str, row: LibraryRow) -> str | None:
    """The C++ function that says whether a problem is computed right, None if all are."""
    if row.condition is TRUE:
        return None
    kind, members = problems_of(str(row.kernel.config["variant"])).members()
    return condition.function(name, row.condition, kind, members)


def _times(rows: Sequence[LibraryRow], times: Iterable[MeasuredTime]) -> Iterator[str]:
    place = {r.kernel.name: k for k, r in enumerate(rows)}
    for t in times:
        if t.kernel in place:
            variant = str(rows[place[t.kernel]].kernel.config["variant"])
            data = problems_of(variant).pack(t.problem)
            text = "".join(f"\\x{byte:02x}" for byte in data)
            seen = f"{place[t.kernel]}, {int(t.right)}, {t.microseconds:.6g}"
            yield f'{{{seen}, "{text}", {len(data)}}}'


def _row(row: LibraryRow, right: str, speed: str, learned: str) -> str:
    kernel, config, facts = row.kernel, row.kernel.config, row.facts
    said = {"family": _family(kernel).name, "arch": kernel.arch, **config}
    fields = "".join(f";{k}={word(v)}" for k, v in said.items())
    computes = " ".join(str(config[k]) for k in facts.computes if k in config)
    texts = ", ".join(
        json.dumps(x) for x in (kernel.name, config["variant"], fields + ";", computes)
    )
    sizes, shape = (", ".join(map(str, v)) for v in (facts.sizes, facts.shape))
    kind = _structure(kernel)
    number = ESTIMATED.index(kind) if kind in ESTIMATED else len(ESTIMATED)
    return (
        f"{{{texts}, {facts.upstream}, {facts.ndim}, {{{sizes}}}, {{{shape}}}, "
        f"{number}, sizeof({kind}), {int(facts.shuffled)}, "
        f"{sum(1 << 'MNK'.index(axis) for axis in set(facts.eights))}, {facts.merged}, "
        f"{speed}, {learned}, {right}}}"
    )


def registry_json(rows: Sequence[LibraryRow]) -> dict[str, Any]:
    """The registry in the form of upstream's ``dispatcher_export_registry_json``."""

    def counted(field: str) -> dict[str, int]:
        values = (r.kernel.config.get(field) for r in rows)
        return dict(Counter(str(v) for v in values if v is not None))

    return {
        "metadata": {
            "timestamp": _made().isoformat(timespec="seconds"),
            "total_kernels": len(rows),
            "export_version": "1.0",
            "dispatcher_version": "1.0.0",
        },
        "statistics": {
            "by_datatype": counted("dtype"),
            "by_pipeline": counted("pipeline"),
            "by_scheduler": counted("scheduler"),
        },
        "kernels": [
            {
                "identifier": r.facts.identifier,
                "name": r.kernel.name,
                "algorithm": r.facts.algorithm,
            }
            for r in rows
        ],
    }


def _made() -> datetime:
    """When the library says it was made: ``SOURCE_DATE_EPOCH``, else the beginning of that count.

    The time of day would make another library of the same kernels.
    """
    word = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(word) if word.isascii() and word.isdigit() and len(word) < 11 else 0
    return datetime.fromtimestamp(seconds, UTC)
