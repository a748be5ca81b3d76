"""Derived quantities of a kernel that is a GEMM, those of its compiled code last: all estimates."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping

from ckrules.constraints.tile_gemm import code_size, registers
from ckrules.constraints.tile_gemm.tiles import TileGemmTiles
from ckrules.engine.expr import (
    BoolExpr,
    Expr,
    IntExpr,
    ceil_div,
    const,
    ite,
    lookup,
    maximum,
    minimum,
)
from ckrules.engine.rules.book import quantity, quantity_in


class TileGemm(TileGemmTiles, ABC):
    """Fields, facts and the quantities that several rules share."""

    @quantity
    def accumulator_vgprs(self) -> IntExpr:
        """Registers of a lane that hold its share of the fp32 sums."""
        return self.tile_m * self.tile_n // (self.wave_m * self.wave_n * self.wave_size)

    def copies(self, rows: IntExpr) -> IntExpr:
        """Lanes of a wave that hold the same elements of an operand's warp tile of so many rows.

        Warp tiles of 4 rows are read by 16 lanes alike; on gfx11 both halves of a wave hold all.
        """
        both = self.has("operands_in_both_halves")
        return ite(both, 2, ite(rows == 4, 16, 1))

    @quantity
    def operand_vgprs(self) -> IntExpr:
        """Registers of a lane that its wave's A and B of one block tile take, copies included."""
        a = self.tile_m // self.wave_m * self.a_bytes * self.copies(self.warp_tile_m)
        b = self.tile_n // self.wave_n * self.b_bytes * self.copies(self.warp_tile_n)
        return (a + b) * self.tile_k // (4 * self.wave_size)

    @quantity
    def load_lanes(self) -> IntExpr:
        """Lanes that share the loads of A and B: those of one group of waves, which loads all."""
        return self.load_waves * self.wave_size // self.num_wave_groups

    @property
    def loads_to_lds(self) -> BoolExpr:
        """True for pipelines that load A and B straight to LDS, through no registers."""
        return self.pipeline.isin("basic_async_v1", "comp_async")

    @property
    def loaded_bytes(self) -> IntExpr:
        """What is loaded of A and B for one block tile."""
        return (self.tile_m * self.a_bytes + self.tile_n * self.b_bytes) * self.tile_k

    @quantity
    def staging_vgprs(self) -> IntExpr:
        """Registers of a lane that hold what it loads of A and B for one block tile."""
        return ite(self.loads_to_lds, 0, self.loaded_bytes // (4 * self.load_lanes))

    @quantity_in("instructions")
    def loads(self) -> IntExpr:
        """Instructions by which a lane loads A and B of one block tile."""
        a = self.tile_m * self.tile_k // (self.vector_a * self.load_lanes)
        return a + self.tile_n * self.tile_k // (self.vector_b * self.load_lanes)

    @property
    def _stages(self) -> IntExpr:
        """Block tiles that wait in registers for their place in LDS."""
        node: IntExpr = ite(self.pipeline == "compv6", 2, 1)
        return ite(self.pipeline == "mem", self.mem_stages, node)

    @property
    def register_terms(self) -> dict[str, IntExpr]:
        """What a lane needs registers for, by the names of `registers.WEIGHTS`.

        compv3 and compv6 read the operands of a whole block tile ahead, compv4 and comp_async
        those of two, and compv5 has two groups of waves in one code, each with sums and operands
        of its own (gemm_pipeline_ag_bg_cr_comp_{v3,v4,v5,v6,async}.hpp, CK 2025.11).
        """
        whole = self.pipeline.isin("compv3", "compv6")
        twice = self.pipeline.isin("compv4", "compv5", "comp_async")
        turned = self.a_shuffled | self.b_shuffled
        single, newer = self.element_bytes == 1, self.has("new_compilers")
        grouped = self.num_wave_groups > 1
        return {
            "one": const(1),
            "accumulators": self.accumulator_vgprs,
            "accumulators of two groups": ite(self.pipeline == "compv5", self.accumulator_vgprs, 0),
            "operands": self.operand_vgprs,
            "operands held": ite(whole, self.operand_vgprs, 0),
            "operands held twice": ite(twice, self.operand_vgprs, 0),
            "staged": self.staging_vgprs * self._stages,
            "staged by newer compilers": ite(newer, self.staging_vgprs, 0),
            "staged by two groups": ite(grouped, self.staging_vgprs, 0),
            "stages turned": ite(turned, self._stages - 1, 0),
            "bytes": ite(single, minimum(self.staging_vgprs, 32), 0),
            "bytes held": ite(single & whole & ~newer, self.staging_vgprs, 0),
            "loads": self.loads,
            "loads of stages": self.loads * (self._stages - 1),
            "element stores": ite(self.epilogue == "default", 1, 0),
            **self.own_register_terms,
        }

    @property
    def code_terms(self) -> dict[str, IntExpr]:
        """What takes code, by the names of `code_size.BYTES`."""
        terms = self.register_terms
        blocks = self.tile_m // (self.wave_m * self.warp_tile_m)
        blocks *= self.tile_n // (self.wave_n * self.warp_tile_n)
        matrix = blocks * (self.tile_k // (self.wave_k * self.warp_tile_k)) * self._stages
        scaled: IntExpr = terms.get("scales", const(0))
        images: IntExpr = terms.get("images", const(0))
        loads = terms["loads"] + terms["loads of stages"]
        stored: IntExpr = ite(self.epilogue == "default", terms["accumulators"], 0)
        return {
            **terms,
            "matrix instructions": matrix,
            "matrix instructions held twice": ite(self.pipeline == "compv4", matrix, 0),
            "scaled matrix instructions": scaled * matrix,
            "stored elements": stored,
            "stored pixels": images * stored,
            "loads of images": images * loads,
            "loads in three dimensions": terms.get("third dimension", const(0)) * loads,
        }

    @property
    def own_register_terms(self) -> Mapping[str, IntExpr]:
        """Terms of the family's own."""
        return {}

    @quantity
    def wanted_vgprs(self) -> IntExpr:
        """Vector registers that a lane could use if there were any number (estimate)."""
        return registers.estimate(self.register_terms)

    @quantity
    def vgprs(self) -> IntExpr:
        """Vector registers of a lane, accumulation registers included (estimate: half within 7 %)."""
        return minimum(self.wanted_vgprs, self.bound_vgprs)

    @quantity
    def spilled_vgprs(self) -> IntExpr:
        """Registers that a lane could use and has not, which go through memory (estimate)."""
        return maximum(self.wanted_vgprs - self.bound_vgprs, 0)

    @quantity_in("bytes")
    def code_bytes(self) -> IntExpr:
        """Code of the entry with a hot loop (estimate: half within 27 %)."""
        return registers.estimate(self.code_terms, code_size.BYTES, 1)

    @quantity_in("seconds")
    def compile_seconds(self) -> IntExpr:
        """Of a processor, for the device code with one entry (estimate: half within 18 %)."""
        terms = {**self.code_terms, "code": self.code_bytes}
        return registers.estimate(terms, code_size.SECONDS, code_size.PARTS)

    @property
    def mem_stages(self) -> IntExpr:
        """Block tiles that pipeline mem has under way at once, in families that have it."""
        return const(1)

    @property
    def launch_blocks(self) -> IntExpr:
        """The launch bound: waves of a SIMD that the compiler keeps registers for."""
        return const(1)

    @quantity
    def bound_vgprs(self) -> IntExpr:
        """Registers of a lane with which a block, and as many waves as the launch bound says, fit.

        Newer compilers drop a bound of more waves than LDS has room for (LLVM 22,
        AMDGPUSubtarget::getWavesPerEU takes LDS; LLVM 19 keeps it).
        """
        file: IntExpr = lookup(self.facts["simd_vgprs"], self.arch)
        lane: IntExpr = lookup(self.facts["lane_vgprs"], self.arch)
        capacity: IntExpr = lookup(self.facts["lds_capacity"], self.arch)
        waves = self.launch_threads // self.wave_size
        room = ceil_div(capacity // maximum(self.lds_bytes, 1) * waves, registers.SIMDS)
        dropped = self.has("new_compilers") & (self.launch_blocks > room)
        block = ceil_div(waves, registers.SIMDS)
        return registers.bound(file, lane, maximum(ite(dropped, 1, self.launch_blocks), block))

    @property
    def quantities(self) -> dict[str, Expr]:
        """Every derived quantity by name, those of the operands' distributions last."""
        return {**super().quantities, **self.a.terms, **self.b.terms, **self.c.terms}
