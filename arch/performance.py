"""Speeds of a GPU: what predictions of time are made of. No rule reads them.

The tables ``[performance]`` and ``[[performance.product]]`` of a GPU's file say them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ckrules.support.document import Section
from ckrules.support.errors import UsageError, unknown

Shape = tuple[int, int, int]
_CHIP = (
    *("simds", "waves_per_simd", "lds_bytes_per_clock", "l2_bytes", "l2_bytes_per_clock"),
    *("last_level_bytes", "chiplets"),
)
_PRODUCT = ("name", "compute_units", "clock_mhz", "memory_gbs")


class UnknownRateError(UsageError):
    """Nobody knows how fast matrix instructions for a type are on a GPU."""


@dataclass(frozen=True, slots=True)
class GpuProduct:
    """One product with a GPU: what its boards differ in.

    ``memory_gbs`` is the peak of the memory outside the chip in GB/s, ``clock_mhz`` the highest
    clock. Where a card is two devices (MI250X), these are one device's.
    """

    name: str
    compute_units: int
    clock_mhz: int
    memory_gbs: int


@dataclass(frozen=True, slots=True)
class Performance:
    """The speeds of one GPU, of one compute unit where nothing else is said.

    ``waves_per_simd`` is the most waves that a SIMD holds. ``lds_bytes_per_clock`` and
    ``l2_bytes_per_clock`` are bytes of a compute unit in a clock. ``l2_bytes`` is the L2 cache of
    one of ``chiplets``, ``last_level_bytes`` the cache behind it, of the whole GPU, 0 = none.
    ``matrix_flops`` pairs dtypes with operations in a clock, a multiplication and an addition
    counted as two, of the fastest instructions; ``slower`` has warp tiles whose instructions do
    less, as ``((dtype, tile), factor)``.

    >>> from ckrules.arch import load
    >>> speeds = load("gfx950").performance
    >>> speeds.product().name, speeds.rate("bf16", (16, 16, 32)), speeds.rate("bf16", (16, 16, 16))
    ('Instinct MI355X', 4096, 2048)
    """

    simds: int
    waves_per_simd: int
    lds_bytes_per_clock: int
    l2_bytes: int
    l2_bytes_per_clock: int
    last_level_bytes: int
    chiplets: int
    matrix_flops: tuple[tuple[str, int], ...]
    slower: tuple[tuple[tuple[str, Shape], int], ...]
    products: tuple[GpuProduct, ...]

    def product(self, name: str | None = None) -> GpuProduct:
        """The product of a name, or of its last word as in ``MI300X``; the first without one.

        Raises:
            UnknownNameError: For another name, with near matches.
        """
        if name is None:
            return self.products[0]
        wanted = name.lower()
        for product in self.products:
            if wanted in (product.name.lower(), product.name.lower().partition(" ")[2]):
                return product
        raise unknown("product", name, [p.name for p in self.products])

    def rate(self, dtype: str, warp_tile: Shape) -> int:
        """Matrix operations of a compute unit in a clock.

        Raises:
            UnknownRateError: If the matrix units have no instructions for the dtype.
        """
        rates = dict(self.matrix_flops)
        if dtype not in rates:
            known = ", ".join(rates)
            raise UnknownRateError(
                f"no rate of matrix instructions is known for {dtype}: only {known}"
            )
        return rates[dtype] // dict(self.slower).get((dtype, warp_tile), 1)


def read(section: Section, dtypes: Collection[str]) -> Performance:
    """The speeds that the table ``[performance]`` of a GPU's file states."""
    path = (*section.path, "matrix_flops")
    rates = Section(section.doc, path, section.table("matrix_flops"), (), dtypes)
    simds, waves, lds, l2, l2_clock, last, chiplets = (
        section.number(key, 0 if key == "last_level_bytes" else 1, 1 << 32) for key in _CHIP
    )
    flops = tuple((d, rates.number(d, 1, 1 << 20)) for d in rates.data)
    slower = tuple(_slower(section, dtypes))
    products = tuple(_products(section))
    return Performance(simds, waves, lds, l2, l2_clock, last, chiplets, flops, slower, products)


KEYS = (*_CHIP, "matrix_flops", "product", "source")
OPTIONAL = ("slower",)


def _slower(section: Section, dtypes: Collection[str]) -> Iterator[tuple[tuple[str, Shape], int]]:
    for row in section.each("slower", ("dtypes", "tiles", "factor")):
        factor, tiles = row.number("factor", 2, 64), row.triples("tiles", 1, 1024)
        for dtype in row.words("dtypes", dtypes, "dtype"):
            yield from (((dtype, tile), factor) for tile in tiles)


def _products(section: Section) -> Iterator[GpuProduct]:
    for row in section.each("product", _PRODUCT):
        units, clock, memory = (row.number(key, 1, 1 << 20) for key in _PRODUCT[1:])
        yield GpuProduct(row.text("name"), units, clock, memory)
