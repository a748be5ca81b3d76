"""How far estimates of registers are from what the compiler allocated: as lines, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from ckrules.certify.registers import CompiledKernel
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of

_NEAR = 0.25
_SAID = ("vgprs", "bound_vgprs", "lds_bytes", "accumulator_vgprs")


@dataclass(frozen=True)
class JudgedKernel:
    """One kernel's estimates and what came out."""

    family: str
    row: CompiledKernel
    vgprs: int
    bound: int
    lds_bytes: int
    accumulators: int

    @property
    def ratio(self) -> float:
        """Estimated over allocated registers."""
        return self.vgprs / self.row.allocation.vgprs

    @property
    def says_spills(self) -> bool:
        """Whether the estimate reaches what the launch bound leaves."""
        return self.vgprs >= self.bound


@dataclass(frozen=True)
class RegisterErrors:
    """The errors of estimates over some kernels.

    ``median`` is of relative errors, ``near`` the share within a quarter, ``small`` and ``large``
    the median of estimated over allocated registers for tiles of few and of many sums a lane;
    None without such kernels.
    """

    kernels: int
    median: float | None
    near: float | None
    small: float | None
    large: float | None
    spill: int
    """Kernels that spill."""
    said: int
    """Kernels that are said to."""
    both: int


def judged(rows: Sequence[CompiledKernel], books: Books) -> list[JudgedKernel]:
    """The kernels that have code, each with what the rules say of it."""
    out = []
    for row in rows:
        if row.allocation.failure or not row.allocation.vgprs:
            continue
        variant = str(row.point["variant"])
        said = books.of(variant).resources(row.point, list(_SAID))
        out.append(JudgedKernel(family_of(variant).name, row, *(said[n] for n in _SAID)))
    return out


_SMALL = 32
"""Sums of a lane up to which a tile counts as small."""


def errors(kernels: Sequence[JudgedKernel]) -> RegisterErrors:
    """The errors over some kernels."""
    off = [abs(k.ratio - 1) for k in kernels]
    small = [k.ratio for k in kernels if k.accumulators <= _SMALL]
    large = [k.ratio for k in kernels if k.accumulators > _SMALL]
    spill = [k for k in kernels if k.row.allocation.spills]
    return RegisterErrors(
        len(kernels),
        median(off) if off else None,
        sum(e <= _NEAR for e in off) / len(off) if off else None,
        median(small) if small else None,
        median(large) if large else None,
        len(spill),
        sum(k.says_spills for k in kernels),
        sum(k.says_spills for k in spill),
    )


def by_family_and_gpu(kernels: Sequence[JudgedKernel]) -> dict[tuple[str, str], RegisterErrors]:
    """The errors of each family on each GPU, and of all."""
    cells: dict[tuple[str, str], list[JudgedKernel]] = {}
    for k in kernels:
        cells.setdefault((k.family, str(k.row.point["arch"])), []).append(k)
    return {**{c: errors(own) for c, own in cells.items()}, ("all", ""): errors(kernels)}


def lines(rows: Sequence[CompiledKernel], books: Books) -> Iterator[str]:
    """The table by family and GPU, and what the compiler refused."""
    kernels = judged(rows, books)
    yield (
        f"{'family':<8}{'GPU':<9}kernels  median error  within 25 %  "
        "said/made small  large  spill  said  both"
    )
    for (family, arch), e in by_family_and_gpu(kernels).items():
        yield (
            f"{family:<8}{arch:<9}{e.kernels:>7}{_percent(e.median):>14}{_percent(e.near):>13}"
            f"{_number(e.small):>17}{_number(e.large):>7}{e.spill:>7}{e.said:>6}{e.both:>6}"
        )
    for row in rows:
        if row.allocation.failure:
            fields = ", ".join(f"{n}={v}" for n, v in row.point.items())
            yield f"no code ({row.allocation.failure}): {fields}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def as_json(rows: Sequence[CompiledKernel], books: Books) -> dict[str, Any]:
    """The same for programs, with every kernel."""
    kernels = judged(rows, books)
    said = {id(k.row): k for k in kernels}
    cells = by_family_and_gpu(kernels)
    return {
        "errors": [{"family": f, "arch": a, **asdict(e)} for (f, a), e in cells.items()],
        "kernels": [
            {
                "config": dict(r.point),
                "seed": r.seed,
                "found": asdict(r.allocation),
                "vgprs": said[id(r)].vgprs if id(r) in said else None,
            }
            for r in rows
        ],
    }
