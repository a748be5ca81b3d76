"""The typed facts of one GPU, and the names (dtypes, features, CK versions) they may use.

No GPU's file is read here; :mod:`ckrules.arch.loader` fills these classes from TOML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeVar

from ckrules.arch.performance import Performance
from ckrules.support.errors import unknown

CK_VERSIONS: tuple[str, ...] = ("2025.11", "2026.06", "2026.09")
"""The CK header versions that warp-tile rows tell apart, oldest first."""

T = TypeVar("T")


def of_release(table: Mapping[str, T], ck: str) -> T:
    """What a table by CK version holds for one: the entry of the newest that is not newer.

    Raises:
        KeyError: If every entry is of a newer version.

    >>> of_release({"2025.11": "old", "2026.06": "new"}, "2026.09")
    'new'
    """
    held = [v for v in CK_VERSIONS[: CK_VERSIONS.index(ck) + 1] if v in table]
    return table[held[-1] if held else ck]


DTYPES: Mapping[str, int] = MappingProxyType(
    {
        "fp64": 64,
        "fp32": 32,
        "tf32": 32,
        "int32": 32,
        "fp16": 16,
        "bf16": 16,
        "fp8": 8,
        "bf8": 8,
        "int8": 8,
        "uint8": 8,
        "int4": 4,
        "pk_fp4": 4,
    }
)
"""Known element types and the bits of one element; ``pk_fp4`` is stored two to a byte."""

ISAS: tuple[str, ...] = ("gfx9", "gfx11", "gfx12", "gfx125")
"""Instruction-set lineages; in CK's macros gfx12 is ``__gfx120__`` and gfx125 ``__gfx125__``."""

TileKind = Literal["native", "iterated", "emulated"]
Types = tuple[str, str, str]
Shape = tuple[int, int, int]


@lru_cache(maxsize=1)
def features() -> Mapping[str, str]:
    """What a GPU with each feature can do, and where CK or LLVM says so: ``features.toml``."""
    import tomllib  # after import, which costs nothing

    text = Path(__file__).with_name("features.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


def hip_major(arch: str) -> int:
    """The major number that HIP reports for a GPU.

    >>> hip_major("gfx942"), hip_major("gfx90a"), hip_major("gfx1201")
    (9, 9, 12)
    """
    return int(arch.removeprefix("gfx")[:-2])


@dataclass(frozen=True, slots=True)
class WarpTile:
    """One warp tile that computes the right product on one GPU.

    ``m``, ``n``, ``k`` are elements; ``a``, ``b``, ``acc`` are dtype names. ``kind`` is
    ``native`` (one matrix instruction), ``iterated`` (several whole instructions of
    the same types) or ``emulated`` (instructions of another type, or padded operands).
    ``since`` is the first CK version whose header has the entry.

    Source: each row of the GPU file names its own (``docs/sources.md`` lists the documents).

    >>> WarpTile("fp16", "fp16", "fp32", 32, 32, 8, "native", "2025.11", "a header").shape
    (32, 32, 8)
    """

    a: str
    b: str
    acc: str
    m: int
    n: int
    k: int
    kind: TileKind
    since: str
    source: str

    @property
    def shape(self) -> Shape:
        """The tile as ``(m, n, k)``."""
        return (self.m, self.n, self.k)

    @property
    def types(self) -> Types:
        """The element types as ``(a, b, acc)``."""
        return (self.a, self.b, self.acc)


@dataclass(frozen=True, slots=True)
class TransposeLoad:
    """What CK's test for hardware transpose loads from LDS asks (CK 2026.06).

    ``dtypes`` may be transposed; the warp tile's K may be at most ``max_k_1byte`` for
    one-byte storage (``pk_fp4`` included) and ``max_k_wider`` for wider types, ``None``
    = no limit. ``read_bytes`` is what one lane reads at a time, ``None`` = not known.
    CK 2025.11 asks for the GPU and the layout only.

    Source: gemm_universal_pipeline_ag_bg_cr_policy.hpp UniversalGemmBasePolicy (CK 2026.06).
    """

    dtypes: frozenset[str]
    read_bytes: int | None
    max_k_1byte: int | None
    max_k_wider: int | None

    def allows(self, dtype: str, warp_tile_k: int) -> bool:
        """Whether an operand of ``dtype`` may be read transposed at this warp-tile K.

        >>> TransposeLoad(frozenset({"fp16"}), 8, 64, 32).allows("fp16", 64)
        False
        """
        if dtype not in self.dtypes:
            return False
        limit = self.max_k_1byte if DTYPES[dtype] <= 8 else self.max_k_wider
        return limit is None or warp_tile_k <= limit


@dataclass(frozen=True, slots=True)
class DispatcherTable:
    """Upstream's table for this GPU: what CK's dispatcher accepts since June 2026.

    These are facts of that *profile*, never of the hardware: the C++ has no wave-map
    table, and some of the warp tiles here compile to a kernel that computes nothing.
    ``warp_tiles`` and ``preshuffle_warp_tiles`` have ``(a, b, acc)``, shapes, and the CK version
    since which the row is there. ``lds_limits`` are bytes per pipeline until 2026.09, when they
    became shares of the GPU's capacity.

    Source: dispatcher/codegen/arch_specs.json (CK 2026.06; CK 2026.09 at 029d7b0).
    """

    family: str
    wave_maps: tuple[Shape, ...]
    warp_tiles: tuple[tuple[Types, tuple[Shape, ...], str], ...]
    preshuffle_warp_tiles: tuple[tuple[Types, tuple[Shape, ...], str], ...]
    lds_limits: tuple[tuple[str, int], ...]

    @property
    def types(self) -> tuple[Types, ...]:
        """The ``(a, b, acc)`` rows the dispatcher lists; it accepts the unlisted unchecked."""
        return tuple(types for types, _, _ in self.warp_tiles)

    def tiles(
        self, a: str, b: str, acc: str, *, preshuffle: bool = False, ck: str = CK_VERSIONS[-1]
    ) -> tuple[Shape, ...]:
        """The warp tiles that a CK version lists for a type row, empty if there is no such row."""
        table = self.preshuffle_warp_tiles if preshuffle else self.warp_tiles
        known = CK_VERSIONS.index(ck)
        listed = {types: s for types, s, since in table if CK_VERSIONS.index(since) <= known}
        return listed.get((a, b, acc), ())

    def lds_limit(self, pipeline: str) -> int:
        """Bytes of LDS the dispatcher allows ``pipeline``; the default row if it has none."""
        limits = dict(self.lds_limits)
        return limits.get(pipeline, limits["default"])


@dataclass(frozen=True, slots=True)
class Gpu:
    """The facts of one GPU, as one file of ``arch/data`` states them.

    Threads, waves and LDS are per workgroup. ``max_waves`` is ``max_threads / wave_size``;
    any wave grid up to it is legal in the C++. ``lds_bytes`` is the hardware's limit,
    ``smem_capacity`` what CK's ``get_smem_capacity()`` answers in device code (the CShuffle
    epilogue splits by it). ``vgprs_per_wave`` counts 32-bit registers a lane may address,
    accumulation registers included; ``vgprs_per_simd`` what one lane slot of a SIMD owns in
    all, ``None`` = not known. Load widths are bytes a lane moves with one instruction.
    ``performance`` has its speeds, ``None`` = not known.
    ``sources`` pairs each section of the file with where its facts come from.

    Source: the file's own ``source`` entries.

    >>> from ckrules.arch import load
    >>> gpu = load("gfx942")
    >>> gpu.wave_size, gpu.lds_bytes, gpu.matrix_unit
    (64, 65536, 'mfma')
    """

    name: str
    family: str
    products: tuple[str, ...]
    isa: str
    since: str
    wave_size: int
    max_threads: int
    max_waves: int
    lds_bytes: int
    lds_banks: int
    smem_capacity: int
    vgprs_per_wave: int
    vgprs_per_simd: int | None
    matrix_unit: Literal["mfma", "wmma"]
    dtypes: tuple[str, ...]
    features: frozenset[str]
    global_load_bytes: tuple[int, ...]
    direct_to_lds_bytes: tuple[int, ...]
    transpose_load: TransposeLoad | None
    defines: tuple[str, ...]
    tiles: tuple[WarpTile, ...]
    dispatcher: DispatcherTable | None
    performance: Performance | None
    sources: tuple[tuple[str, str], ...]

    def __hash__(self) -> int:
        return hash(self.name)  # books are looked up by all GPUs; their facts are thousands

    def warp_tiles(self, a: str, b: str, acc: str, ck: str | None = None) -> tuple[WarpTile, ...]:
        """The warp tiles that compute ``a * b`` into ``acc``, sorted by ``(m, n, k)``.

        ``ck`` keeps the tiles whose header entry that CK version has; ``None`` means the
        newest. Types without a row give an empty tuple; a name that is not a dtype, or no CK
        version, raises :class:`~ckrules.support.errors.UnknownNameError`.

        >>> from ckrules.arch import load
        >>> [t.shape for t in load("gfx1201").warp_tiles("fp16", "fp16", "fp32")]
        [(16, 16, 16)]
        >>> [t.shape for t in load("gfx942").warp_tiles("fp32", "fp32", "fp32", ck="2025.11")]
        [(16, 16, 4), (16, 16, 16)]
        """
        for dtype in (a, b, acc):
            if dtype not in DTYPES:
                raise unknown("dtype", dtype, DTYPES)
        if ck is not None and ck not in CK_VERSIONS:
            raise unknown("CK version", ck, CK_VERSIONS)
        known = CK_VERSIONS if ck is None else CK_VERSIONS[: CK_VERSIONS.index(ck) + 1]
        types = (a, b, acc)
        found = (tile for tile in self.tiles if tile.types == types and tile.since in known)
        return tuple(sorted(found, key=lambda tile: tile.shape))

    def lacking(self, ck: str) -> str | None:
        """Why the headers of a CK version cannot be compiled for this GPU; None if they can.

        Source: ck_tile/core/config.hpp, which defines a macro by GPU.

        >>> from ckrules.arch import load
        >>> load("gfx950").lacking("2025.11")
        >>> load("gfx1250").lacking("2025.11")
        'CK 2025.11 does not know gfx1250 (no CK_TILE_BUFFER_RESOURCE_3RD_DWORD); CK 2026.06 does'
        """
        if CK_VERSIONS.index(self.since) <= CK_VERSIONS.index(ck):
            return None
        macro = "CK_TILE_BUFFER_RESOURCE_3RD_DWORD"
        return f"CK {ck} does not know {self.name} (no {macro}); CK {self.since} does"

    def has(self, feature: str) -> bool:
        """Whether the GPU has ``feature``; a name not in `features` raises UnknownNameError.

        >>> from ckrules.arch import load
        >>> load("gfx950").has("async_pipelines"), load("gfx942").has("async_pipelines")
        (True, False)
        """
        if feature not in features():
            raise unknown("feature", feature, features())
        return feature in self.features

    def source(self, section: str) -> str:
        """Where the facts of a file section come from.

        >>> from ckrules.arch import load
        >>> load("gfx942").source("lds")
        'ck_tile/core/arch/arch.hpp get_smem_capacity, get_n_lds_banks (CK 2025.11, 2026.06)'
        """
        table = dict(self.sources)
        if section not in table:
            raise unknown("section", section, table)
        return table[section]
