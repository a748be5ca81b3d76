"""GEMM: what a kernel computes: layouts, types of sums and results, and D tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckrules.constraints.gemm.citations import BOTH
from ckrules.constraints.gemm.quantities import GemmQuantities
from ckrules.constraints.gemm.words import D_LAYOUTS, D_OPERATIONS, PLAIN_LAYOUTS
from ckrules.engine.expr import TRUE, BoolExpr, all_of, implies, ite
from ckrules.engine.rules import rule

_EPILOGUES = "ops/epilogue/{cshuffle,default_2d}_epilogue.hpp"
_OPERATORS = (
    "ops/elementwise/unary_element_wise_operation.hpp: operator() of MultiDAdd, MultiDMultiply, "
    "AddScale and PassThrough, and of Relu, Gelu and FastGelu"
)
_MULTI_D = "ops/gemm/kernel/gemm_multi_d_kernel.hpp: GemmKernelMultiD"
_INT8: Mapping[str, Any] = {"dtype": "int8", "dtype_acc": "int32", "dtype_c": "int32"}
_ADD: Mapping[str, Any] = {
    "variant": "multi_d", "layout": "rcrr", "num_d": 1, "elementwise_op": "add",
}  # fmt: skip
_ATOMIC: Mapping[str, Any] = {"variant": "stream_k", "streamk": "atomic"}
_MULTIPLY: Mapping[str, Any] = {**_ADD, "elementwise_op": "multiply"}
_LINES: Mapping[str, Any] = {
    "arch": "gfx1201", "epilogue": "default", "transpose_c": True, "pad_m": True,
    "tile_m": 64, "tile_n": 64, "tile_k": 32, "warp_tile_m": 16, "warp_tile_n": 16,
}  # fmt: skip
_PARTS: Mapping[str, Any] = {
    **_LINES, "variant": "stream_k", "streamk": "linear", "dtype": "int8", "dtype_acc": "int32",
}  # fmt: skip


@rule(
    "GEMM001", "layout-of-other-tensors", kind="compile",
    says=["{variant} without D has a layout of three letters, for A, B and C, not {layout}",
          "{variant} with D has a layout of four letters, for A, B, C and every D, not {layout}"],
    source=["ops/gemm/kernel/gemm_kernel.hpp: GemmKernel (no D)", _MULTI_D],
    accepts=[{}, _ADD],
    rejects=[{"layout": "rcrr"}, {"variant": "multi_d", "num_d": 1, "elementwise_op": "add"}],
)  # fmt: skip
def layout_has_its_letters(c: GemmQuantities) -> BoolExpr:
    """A layout has one letter for each of A, B and C, and with D tensors a fourth for these.

    Why: the letters say what is contiguous in each tensor, and a kernel has no others.

    Fix: add or drop the fourth letter.
    """
    return all_of(
        implies(~c.has_d, c.layout.isin(*PLAIN_LAYOUTS)),
        implies(c.has_d, c.layout.isin(*D_LAYOUTS)),
    )


@rule(
    "GEMM002", "number-of-d-tensors", kind="compile",
    says=["{variant} has no D tensor: num_d = {num_d}, expected 0",
          "{variant} needs a D tensor: num_d = {num_d}"],
    source=f"{_MULTI_D}: static_assert on DsLayout::size() > 0",
    accepts=[{}, {"variant": "grouped", "layout": "rcrr", "num_d": 1, "elementwise_op": "add"}],
    rejects=[{"num_d": 1}, {"variant": "multi_d", "layout": "rcrr"}],
)  # fmt: skip
def only_multi_d_has_ds(c: GemmQuantities) -> BoolExpr:
    """multi_d has at least one D tensor, grouped may have some, other kernels have none.

    Why: GemmKernelMultiD asserts it, and other kernels take no pointers to D.

    Fix: use the other variant.
    """
    return all_of(
        implies(~c.variant.isin("multi_d", "grouped"), c.num_d == 0),
        implies(c.variant == "multi_d", c.num_d >= 1),
    )


@rule(
    "GEMM003", "operation-of-other-arity", kind="compile",
    says=["{elementwise_op} takes C alone, and no D tensors with it",
          "{elementwise_op} has no form for results of {dtype_c}"],
    source=[_OPERATORS, f"{_EPILOGUES}: tile_elementwise_inout_unpack"],
    accepts=[{}, {"variant": "multi_d", "layout": "rcrr", "num_d": 2, "elementwise_op": "multiply"}],
    rejects=[{"variant": "multi_d", "layout": "rcrr", "num_d": 1, "elementwise_op": "relu"},
             {"elementwise_op": "relu", "dtype_c": "fp8"}],
)  # fmt: skip
def operation_takes_ds(c: GemmQuantities) -> BoolExpr:
    """The operation takes C and all D tensors, and relu by itself results of its types.

    Why: the epilogue calls it with the result, C and every D. Relu, Gelu and FastGelu take one
    argument, so nothing matches the call. Without D tensors cshuffle calls them with C alone, for
    which Relu asserts the type.

    Fix: use add, multiply or passthrough.
    """
    bytes_alone = ~c.has_d & (c.epilogue == "cshuffle") & ~c.permute_n
    return all_of(
        implies(c.has_d, c.elementwise_op.isin("passthrough", *D_OPERATIONS)),
        implies(bytes_alone & c.dtype_c.isin("fp8", "bf8"), c.elementwise_op != "relu"),
    )


@rule(
    "GEMM077", "operation-without-d", kind="profile",
    says="{variant} with num_d = 0 has no operation on D tensors: elementwise_op = {elementwise_op}",
    source=[_OPERATORS, f"{_EPILOGUES}: operator() (NumDTensor >= 1; compiled)"],
    accepts=[{}], rejects=[{"elementwise_op": "add"}, {"elementwise_op": "relu"}],
)  # fmt: skip
def operation_has_ds(c: GemmQuantities) -> BoolExpr:
    """Without D tensors the operation is passthrough.

    Why: it compiles, and add, multiply and add_scale give passthrough's kernel another name: of
    no D there is nothing to add. The default epilogue calls no operation without a D, and
    cshuffle calls relu, gelu and fastgelu with C alone; no generator makes such kernels, and the
    references here know none.

    Fix: set elementwise_op to passthrough.
    """
    return c.has_d | (c.elementwise_op == "passthrough")


@rule(
    "GEMM004", "column-major-c-shuffled", kind="compile",
    applies=lambda c: (c.epilogue == "cshuffle") & ~c.permute_n,
    says="{epilogue} stores rows: layout {layout} has C with columns contiguous",
    source="ops/epilogue/cshuffle_epilogue.hpp: static_assert on ELayout",
    accepts=[{}], rejects=[{"layout": "rcc"}],
)  # fmt: skip
def shuffled_c_has_rows(c: GemmQuantities) -> BoolExpr:
    """The CShuffle epilogue stores a C whose rows are contiguous.

    Why: asserted; the default epilogue takes both layouts.

    Fix: use the default epilogue.
    """
    return c.c_row


@rule(
    "GEMM076", "fractions-lost-before-d", kind="wrong-result",
    applies=lambda c: (
        c.has_d & (c.elementwise_op == "multiply") & (c.epilogue == "cshuffle")
        & (c.dtype != "int8")
    ),
    says="{epilogue} rounds sums to {dtype_c} before {elementwise_op} takes the D tensors: fractions are lost",
    source="ops/epilogue/cshuffle_epilogue.hpp: cast_lds_tile (to ODataType) before apply_d_tensors (run)",
    accepts=[_MULTIPLY, {**_MULTIPLY, "dtype_c": "fp32"}],
    rejects=[{**_MULTIPLY, "dtype_c": "int8"}],
)  # fmt: skip
def sums_are_whole_before_d(c: GemmQuantities) -> BoolExpr:
    """CShuffle multiplies D tensors by integers of integer sums only.

    Why: a sum goes to LDS as an element of C, without its fraction, and is multiplied by D
    afterwards. A sum of 2.9 times a D of 5 becomes 10 instead of 14. Added to a D it is off by one
    at most, as any sum is that ends beside an integer.

    Fix: use the default epilogue, or a C of floating point.
    """
    return ~c.dtype_c.isin("int8", "int32")


@rule(
    "GEMM082", "fractions-lost-in-parts", kind="wrong-result",
    applies=lambda c: (c.streamk == "atomic") & c.fp32_sums,
    says="each part of a sum is rounded to {dtype_c} before it is added: fractions are lost",
    source="ops/epilogue/cshuffle_epilogue.hpp: cast_lds_tile (to ODataType) before the atomic store_to_dram (run)",
    accepts=[_ATOMIC], rejects=[{**_ATOMIC, "dtype_c": "int32"}],
)  # fmt: skip
def parts_keep_fractions(c: GemmQuantities) -> BoolExpr:
    """Stream-K adds parts of floating-point sums to a C of floating point.

    Why: a part is converted to an element of C, and without its fraction to an integer, before it
    is added. With three parts a result is off by up to 2.

    Fix: use fp32 for C, or the strategy linear, which adds sums.
    """
    return ~c.dtype_c.isin("int8", "int32")


@rule(
    "GEMM012", "columns-of-d-read-as-rows", kind="wrong-result",
    applies=lambda c: c.has_d & (c.elementwise_op != "passthrough"),
    says="{elementwise_op} gets D tensors transposed: layout {layout} has D with columns contiguous",
    source=["ops/gemm/kernel/universal_gemm_kernel.hpp: MakeGemmTileWindows (the window of a D with columns is N by M)",
            f"{_EPILOGUES}: make_tile_window of ds_dram_windows with the distribution of C (run)"],
    accepts=[_ADD], rejects=[{**_ADD, "layout": "rccc", "epilogue": "default"}],
)  # fmt: skip
def ds_have_rows(c: GemmQuantities) -> BoolExpr:
    """D tensors that are used have contiguous rows.

    Why: where their columns are contiguous the kernel makes windows of N by M, and the epilogue
    reads them as it has C, M by N: each tile of D comes transposed.

    Fix: use a layout whose D has rows, and with it C.
    """
    return ~c.d_column


@rule(
    "GEMM005", "no-such-epilogue", kind="compile",
    says="the headers have no epilogue {epilogue}",
    source=["ops/epilogue/cshuffle_epilogue.hpp: CShuffleEpilogue",
            "ops/epilogue/default_2d_epilogue.hpp: DefaultGemm2DEpilogue"],
    accepts=[{}, {"epilogue": "default"}], rejects=[{"epilogue": "direct2d"}],
)  # fmt: skip
def epilogue_exists(c: GemmQuantities) -> BoolExpr:
    """The epilogue is cshuffle or default.

    Why: upstream's lists let any word through; the headers have these two for GEMMs.

    Fix: use cshuffle or default.
    """
    return c.epilogue.isin("cshuffle", "default")


@rule(
    "GEMM006", "sums-of-other-type", kind="compile",
    says="sums of {dtype} have type {ite(dtype == 'int8', 'int32', 'fp32')}, not {dtype_acc}",
    source="ops/gemm/warp/warp_gemm_dispatcher.hpp: WarpGemmDispatcher (implicit instantiation of undefined template)",
    accepts=[{}, {"dtype": "int8", "dtype_acc": "int32", "dtype_c": "int32"}],
    rejects=[{"dtype_acc": "int32"}, {"dtype": "int8", "dtype_c": "int32"}],
)  # fmt: skip
def sums_have_their_type(c: GemmQuantities) -> BoolExpr:
    """int8 is summed in int32, everything else in fp32.

    Why: there are warp GEMMs for these accumulators only.

    Fix: set dtype_acc to int32 for int8, else to fp32.
    """
    return ite(c.dtype == "int8", c.dtype_acc == "int32", c.dtype_acc == "fp32")


@rule(
    "GEMM008", "bytes-stored-with-padding", kind="compile",
    applies=lambda c: ((TRUE if c.since("2026.06") else c.has("new_compilers"))
                       & (c.epilogue == "default") & (c.pad_m | c.pad_n)),
    says="results of {dtype_c} are stored one by one, which padded tiles on {arch} cannot",
    source=[f"core/arch/amd_buffer_addressing_builtins.hpp: buffer_store_if static_assert on sizeof(T) {BOTH}",
            f"ops/epilogue/default_2d_epilogue.hpp: UseRawStore, store_tile_raw {BOTH}",
            f"core/config.hpp: CK_TILE_USE_BUFFER_ADDRESSING_BUILTIN {BOTH}"],
    accepts=[{"arch": "gfx950", "epilogue": "default", "pad_n": True}],
    rejects=[{"arch": "gfx950", "epilogue": "default", "pad_n": True, "dtype_c": "fp8"},
             {"epilogue": "default", "pad_n": True, "dtype_c": "fp8", "@ck": "2026.06"}],
)  # fmt: skip
def padded_results_are_stored(c: GemmQuantities) -> BoolExpr:
    """With the default epilogue and padding along M or N, 8-bit results are not stored one by one.

    Why: a padded tile is stored by a function whose form for one byte asserts four. Compilers from
    LLVM 20 on take it on every GPU with waves of 64; older ones, which do not know gfx950, have
    another file, and compile. Since 2026.06 it is that of every GPU, and older compilers are those
    of ROCm before 7.

    Fix: use cshuffle, no padding, or another type of C.
    """
    return (c.output_bytes > 1) | (c.c_row & (c.store_width > 1))


@rule(
    "GEMM009", "stores-of-32-bytes", kind="compile",
    applies=lambda c: c.transpose_c & (c.wave_size == 32),
    says=["a lane stores 8 results of {dtype_c} at once, more than 16 bytes",
          "a lane stores 8 sums of int32 of a part at once, more than 16 bytes"],
    source=["core/arch/amd_buffer_addressing_builtins.hpp: amd_buffer_store_raw_impl static_assert on bytes, amd_buffer_store_impl_with_bytes (get_as of 32 bytes)",
            "ops/gemm/kernel/streamk_gemm_kernel.hpp: reboot::StreamKKernel::StorePartial",
            f"core/arch/amd_buffer_addressing_builtins.hpp: amd_buffer_store_raw_impl {BOTH}",
            "ops/gemm/warp/warp_gemm_dispatcher.hpp: WarpGemmDispatcher",
            "ops/gemm/warp/warp_gemm_attribute_wmma_impl.hpp: WmmaTraits"],
    accepts=[_LINES, {**_LINES, "pad_m": False, "dtype_c": "fp32"},
             {**_LINES, "dtype": "fp32", "dtype_c": "fp32"},
             {**_LINES, "arch": "gfx1100", "dtype_c": "fp32"}],
    rejects=[{**_LINES, "dtype_c": "fp32"}, {**_LINES, "pad_m": False, "dtype_c": "int32"},
             {**_LINES, "arch": "gfx1100", "dtype": "fp8", "dtype_c": "fp32"},
             {**_PARTS, "epilogue": "cshuffle"}],
)  # fmt: skip
def stores_have_an_instruction(c: GemmQuantities) -> BoolExpr:
    """A lane stores at most 16 bytes of a row at once, where the header does not split stores.

    Why: with transposed products a lane of a wave of 32 holds 8 results side by side. On gfx11 it
    holds every second one, but for 8-bit floats, whose warp GEMM is that of gfx12 there, too; that
    of fp32 is an MFMA's, with 4. The default epilogue stores 4-byte results so where tiles are
    padded, which asserts; stores of 8 fp32 without padding are split in two, those of int32, of
    stream-K's partial sums, too, are not (read for 2025.11 only).

    Fix: turn transpose_c off, or use cshuffle.
    """
    plain = (c.epilogue == "default") & c.c_row
    kept = (c.pad_m | c.pad_n | c.whole_stores) & plain
    return all_of(
        implies(c.holds_eight & kept, c.output_bytes <= 2),
        implies(c.holds_eight & c.shares_tiles, c.fp32_sums),
    )


@rule(
    "GEMM010", "bf8-written-as-fp8", kind="wrong-result",
    applies=lambda c: c.fp32_sums & ~c.keeps_fp32,
    says="on {arch} results of {dtype_c} are written with the bits of fp8",
    source=["core/tensor/tile_elementwise.hpp: cast_tile takes cast_tile_pk_fp8_fp32 for bf8_t, too (__builtin_amdgcn_cvt_pk_fp8_f32; run)",
            f"ops/epilogue/cshuffle_epilogue.hpp: cast_tile {BOTH}",
            "core/config.hpp: __gfx94__ (__gfx942__, __gfx950__) and __gfx12__ (__gfx1200__, __gfx1201__)"],
    accepts=[{"dtype_c": "fp8"}, {"dtype_c": "bf8", "arch": "gfx90a"}],
    rejects=[{"dtype_c": "bf8"}, {"dtype_c": "bf8", "epilogue": "default"}],
)  # fmt: skip
def bf8_is_bf8(c: GemmQuantities) -> BoolExpr:
    """On gfx942, gfx950 and gfx12 results are not bf8.

    Why: epilogues convert tiles of sums four at a time by an instruction for fp8, whichever of the
    two types is asked for. gfx90a and gfx11 lack the instruction and convert one by one.

    Fix: use fp8 or another type of C.
    """
    return ~((c.dtype_c == "bf8") & c.has("packed_fp8_convert"))


@rule(
    "GEMM011", "integers-taken-for-bits", kind="wrong-result",
    applies=lambda c: (c.dtype_acc == "int32") & ~c.operates_on_sums,
    says="sums of int32 become {dtype_c} as bits, not as numbers",
    source=["core/numeric/type_convert.hpp: type_convert has forms from float alone, the general one is static_cast, and these types are integers in C++ (run)",
            f"core/numeric/type_convert.hpp: type_convert {BOTH}",
            "core/config.hpp: CK_TILE_USE_LLVM_BUILTIN_BF16 (HIP_VERSION_MAJOR 7)"],
    accepts=[_INT8, {**_INT8, "dtype_c": "bf16", "arch": "gfx950"}],
    rejects=[{**_INT8, "dtype_c": "bf16"}, {**_INT8, "dtype_c": "fp8"},
             {**_INT8, "dtype_c": "bf16", "epilogue": "cshuffle", "permute_n": True},
             {**_INT8, "dtype_c": "bf8", "arch": "gfx950"}],
)  # fmt: skip
def integers_become_numbers(c: GemmQuantities) -> BoolExpr:
    """Sums of int32 do not become fp8 or bf8, nor bf16 but on gfx950 and gfx1250.

    Why: the conversion of an integer to these is one between integers, which keeps the lower bits.
    bf16 is a type of floats for HIP 7 and newer, and so on gfx950 and gfx1250, which no older one
    knows.

    Fix: use int32, int8, fp16 or fp32 for C.
    """
    bf16 = (c.dtype_c == "bf16") & ~c.has("new_compilers")
    return ~(c.dtype_c.isin("fp8", "bf8") | bf16)


@rule(
    "GEMM007", "d-of-other-layout", kind="launch",
    applies=lambda c: c.has_d,
    says="D and C have one layout: {layout}",
    source="ops/gemm/kernel/universal_gemm_kernel.hpp: IsSupportedArgument (DiLayout and CLayout, both compiled in)",
    accepts=[_ADD],
    rejects=[{"variant": "multi_d", "layout": "rcrc", "num_d": 1, "elementwise_op": "add"}],
)  # fmt: skip
def d_is_laid_out_as_c(c: GemmQuantities) -> BoolExpr:
    """Every D has the layout of C.

    Why: it compiles otherwise, and the argument check then refuses every problem.

    Fix: make the fourth letter of the layout equal to the third.
    """
    return c.letter(2, "r") == c.letter(3, "r")
