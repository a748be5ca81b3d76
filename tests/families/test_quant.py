"""Quantised GEMMs: names of ours and of upstream's tools, rules at their boundaries, the probe."""

from __future__ import annotations

from typing import Any

import pytest

from ckrules.certify import probe
from ckrules.codegen.quant.cpp_names import pipeline
from ckrules.constraints.quant.names import PREFIXES, STYLES
from ckrules.constraints.quant.vocabulary import BASELINE
from ckrules.constraints.quant.words import VARIANTS
from ckrules.constraints.scaled.names import STYLES as SCALED_STYLES
from ckrules.engine.evaluate.pointwise import At
from ckrules.kernels import problem_books
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping
from ckrules.kernels.library import book
from ckrules.kernels.name_grammar import KernelNameError
from ckrules.kernels.names import format_name, parse_name, styled_name
from ckrules.kernels.selection import select
from ckrules.support.errors import UsageError

SHUFFLED: dict[str, Any] = {
    "variant": "bquant", "pipeline": "preshufflev2", "double_smem_buffer": True,
    "warp_tile_k": 32,
}  # fmt: skip
SMALL: dict[str, Any] = {**SHUFFLED, "tile_m": 128, "warp_tile_m": 16, "warp_tile_n": 16}
PLAIN: dict[str, Any] = {"tile_m": 32, "tile_n": 64, "warp_tile_m": 16, "warp_tile_n": 16}
WMMA: dict[str, Any] = {
    "variant": "bquant", "arch": "gfx1201", "tile_m": 32, "tile_n": 32, "warp_tile_m": 16,
    "warp_tile_n": 16, "warp_tile_k": 16,
}  # fmt: skip
OTHERS: dict[str, Any] = {"variant": "rowcol_quant", "group_k": 1}


def broken(ck: str = "2025.11", **changed: Any) -> set[str]:
    rules = book("aquant", ck=ck)
    return {v.code for v in rules.violations({**BASELINE, **changed})}


def test_legal_kernels_have_names_that_are_read_back() -> None:
    seen = 0
    for variant in VARIANTS:
        region = select(Books("2025.11"), {"variant": variant, "arch": "gfx942"})
        for point in region.space.sample(20, seed=3):
            assert parse_name(format_name(point)).point == {
                k: v for k, v in point.items() if k != "arch"
            }
            seen += 1
    assert seen == 20 * len(VARIANTS)


#: Names as upstream's tools write them, the last two of them tile_engine.
NAMES = """\
gemm_tensor_quant_fp8_rcr_compv3_cshuffle_intrawave_128x128x128_1x4x1_16x16x32
gemm_rowcolquant_bf8_rcr_compv3_cshuffle_intrawave_16x64x256_1x4x1_16x16x32
gemm_aquant_fp8_rcr_mem_default_intrawave_16x64x256_1x4x1_16x16x32_qg1x1x128
gemm_aquant_fp8_rcr_compv3_cshuffle_intrawave_16x64x256_1x4x1_16x16x64_qg1x1x128_preshufflequant
gemm_bquant_fp8i4_rcr_compv3_cshuffle_intrawave_16x64x256_1x4x1_16x16x32_qg1x1x128
gemm_bquant_fp8_rcr_compv3_permute_n_intrawave_128x128x128_1x4x1_16x16x32_qg1x1x128_preshuffleb
gemm_aquant_fp8_rcr_mem_default_intrawave_False_False_True_False_128x128x128_2x2x1_32x32x16
gemm_bquant_bf8_rcr_compv3_default_intrawave_False_False_False_False_True_128x128x128_1x4x1_16x16x64
"""


@pytest.mark.parametrize(
    ("name", "style"),
    [(n, "tile_engine_2026" if "False" in n else "dispatcher") for n in NAMES.split()],
)
def test_upstreams_names_both_ways(name: str, style: str) -> None:
    parsed = parse_name(name)
    assert parsed.spelling == {"style": style}
    assert styled_name(parsed.point, style) == name
    assert set(parsed.taken) >= {"dtype_c", "k_block_per_cu"}
    full = config_from_mapping({**parsed.point, "arch": "gfx942"}, Books("2025.11")).point
    assert set(full) == set(book("aquant").fields)


def test_what_upstreams_words_mean() -> None:
    point = parse_name(
        "gemm_bquant_fp8i4_rcr_compv3_permute_n_intrawave"
        "_128x128x128_1x4x1_16x16x32_qg1x1x128_preshuffleb"
    ).point
    assert (point["dtype"], point["pipeline"], point["permute_n"]) == (
        "fp8_i4", "preshufflev2", True,
    )  # fmt: skip
    assert (point["epilogue"], point["double_smem_buffer"]) == ("cshuffle", True)


def test_tools_have_no_names_for_kernels_of_others() -> None:
    with pytest.raises(UsageError, match="tile_engine has no name for kernels of rowcol_quant"):
        STYLES["tile_engine_2026"].format({**BASELINE, **OTHERS})
    with pytest.raises(UsageError, match="the dispatcher has no kernel of aquant with transpose_c"):
        STYLES["dispatcher"].format({**BASELINE, "transpose_c": True})
    for style, tool in (("dispatcher", "the dispatcher"), ("tile_engine_2026", "tile_engine")):
        with pytest.raises(UsageError, match=f"^{tool} has no name for kernels of flatmm$"):
            SCALED_STYLES[style].format({"variant": "flatmm"})
    assert set(PREFIXES) == set(VARIANTS)


def test_faults_in_names_have_a_column() -> None:
    good = format_name(BASELINE)
    with pytest.raises(KernelNameError, match=r"column 14: expected .*fp8"):
        parse_name(good.replace("_fp8_", "_fp9_"))
    with pytest.raises(KernelNameError, match="no buffers, which follow from the pipeline"):
        parse_name(f"{good}_single")


@pytest.mark.parametrize(
    ("changed", "codes"),
    [
        ({}, set()),
        ({"double_smem_buffer": True}, {"QUANT007"}),
        ({**OTHERS, "double_smem_buffer": True}, {"QUANT007"}),
        ({"variant": "bquant", "double_smem_buffer": True}, {"QUANT006"}),
        (SHUFFLED | {"tile_m": 128}, set()),
        (SHUFFLED | {"tile_m": 128, "group_n": 32}, {"QUANT032"}),
        ({"variant": "bquant", "group_n": 96, "tile_n": 192}, {"QUANT026"}),
        (SMALL | {"permute_n": True}, set()),
        (SMALL | {"permute_n": True, "epilogue": "default"}, {"QUANT009"}),
        (SMALL | {"permute_n": True, "epilogue": "default", "tile_n": 32}, set()),
        (SMALL | {"permute_n": True, "tile_n": 96}, set()),
        (PLAIN | {"permute_n": True, "tile_n": 32}, set()),
        (PLAIN | {"permute_n": True}, {"QUANT009"}),
        (PLAIN | {"permute_n": True, "epilogue": "default"}, set()),
        (PLAIN | {**OTHERS, "permute_n": True, "tile_n": 32}, set()),
        (PLAIN | {**OTHERS, "permute_n": True, "tile_n": 32, "tile_m": 64}, {"QUANT034"}),
        ({**WMMA, "dtype_scale": "fp8"}, {"QUANT035"}),
        (WMMA, set()),
        ({**OTHERS, "preshuffle_quant": True}, set()),
        ({**OTHERS, "preshuffle_quant": True, "pipeline": "mem"}, set()),
        ({"preshuffle_quant": True, "pipeline": "mem"}, {"QUANT028"}),
        ({"variant": "bquant", "preshuffle_quant": True}, {"QUANT033"}),
        ({"dtype": "fp8_i4"}, {"QUANT003"}),
        ({"dtype": "i4_fp8"}, set()),
        ({"tile_m": 128}, {"QUANT030"}),
        ({"tile_m": 128, "transpose_c": True, "warp_tile_k": 16}, set()),
        ({"wave_k": 2}, {"QUANT024"}),
        ({**OTHERS, "wave_k": 2}, {"WAVE001"}),
        ({**OTHERS, "epilogue": "default"}, {"QUANT005"}),
        ({**OTHERS, "layout": "crr"}, set()),
        ({"layout": "crr"}, {"QUANT004"}),
        ({**OTHERS, "pipeline": "compv5"}, {"QUANT010"}),
        ({"scheduler": "interwave"}, {"QUANT002"}),
        ({"pipeline": "mem", "scheduler": "interwave"}, {"QUANT038"}),
        (
            {
                **OTHERS,
                "dtype": "i4_fp8",
                "layout": "ccr",
                "pipeline": "basic_v1",
                "scheduler": "default",
            },
            {"PIPE013", "QUANT012"},
        ),
        (
            {
                **OTHERS,
                "arch": "gfx950",
                "dtype": "bf8",
                "dtype_c": "fp8",
                "tile_m": 48,
                "tile_n": 224,
                "wave_m": 1,
                "wave_n": 1,
                "warp_tile_m": 16,
                "warp_tile_n": 16,
                "warp_tile_k": 16,
            },
            {"EPI006", "WARP002"},
        ),
        (PLAIN | {**OTHERS, "dtype_c": "fp8", "tile_m": 48, "wave_m": 1, "wave_n": 1}, {"EPI006"}),
    ],
)
def test_rules_at_their_boundaries(changed: dict[str, Any], codes: set[str]) -> None:
    assert broken(**changed) == codes


def test_later_headers_lift_some_of_them() -> None:
    assert broken("2026.06", layout="crr") == set()
    assert broken("2026.06", tile_m=128) == set()
    assert broken("2026.06", pipeline="mem", scheduler="interwave") == set()
    assert broken("2026.06", double_smem_buffer=True) == set()
    assert broken("2026.06", variant="bquant", double_smem_buffer=True) == set()
    assert broken("2026.06", **SHUFFLED, tile_m=128) == set()
    assert broken("2026.06", **SHUFFLED | {"double_smem_buffer": False}) == {"GEMM023"}


MI350: dict[str, Any] = {"arch": "gfx950", "transpose_c": True}
MI400: dict[str, Any] = {
    "arch": "gfx1250", "tile_m": 32, "tile_n": 64, "warp_tile_m": 16, "warp_tile_n": 16,
}  # fmt: skip
FOUR: dict[str, Any] = {
    "tile_m": 64, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 128,
}  # fmt: skip
TURNED: dict[str, Any] = {
    "arch": "gfx950", "layout": "rrr", "warp_tile_m": 16, "warp_tile_n": 16,
}  # fmt: skip
ORDERED: dict[str, Any] = {"variant": "bquant", "preshuffle_quant": True}
EIGHT: dict[str, Any] = {"tile_m": 256, "wave_m": 4}
WIDE: dict[str, Any] = {"arch": "gfx950", "wave_m": 1, "wave_n": 8, "tile_n": 256}


@pytest.mark.parametrize(
    ("changed", "june", "september"),
    [
        # a transposed C has longer warp tiles since
        (MI350, set(), set()),
        ({**MI350, "warp_tile_k": 64}, set(), set()),
        ({**MI350, "dtype": "bf8", "warp_tile_k": 64}, set(), set()),
        ({**MI350, "dtype": "bf8"}, {"WARP001"}, {"WARP001"}),
        # gfx1250 multiplies 32x32x128 in four parts, of which a lane has two rows and columns
        ({**MI400, **FOUR}, {"QUANT041"}, {"QUANT041"}),
        ({**MI400, **FOUR, "transpose_c": True}, {"QUANT041"}, {"QUANT041"}),
        ({**MI400, **FOUR, "variant": "bquant"}, {"QUANT041"}, {"QUANT041"}),
        ({**MI400, **FOUR, "variant": "bquant", "group_n": 64}, set(), set()),
        ({**MI400, **FOUR, **OTHERS}, set(), set()),
        # a read that transposes has 8 bytes
        ({**TURNED, "warp_tile_k": 32}, set(), set()),
        ({**TURNED, "warp_tile_k": 64}, {"QUANT043"}, {"QUANT043"}),
        ({**TURNED, "warp_tile_k": 64, "variant": "bquant"}, {"QUANT043"}, {"QUANT043"}),
        ({**TURNED, "warp_tile_k": 64, **OTHERS}, set(), set()),
        ({**TURNED, "warp_tile_k": 64, "layout": "rcr"}, set(), set()),
        ({**TURNED, "warp_tile_k": 128}, set(), set()),
        # shuffled scales of groups wider than a warp tile
        ({**ORDERED, "group_n": 32, "tile_n": 256}, set(), set()),
        ({**ORDERED, "group_n": 64}, set(), set()),
        ({**ORDERED, "group_n": 64, "tile_n": 256}, {"QUANT042"}, set()),
        ({**ORDERED, "group_n": 128}, set(), set()),
        ({**ORDERED, "group_n": 128, "group_k": 64}, {"QUANT042"}, {"QUANT042"}),
        ({**ORDERED, "group_n": 256}, {"QUANT042"}, {"QUANT042"}),
        ({**ORDERED, "group_n": 256, "wave_m": 1, "wave_n": 4, "tile_m": 32}, set(), set()),
        # half of an instruction, for C as computed
        ({**MI400, "warp_tile_k": 32}, {"WARP002"}, set()),
        ({**MI400, "warp_tile_k": 32, "transpose_c": True}, {"WARP002"}, {"GEMM084"}),
        # eight waves, of which CShuffle mixes columns up on gfx950
        ({**OTHERS, **EIGHT}, set(), set()),
        ({**OTHERS, **EIGHT, "arch": "gfx950"}, {"EPI011"}, {"EPI011"}),
        ({"variant": "bquant", **EIGHT, "arch": "gfx950"}, {"EPI011"}, {"EPI011"}),
        ({"variant": "bquant", **EIGHT, "dtype": "fp8_i4"}, {"EPI011"}, {"EPI011"}),
        ({"variant": "bquant", **EIGHT, "arch": "gfx950", "epilogue": "default"}, set(), set()),
        ({"variant": "bquant", **EIGHT, "arch": "gfx950", "tile_n": 64}, set(), set()),
        ({**SMALL, **WIDE}, {"EPI011"}, {"EPI011"}),
        # which does not shuffle what it stores from registers
        ({**SMALL, **WIDE, "permute_n": True}, set(), set()),
    ],
)  # fmt: skip
def test_kernels_of_2026(changed: dict[str, Any], june: set[str], september: set[str]) -> None:
    assert (broken("2026.06", **changed), broken("2026.09", **changed)) == (june, september)


@pytest.mark.parametrize(
    ("scheduler", "codes"), [("intrawave", {"QPROB005"}), ("interwave", set())]
)
def test_only_interwave_waits_in_the_tail_of_mem(scheduler: str, codes: set[str]) -> None:
    rules = problem_books.book("aquant", ck="2026.06")
    point = {**rules.vocabulary.baseline, "pipeline": "mem", "scheduler": scheduler, "K": 256}
    assert {v.rule.code for v in rules.violations(point)} == codes


def test_sums_that_mem_leaves_out() -> None:
    """Tiles that mem sums, counted as its loop does, against the quantity."""
    rules = problem_books.book("aquant", ck="2025.11")
    words = rules.vocabulary.names()
    seen = set()
    for tile_k in (32, 64, 128, 256):
        for steps in range(1, 14):
            sizes = {"M": 64, "N": 128, "K": steps * tile_k}
            point = {**rules.vocabulary.baseline, "pipeline": "mem", "tile_k": tile_k,
                     "group_k": 32, **sizes}  # fmt: skip
            at = At(rules.point(point))
            stages, done = at.value(words["mem_stages"]), 0
            while steps > stages and (done == 0 or done < steps - stages):
                done += stages
            done += 2 if steps % 2 == 0 else 1
            assert at.value(words["summed_tiles"]) == done
            wrong = {v.code for v in rules.violations(rules.point(point))} & {"QPROB003"}
            assert bool(wrong) == (done != steps)
            seen.add(bool(wrong))
    assert seen == {False, True}


def test_problem_rules() -> None:
    rules = problem_books.book("aquant", ck="2025.11")

    def codes(**changed: Any) -> set[str]:
        return {v.code for v in rules.violations({**rules.vocabulary.baseline, **changed})}

    assert codes() == set()
    assert codes(k_batch=2) == {"QPROB001"}
    assert codes(K=520, pad_k=True) == {"GPROB004", "GPROB005"}
    assert codes(pipeline="mem", K=256) == {"QPROB004"}
    assert codes(pipeline="mem", K=128) == set()
    alone = {"tile_m": 32, "tile_n": 32, "wave_m": 1, "wave_n": 1}
    assert codes(pipeline="mem", K=256, **alone) == set()
    assert "QPROB002" in codes(K=528, pad_k=True, group_k=32)


@pytest.mark.parametrize(
    ("variant", "word", "name"),
    [
        ("aquant", "compv3", "AQuantGemmPipelineAgBgCrCompV3"),
        ("bquant", "compv3", "BQuantGemmPipelineAgBgCrCompV3"),
        ("rowcol_quant", "mem", "GemmPipelineAgBgCrMem"),
    ],
)
def test_classes_of_pipelines(variant: str, word: str, name: str) -> None:
    assert pipeline(variant, word).cls == name


def test_probe_of_each_variant() -> None:
    for variant in VARIANTS:
        groups = 128 if variant in ("aquant", "bquant") else 1
        text = probe.render({**BASELINE, "variant": variant, "group_k": groups})
        assert text.count("template __global__ void") == 1
        assert ("QuantGroupShape<ct::sequence<1, 1, 128>>" in text) == (groups == 128)
    assert "group_k" in probe.fields(BASELINE)
    with pytest.raises(UsageError, match="tile_m is None where a probe needs an integer"):
        probe.render({k: v for k, v in BASELINE.items() if k != "tile_m"})
