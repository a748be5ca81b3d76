"""Fields, facts and derived quantities of CUTLASS's SM90 GEMMs.

Shared memory is computed as the collectives lay it out; each quantity names its source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ckrules.engine.expr import (
    BoolExpr,
    EnumExpr,
    Expr,
    IntExpr,
    Value,
    ite,
    lookup,
    maximum,
    minimum,
    round_up,
)
from ckrules.engine.expr.relation import Table
from ckrules.engine.expr.variables import Bool, Enum, Int, Role
from ckrules.engine.rules.book import Vocabulary, quantity, quantity_in
from ckrules_cutlass.words import AUTO, EPILOGUES, LAYOUTS, NONE, OPERANDS, SCHEDULES, TYPES

VARIANT = "hopper_gemm"

BASELINE: Mapping[str, Value] = {
    "variant": VARIANT, "arch": "sm_90a", "dtype": "fp16", "acc": "fp32", "c_dtype": NONE,
    "d_dtype": "fp16", "layout": "tnn", "align": 8, "tile_m": 128, "tile_n": 128, "tile_k": 64,
    "cluster_m": 2, "cluster_n": 1, "stages": 0, "schedule": "cooperative", "fast_accum": False,
    "epilogue": "tma", "epilogue_n": 0, "tile_scheduler": "persistent", "swizzle": 1,
}  # fmt: skip

_MMA_N = (256, 192, 128, 96, 64, 32, 16, 8)
_BARRIERS = 16  # bytes of a full and an empty barrier


def fields(archs: Sequence[str]) -> list[Expr]:
    """The fields of a kernel."""
    purpose, method = Role.PURPOSE, Role.METHOD
    outputs = tuple(TYPES)
    return [
        Enum("variant", (VARIANT,), doc="what is computed", role=purpose),
        Enum("arch", archs, doc="GPU", role=purpose),
        Enum("dtype", OPERANDS, doc="type of A and B; tf32 has fp32 in memory", role=purpose),
        Enum("acc", ("fp32", "fp16", "int32"), doc="type of the sums", role=purpose),
        Enum("c_dtype", (NONE, *outputs), doc="type of the C that is added", role=purpose),
        Enum("d_dtype", outputs, doc="type of the result", role=purpose),
        Enum("layout", LAYOUTS, doc="of A, B, and C with D: t row-major, n not", role=purpose),
        Int("align", (1, 2, 4, 8, 16), lo=1, hi=64, doc="elements to which A and B are aligned"),
        *_geometry(),
        Int("stages", range(13), lo=0, hi=64, doc="buffers of the mainloop; 0: as many as fit"),
        Enum("schedule", (AUTO, *SCHEDULES), doc="mainloop schedule", role=method),
        Bool("fast_accum", doc="fp8 sums stay in the tensor cores", role=method),
        Enum("epilogue", (AUTO, *EPILOGUES), doc="how the result is stored", role=method),
        Int("epilogue_n", (0, 16, 32, 64, 128), lo=0, hi=512, doc="N of its tile; 0: auto"),
        Enum("tile_scheduler", ("persistent", "stream_k"), doc="who takes which tile", role=method),
        Int("swizzle", (1, 2, 4, 8), lo=1, hi=8, doc="tiles side by side in the order of tiles"),
    ]  # fmt: skip


def _geometry() -> list[Expr]:
    size: Any = {"role": Role.GEOMETRY}
    tiles = {
        "m": (64, 128, 192, 256),
        "n": (8, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256),
        "k": (8, 16, 32, 64, 96, 128, 256),
    }
    return [
        *(
            Int(f"tile_{x}", tiles[x], lo=1, hi=1024, group="tile", **size,
                doc=f"block tile along {x.upper()}")
            for x in "mnk"
        ),
        *(
            Int(f"cluster_{x}", (1, 2, 4, 8, 16), lo=1, hi=64, group="cluster", **size,
                doc=f"blocks of a cluster along {x.upper()}")
            for x in "mn"
        ),
    ]  # fmt: skip


def facts(gpus: Sequence[Any]) -> dict[str, Table]:
    """What tables say of types and GPUs."""
    sizes = {name: size for name, (_, size, _) in TYPES.items()}
    found = {
        "operand_bytes": ("dtype", {d: sizes[held] for d, (_, held) in OPERANDS.items()}),
        "output_bytes": ("d_dtype", sizes),
        "source_bytes": ("c_dtype", {NONE: 0, **sizes}),
        "smem_bytes": ("arch", {g.name: g.smem_bytes for g in gpus}),
        "max_cluster": ("arch", {g.name: g.max_cluster for g in gpus}),
        "mma_registers": ("arch", {g.name: g.mma_registers for g in gpus}),
    }
    return {name: Table(name, (key,), rows) for name, (key, rows) in found.items()}


def _gcd_32(n: IntExpr, most: IntExpr | int) -> IntExpr:
    """The greatest common divisor of N and the lesser of N and 32 or 64.

    Below that bound it is N itself; from it on it is the power of two in N, bounded.
    """
    power: IntExpr | int = 1
    for step in (2, 4, 8, 16, 32):
        power = ite(n % step == 0, step, power)
    power = ite(n % 64 == 0, minimum(64, most), power)
    return ite(n <= most, n, minimum(power, most))


class HopperGemm(Vocabulary):
    """The fields of a kernel, and what follows from them."""

    arch: EnumExpr
    dtype: EnumExpr
    acc: EnumExpr
    c_dtype: EnumExpr
    d_dtype: EnumExpr
    layout: EnumExpr
    align: IntExpr
    tile_m: IntExpr
    tile_n: IntExpr
    tile_k: IntExpr
    cluster_m: IntExpr
    cluster_n: IntExpr
    stages: IntExpr
    schedule: EnumExpr
    fast_accum: BoolExpr
    epilogue: EnumExpr
    epilogue_n: IntExpr
    tile_scheduler: EnumExpr
    swizzle: IntExpr
    baseline = BASELINE

    def __init__(self, variables: Iterable[Expr], facts: Mapping[str, Table], ck: str) -> None:
        super().__init__(variables)
        self.facts, self.ck = facts, ck

    # -- what is meant ----------------------------------------------------------------------

    @quantity
    def cooperative(self) -> BoolExpr:
        """Both warp groups compute one tile.

        Source: sm90_gmma_builder.inl KernelTmaWarpSpecializedSchedule for the automatic choice.
        """
        chosen = (self.schedule == AUTO) & (self.tile_m != 64)
        node: BoolExpr = (self.schedule == "cooperative") | chosen
        return node

    @quantity
    def pingpong(self) -> BoolExpr:
        """Two warp groups take turns, each with a tile of its own."""
        chosen = (self.schedule == AUTO) & (self.tile_m == 64)
        node: BoolExpr = (self.schedule == "pingpong") | chosen
        return node

    @quantity
    def tma_epilogue(self) -> BoolExpr:
        """The result goes through shared memory; the automatic epilogue's does not.

        Source: epilogue/collective/builders/sm90_builder.inl EpilogueScheduleAuto.
        """
        return self.epilogue == "tma"

    @quantity
    def source(self) -> BoolExpr:
        """A C is added."""
        return self.c_dtype != NONE

    @quantity_in("bytes")
    def operand_bytes(self) -> IntExpr:
        """Size of an element of A or B in memory."""
        node: IntExpr = lookup(self.facts["operand_bytes"], self.dtype)
        return node

    @quantity_in("bytes")
    def output_bytes(self) -> IntExpr:
        """Size of an element of D."""
        node: IntExpr = lookup(self.facts["output_bytes"], self.d_dtype)
        return node

    @quantity_in("bytes")
    def source_bytes(self) -> IntExpr:
        """Size of an element of C; 0 without one."""
        node: IntExpr = lookup(self.facts["source_bytes"], self.c_dtype)
        return node

    @quantity
    def c_row(self) -> BoolExpr:
        """C and D are row-major."""
        return self.layout.isin(*(w for w in LAYOUTS if w.endswith("t")))

    # -- instructions -----------------------------------------------------------------------

    @quantity
    def mma_k(self) -> IntExpr:
        """K of a warp-group MMA: 32 bytes.

        Source: cute/arch/mma_sm90.hpp ss_op_selector.
        """
        return 32 // self.operand_bytes

    @quantity
    def mma_n(self) -> IntExpr:
        """N of a warp-group MMA: the largest listed one that divides the tile's N.

        Source: cute/arch/mma_sm90.hpp ss_op_selector, without
        CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED.
        """
        node: IntExpr | int = 8
        for n in reversed(_MMA_N):
            node = ite(self.tile_n % n == 0, n, node)
        return ite(self.tile_n % 8 == 0, node, 8)

    @quantity
    def mma_threads(self) -> IntExpr:
        """Threads that compute one tile."""
        return ite(self.cooperative, 256, 128)

    @quantity
    def threads(self) -> IntExpr:
        """Threads of a block: those that compute, and a warp group that loads.

        Source: MaxThreadsPerBlock of gemm/kernel/sm90_gemm_tma_warpspecialized*.hpp.
        """
        return ite(self.cooperative | self.pingpong, 384, 256)

    @quantity
    def accumulators(self) -> IntExpr:
        """32-bit registers of a thread that hold sums.

        Source: RegsPerThread of gemm/kernel/sm90_gemm_tma_warpspecialized*.hpp.
        """
        width = ite(self.acc == "fp16", 2, 4)
        return self.tile_m * self.tile_n * width // (4 * self.mma_threads)

    # -- how B lies in shared memory -----------------------------------------------------------

    @quantity
    def swizzled_columns(self) -> BoolExpr:
        """B is contiguous along K, and of elements of which 8 rows are less than a whole swizzle.

        Source: gemm/collective/builders/sm90_common.inl ss_smem_selector.
        """
        contiguous = self.layout.isin(*(w for w in LAYOUTS if w[1] == "n"))
        return contiguous & (self.operand_bytes > 1)

    @quantity
    def swizzle_columns(self) -> IntExpr:
        """Columns of B, contiguous along K, after which a swizzle begins again."""
        return ite(self.operand_bytes == 4, 32, ite(self.operand_bytes == 2, 16, 8))

    @quantity
    def swizzle_period(self) -> IntExpr:
        """Elements after which a swizzle of B begins again, where B is contiguous along K.

        Source: gemm/collective/builders/sm90_common.inl ss_smem_selector; cute/atom/
        mma_traits_sm90_gmma.hpp Layout_K_SW128_Atom and its siblings: Swizzle<3, 4, 3>, which acts
        on elements before the layout is recast.
        """
        row = self.tile_k * self.operand_bytes
        return ite(row % 128 == 0, 1024, ite(row % 64 == 0, 512, 256))

    # -- what the blocks of a cluster load for each other -------------------------------------

    @quantity_in("bytes")
    def multicast_bytes(self) -> IntExpr:
        """One load of B, of which each block of a cluster along M does a part: wide as a swizzle.

        Source: gemm/collective/builders/sm90_common.inl ss_smem_selector;
        cute/atom/copy_traits_sm90_tma.hpp make_tma_copy_desc.
        """
        straight = self.layout.isin(*(w for w in LAYOUTS if w[1] == "n"))
        line = ite(straight, self.tile_k, self.tile_n) * self.operand_bytes
        narrow = ite(line % 64 == 0, 64, ite(line % 32 == 0, 32, 16))
        width = ite(line % 128 == 0, 128, narrow)
        return ite(straight, self.tile_n, self.tile_k) * width

    # -- the epilogue's tile ----------------------------------------------------------------

    @quantity
    def epilogue_tile_m(self) -> IntExpr:
        """M of the epilogue's tile.

        Source: epilogue/collective/builders/sm90_builder.inl sm90_compute_tile_shape_or_override.
        """
        return minimum(ite(self.cooperative, 128, 64), self.tile_m)

    @quantity
    def epilogue_tile_n(self) -> IntExpr:
        """N of the epilogue's tile.

        Source: epilogue/collective/builders/sm90_builder.inl sm90_compute_tile_shape_or_override.
        """
        wide = ~self.cooperative & (self.output_bytes == 1) & (self.tile_n % 64 == 0)
        narrow = ite(self.tile_n < 32, self.tile_n, _gcd_32(self.tile_n, 32))
        chosen = ite(wide, _gcd_32(self.tile_n, 64), narrow)
        return ite(self.epilogue_n == 0, chosen, self.epilogue_n)

    @quantity
    def epilogue_tiles(self) -> IntExpr:
        """Epilogue tiles in a block tile."""
        area = maximum(self.epilogue_tile_m * self.epilogue_tile_n, 1)
        return self.tile_m * self.tile_n // area

    @quantity
    def reuses_source(self) -> BoolExpr:
        """C and D share their shared memory.

        Source: epilogue/collective/builders/sm90_builder.inl sm90_get_tma_dispatch_policy.
        """
        same: BoolExpr = self.source & (self.source_bytes == self.output_bytes)
        return same & (self.output_bytes > 1)

    @quantity
    def stages_d(self) -> IntExpr:
        """Buffers of D in the epilogue.

        Source: epilogue/collective/builders/sm90_builder.inl sm90_get_tma_dispatch_policy.
        """
        return minimum(self.epilogue_tiles, 2)

    @quantity
    def stages_c(self) -> IntExpr:
        """Buffers of C in the epilogue.

        Source: epilogue/collective/builders/sm90_builder.inl sm90_get_tma_dispatch_policy.
        """
        few = minimum(self.epilogue_tiles, 4)
        return ite(self.reuses_source, maximum(few, self.stages_d + 1), few)

    # -- shared memory ----------------------------------------------------------------------

    def _swizzle_bytes(self, size: IntExpr) -> IntExpr:
        """The alignment of an epilogue buffer whose elements have a size: that of its swizzle."""
        line = ite(self.c_row, self.epilogue_tile_n, self.epilogue_tile_m) * size
        narrow = ite(line % 64 == 0, 512, ite(line % 32 == 0, 256, 128))
        return ite(line % 128 == 0, 1024, narrow)

    @quantity_in("bytes")
    def epilogue_alignment(self) -> IntExpr:
        """Alignment of the epilogue's shared memory.

        Source: detail/layout.hpp alignment_for_swizzle, of the layouts that
        epilogue/collective/builders/sm90_builder.inl sm90_get_epilogue_smem_swizzle_layout_atom
        selects.
        """
        own = self._swizzle_bytes(self.output_bytes)
        both = maximum(own, self._swizzle_bytes(self.source_bytes))
        return ite(self.source, both, own)

    @quantity_in("bytes")
    def epilogue_tensor_bytes(self) -> IntExpr:
        """Shared memory of the epilogue's C and D, with the empty storage of its fusion behind.

        Source: epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp TensorStorage.
        """
        tile = self.epilogue_tile_m * self.epilogue_tile_n
        d_bytes = tile * self.output_bytes * self.stages_d
        c_bytes = tile * self.source_bytes * self.stages_c
        apart = round_up(c_bytes, self._swizzle_bytes(self.output_bytes)) + d_bytes
        held = ite(self.source, ite(self.reuses_source, c_bytes, apart), d_bytes)
        return round_up(held + 1, self.epilogue_alignment)

    @quantity_in("bytes")
    def carveout(self) -> IntExpr:
        """Shared memory that the automatic number of stages leaves to the epilogue.

        Source: epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp SharedStorage;
        cutlass_library/gemm_operation.py EmitGemmUniversal3xInstance.emit.
        """
        pipeline = _BARRIERS * self.stages_c
        whole = round_up(self.epilogue_tensor_bytes + pipeline, self.epilogue_alignment)
        return ite(self.tma_epilogue, whole, 1)

    @quantity_in("bytes")
    def stage_bytes(self) -> IntExpr:
        """A and B of one stage.

        Source: gemm/collective/builders/sm90_gmma_builder.inl compute_stage_count_or_override.
        """
        return (self.tile_m + self.tile_n) * self.tile_k * self.operand_bytes

    @quantity_in("bytes")
    def smem_capacity(self) -> IntExpr:
        """Shared memory that a block may have."""
        node: IntExpr = lookup(self.facts["smem_bytes"], self.arch)
        return node

    @quantity
    def max_cluster(self) -> IntExpr:
        """Blocks that a cluster may have."""
        node: IntExpr = lookup(self.facts["max_cluster"], self.arch)
        return node

    @quantity
    def mma_registers(self) -> IntExpr:
        """32-bit registers of a thread that computes."""
        node: IntExpr = lookup(self.facts["mma_registers"], self.arch)
        return node

    @quantity
    def stage_count(self) -> IntExpr:
        """Stages of the mainloop: those that are said, or as many as fit.

        Source: gemm/collective/builders/sm90_gmma_builder.inl compute_stage_count_or_override.
        """
        stage = round_up(self.stage_bytes, 128) + _BARRIERS
        room = self.smem_capacity - round_up(self.carveout, 128)
        return ite(self.stages == 0, maximum(room, 0) // stage, self.stages)

    @quantity_in("bytes")
    def shared_bytes(self) -> IntExpr:
        """Shared memory of a block.

        Source: SharedStorage of gemm/kernel/sm90_gemm_tma_warpspecialized*.hpp.
        """
        loads = ite(self.tma_epilogue, _BARRIERS * self.stages_c, 16)
        pipelines = _BARRIERS * self.stage_count + loads
        mainloop = self.stage_bytes * self.stage_count
        outer = ite(self.tma_epilogue, maximum(self.epilogue_alignment, 128), 128)
        tensors = ite(self.tma_epilogue, self.epilogue_tensor_bytes, 128) + mainloop
        # a barrier between loads, in pingpong two by two between warp groups, and the scheduler
        ahead = round_up(pipelines + 16 + ite(self.pingpong, 32, 0) + 16, outer)
        persistent = round_up(ahead + tensors, outer)
        held = ite(self.tma_epilogue, maximum(self.epilogue_tensor_bytes, mainloop), mainloop)
        return ite(self.cooperative | self.pingpong, persistent, round_up(held + pipelines, outer))
