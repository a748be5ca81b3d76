"""Attention: what upstream lists is legal, but for what cannot run, and quantities in numbers."""

from __future__ import annotations

from collections import Counter

import pytest

from ckrules.constraints import CK_VERSIONS, book
from ckrules.constraints.fmha_bwd.schedule import NARROW
from ckrules.engine.rules.batch import BatchChecker

LISTED = (
    ("fmha_fwd", "receipt_1"), ("fmha_fwd", "receipt_800"), ("fmha_fwd_splitkv", "receipt_0"),
    ("fmha_fwd_pagedkv", "receipt_0"), ("fmha_batch_prefill", "receipt_0"),
    ("fmha_bwd", "receipt_2"), ("fmha_fwd_appendkv", "receipt_0"),
    ("fmha_fwd_splitkv_combine", "receipt_0"), ("fmha_bwd_convert_dq", "receipt_0"),
)  # fmt: skip
#: Changes of the baseline that make other kernels of it.
SPLIT = {"variant": "fmha_fwd_splitkv"}
COLUMNS = {"v_layout": "col"}
BYTES = {"dtype": "fp8", "warp_tile_k0": 32, "warp_tile_k1": 32}
ASYNC = {"pipeline": "qr_async", "pad_s": True, "pad_d": True, "pad_dv": True}
TRLOAD = {
    "arch": "gfx950", "pipeline": "qr_async_trload", "trload": True, "tile_m0": 16, "tile_n0": 32,
    "tile_k0": 64, "wave_m0": 1, "wave_m1": 1,
    **{f"warp_tile_{x}{p}": 32 if x == "k" else 16 for x in "mnk" for p in (0, 1)},
}  # fmt: skip
EIGHT = {
    **TRLOAD, "tile_m0": 128, "tile_k0": 32, "tile_n1": 64, "wave_m0": 8, "wave_n0": 2,
    "wave_m1": 8, "wave_n1": 2,
}  # fmt: skip
PREFILL = {
    "variant": "fmha_batch_prefill", "mode": "group", "paged_kv": True, "pipeline": "qr_async",
    "pad_s": True, "pad_d": True, "pad_dv": True,
}  # fmt: skip
#: A kernel of attention backward for 16 rows of Q at most.
SHORT = {
    "arch": "gfx950", "trload": True, "max_seqlen_q": 16, "tile_n0": 16, "tile_k4": 16,
    "tile_k0": 64, "tile_k2": 64, "tile_hdq": 64, "tile_hdv": 64, "wave_n0": 1, "wave_m1": 1,
    "wave_n2": 1, "warp_tile_k0": 16,
}  # fmt: skip


def _broken(variant: str, profile: str, gpu: str) -> Counter[str]:
    rules = book(variant, ck="2025.11")
    listed = book(variant, ck="2025.11", profile=profile).space(variant=variant, arch=gpu)
    return Counter(v.rule.code for broken in map(BatchChecker(rules), listed) for v in broken)


@pytest.mark.parametrize(("variant", "profile"), LISTED)
@pytest.mark.parametrize("gpu", ["gfx942", "gfx950"])
def test_what_upstream_lists_is_legal(variant: str, profile: str, gpu: str) -> None:
    """But for qr_async of heads of 96 and 192, whose V overwrites K (mended in 2026)."""
    races = {"FMHA047": 672} if (variant, profile) == ("fmha_fwd", "receipt_1") else {}
    assert _broken(variant, profile, gpu) == races


def test_batch_prefill_is_listed_where_it_cannot_run() -> None:
    assert _broken("fmha_batch_prefill", "receipt_0", "gfx1201") == {"FMHA023": 384, "FMHA011": 192}


@pytest.mark.parametrize(
    ("change", "lds"),
    [
        ({}, 9216),  # V: 4 packs along K, 16 rows of 64 + 8 elements, 2 bytes
        ({"tile_k0": 64, "tile_n0": 256}, 32880),  # K: 8 * (8 * 257 - 1) elements
        ({"pipeline": "qr_async", "pad_s": True, "pad_d": True, "pad_dv": True}, 27648),
        ({"dropout": True, "tile_n1": 32, "tile_n0": 32, "tile_k1": 32}, 4128),  # (128 + 1) * 32
        # as the code objects of two listed kernels have it
        ({**TRLOAD, "tile_n1": 64, "tile_k0max": 64}, 8192),  # 32 * 64 + 64 * 32
        (TRLOAD, 12288),
    ],
)
def test_lds_by_hand(change: dict[str, object], lds: int) -> None:
    rules = book("fmha_fwd", ck="2025.11")
    point = {**rules.vocabulary.baseline, **change}
    assert rules.resources(point, ["lds_bytes"]) == {"lds_bytes": lds}


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({"tile_n0": 96, "tile_k1": 64}, {"FMHA006"}),
        ({"tile_k0": 48}, {"FMHA002"}),
        ({"tile_k0max": 512, "hdim": 512}, {"FMHA003"}),
        ({**SPLIT, "mask": "generic"}, {"FMHA013"}),
        ({**COLUMNS, "tile_n1": 136}, {"FMHA032"}),
        ({"tile_n1": 96}, {"FMHA034"}),
        ({**BYTES, "tile_n1": 160}, {"FMHA034"}),
        ({**PREFILL, "tile_n1": 192}, {"FMHA037"}),
        ({**PREFILL, **COLUMNS}, {"FMHA037"}),
        ({"pipeline": "qs", "tile_k0max": 176, "tile_k0": 16}, set()),
        ({"variant": "fmha_fwd_pagedkv", "pipeline": "qr_pagedkv", "wave_m0": 2}, {"FMHA039"}),
        ({**BYTES, "dropout": True}, {"FMHA040"}),
        ({"block_per_cu": 0}, {"FMHA041"}),
        ({**ASYNC, "hdim": 96, "tile_k0max": 96}, {"FMHA047"}),
        ({**ASYNC, "tile_m0": 32, "wave_m0": 1, "wave_m1": 1}, set()),
        ({**ASYNC, "tile_m0": 32, "wave_m0": 1, "wave_m1": 1, "tile_k1": 64}, {"FMHA078"}),
        ({**TRLOAD, "bias": "alibi"}, {"FMHA044"}),
        ({**TRLOAD, "v_layout": "col"}, {"FMHA045"}),
        ({"hdim": 96, "tile_k0max": 96, "tile_k0": 48}, {"FMHA042"}),
        ({"tile_n1": 32, "wave_n1": 2}, {"FMHA043"}),
        # qr_async_trload: 4 elements of V at once, a pair of V transposed, 64 loads of K
        ({**EIGHT, "tile_n0": 64, "tile_k1": 64, "tile_k0max": 192}, {"FMHA049"}),
        ({**TRLOAD, "tile_n0": 96, "tile_n1": 32, "tile_k1": 16, "wave_n1": 4}, {"FMHA053"}),
        ({**TRLOAD, "tile_n0": 256, "tile_k0": 192, "tile_k0max": 192, "wave_n1": 2}, {"FMHA056"}),
    ],
)
def test_what_the_compiler_refused(change: dict[str, object], codes: set[str]) -> None:
    """Kernels that clang refused, and head dimension 512, which people ask for."""
    rules = book("fmha_fwd", ck="2025.11")
    point = {**rules.vocabulary.baseline, **change}
    assert codes <= {v.rule.code for v in rules.violations(point)}


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        # the body is empty on gfx942, and clang took the first five there
        ({**TRLOAD, "tile_n0": 96, "tile_k1": 64}, {"FMHA024"}),
        ({**TRLOAD, "tile_k0": 8}, {"FMHA024"}),
        ({**TRLOAD, "warp_tile_k0": 64}, {"FMHA011", "FMHA024"}),
        ({**TRLOAD, "wave_m1": 2}, {"FMHA024"}),
        ({"trload": True}, {"FMHA024", "FMHA057"}),
        ({**TRLOAD, "trload": False}, {"FMHA013", "FMHA057"}),
        ({**TRLOAD, "tile_k0": 48}, {"FMHA002", "FMHA024"}),
    ],
)
def test_what_the_compiler_said_of_empty_kernels(
    change: dict[str, object], codes: set[str]
) -> None:
    """Rules of what a body compiles refused kernels that have none."""
    rules = book("fmha_fwd", ck="2025.11")
    point = {**rules.vocabulary.baseline, **change, "arch": "gfx942"}
    found = rules.violations(point)
    assert {v.rule.code for v in found if v.rule.kind != "wrong-result"} == codes


#: Warp tiles of both products that were run on the device cpu, and whether results were right.
RUN = (
    ((16, 16, 16), (16, 16, 32), False), ((16, 16, 32), (16, 16, 32), False),
    ((16, 16, 32), (16, 16, 16), True), ((32, 32, 16), (32, 32, 8), False),
    ((32, 32, 8), (32, 32, 8), False), ((32, 32, 8), (32, 32, 16), True),
)  # fmt: skip


@pytest.mark.parametrize(("scores", "values", "right"), RUN)
@pytest.mark.parametrize("ck", CK_VERSIONS)
def test_lanes_hold_the_columns_of_p_that_they_multiply(
    scores: tuple[int, ...], values: tuple[int, ...], right: bool, ck: str
) -> None:
    """As kernels of head dimension 64 computed: 99 % of the elements are wrong, or none."""
    rules = book("fmha_fwd", ck=ck)
    warp = {
        f"warp_tile_{x}{p}": v
        for p, tile in enumerate((scores, values))
        for x, v in zip("mnk", tile, strict=True)
    }
    head = {"hdim": 64, "tile_n1": 64, "tile_k0max": 64, "tile_m0": scores[0] * 4, "tile_n0": 64}
    found = rules.violations({**rules.vocabulary.baseline, **head, **warp})
    assert [v.rule.code for v in found] == ([] if right else ["FMHA059"])


#: 64 rows of Q, of two waves of 32.
PAIR = {
    **TRLOAD, "tile_n0": 64, "tile_k0": 32, "tile_k1": 32, "wave_m0": 2, "wave_m1": 2,
    "tile_m0": 64, "warp_tile_m0": 32, "warp_tile_n0": 32, "warp_tile_k0": 16, "warp_tile_m1": 32,
    "warp_tile_n1": 32, "warp_tile_k1": 16,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({"tile_k0max": 80, "tile_k0": 16, "hdim": 80}, ({"FMHA003"}, {"FMHA003"}, set())),
        ({"pipeline": "qs"}, (set(), {"FMHA060"}, {"FMHA060"})),
        ({**PREFILL, "mode": "batch"}, (set(), {"FMHA061"}, {"FMHA061"})),
        ({**PREFILL, "tile_k0": 16}, (set(), set(), {"FMHA062"})),
        ({**PREFILL, "tile_n1": 192}, ({"FMHA037"}, {"FMHA037"}, set())),
        (PAIR, ({"FMHA052"}, set(), set())),
        (
            {**PAIR, "tile_k0max": 256, "tile_n1": 256, "hdim": 256},
            ({"FMHA052"}, {"FMHA052"}, {"FMHA052"}),
        ),
        (
            {**BYTES, "warp_tile_k1": 16},
            ({"FMHA010"}, {"FMHA059"}, {"FMHA059"}),
        ),
        ({**ASYNC, "hdim": 96, "tile_k0max": 96}, ({"FMHA047"}, set(), set())),
    ],
)
def test_what_the_releases_ask(change: dict[str, object], codes: tuple[set[str], ...]) -> None:
    """As the headers of 2026 were read beside those of November 2025."""
    asked = {c for each in codes for c in each}
    for ck, expected in zip(CK_VERSIONS, codes, strict=True):
        rules = book("fmha_fwd", ck=ck)
        found = rules.violations({**rules.vocabulary.baseline, **change})
        assert {v.rule.code for v in found} & asked == expected, ck


@pytest.mark.parametrize(
    ("change", "sizes"),
    [
        # Q before K's step and V, of 16 rows; then K and V twice; heads of 256: once
        (TRLOAD, (12288, 12288)),
        ({**PAIR, "tile_m0": 96, "wave_m0": 3, "wave_m1": 3}, (24576, 65536)),
        (
            {**PAIR, "tile_k0max": 256, "tile_n1": 256, "tile_m0": 128, "wave_m0": 4,
             "wave_m1": 4},
            (131072, 98304),
        ),
    ],
)  # fmt: skip
def test_lds_of_transposing_kernels_by_release(
    change: dict[str, object], sizes: tuple[int, int]
) -> None:
    for ck, lds in zip(("2025.11", "2026.06"), sizes, strict=True):
        rules = book("fmha_fwd", ck=ck)
        point = {**rules.vocabulary.baseline, **change}
        assert rules.resources(point, ["lds_bytes"]) == {"lds_bytes": lds}


@pytest.mark.parametrize(
    ("change", "lds"),
    [
        # as the code objects of two kernels for short Q have it, of which one broke FBWD025
        (SHORT, 9728),  # 4 * 16 * 64 + 16 * 16 elements, 4 * 64 numbers
        ({**SHORT, "tile_n0": 64, "tile_k4": 64}, 16384),  # 64 * (64 + 64)
        ({}, 65536),  # K twice: 2 * 128 * 128
        ({"tile_n0": 64}, 32768),
        ({"tile_n0": 32, "tile_m0": 32}, 35072),  # 4 * 32 * 128 + 32 * 32 elements, 2 * 32 numbers
    ],
)
def test_lds_of_gradients_by_hand(change: dict[str, object], lds: int) -> None:
    rules = book("fmha_bwd", ck="2025.11")
    point = {**rules.vocabulary.baseline, **change}
    assert rules.resources(point, ["lds_bytes"]) == {"lds_bytes": lds}


APPEND = {"variant": "fmha_fwd_appendkv", "tile_s": 64, "tile_sk": 64, "tile_d": 64, "tile_dv": 64}
DOT = {"variant": "fmha_bwd_dot_do_o", "tile_s": 64, "tile_dv": 0, "block_per_cu": 2}
#: Four lanes of a wave are left over, which have a row of the next wave.
SIXTY = {"hdim": 96, "tile_s": 60, "tile_sk": 60, "tile_d": 96, "tile_dv": 96}
CONVERT = {**DOT, "variant": "fmha_bwd_convert_dq"}


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({}, set()), (APPEND, set()), (DOT, set()), (CONVERT, set()),
        ({"tile_dv": 8}, set()), ({"tile_dv": 64}, {"FSTP007"}), ({"tile_dv": 4}, {"FSTP007"}),
        ({"tile_dv": 28, "hdim": 56, "arch": "gfx1201"}, {"FSTP007"}),
        ({"tile_dv": 9, "hdim": 72}, {"FSTP008"}),
        ({"hdim": 288}, {"FSTP006"}), ({"hdim": 288, "block_per_cu": 1}, set()),
        ({**APPEND, "tile_sk": 12}, {"FSTP009", "FSTP010"}),
        ({**APPEND, "tile_d": 1024, "block_per_cu": 1}, {"FSTP009", "FSTP010"}),
        ({**APPEND, "rope": "inter", "tile_s": 8}, {"FSTP009", "FSTP010"}),
        ({**APPEND, "tile_d": 96}, {"FSTP010"}),
        ({**APPEND, **SIXTY}, set()), ({**APPEND, **SIXTY, "rope": "inter"}, {"FSTP010"}),
        ({**DOT, "tile_s": 1024}, set()), ({**DOT, "tile_s": 2048}, {"FSTP014"}),
        ({**DOT, "tile_s": 8}, {"FSTP011"}), ({**DOT, "hdim": 44}, {"FSTP011"}),
        ({**CONVERT, "hdim": 48}, {"FSTP012"}), ({**CONVERT, "hdim": 48, "tile_s": 60}, set()),
        ({**CONVERT, "deterministic": True}, {"FSTP013"}),
    ],
)  # fmt: skip
def test_what_the_compiler_said_of_steps(change: dict[str, object], codes: set[str]) -> None:
    """As clang said of kernels before and after attention; kernels of wrong results compile."""
    rules = book("fmha_fwd_splitkv_combine", ck="2025.11")
    point = {**rules.vocabulary.baseline, "hdim": 64, **change}
    assert {v.rule.code for v in rules.violations(point)} == codes


SMALL = {
    "hdim": 32, "tile_m0": 32, "tile_n0": 64, "tile_k0": 32, "tile_k1": 32, "tile_k2": 32,
    "tile_k3": 32, "tile_hdq": 32, "tile_hdv": 32, "wave_m2": 2, "wave_n2": 2,
}  # fmt: skip


WIDE = {
    **SMALL, "warp_tile_k0": 16, "wave_n0": 1, "wave_m1": 1, "wave_m2": 1, "wave_n2": 1,
    **{f"warp_tile_{x}{p}": 32 for x in "mn" for p in "01"}, "tile_n0": 32,
}  # fmt: skip
#: Waves of products 0 and 1 along the rows of Q, whose step is as long as the rows of both.
TWO_ROWS = {
    "wave_m0": 2, "wave_n0": 1, "wave_m1": 1, "wave_n1": 2, "wave_n2": 1, "tile_n0": 32,
    "warp_tile_k1": 32,
}  # fmt: skip
QUERIES = {"tile_m0": 64, "tile_k1": 64, "tile_k3": 64}


@pytest.mark.parametrize(
    ("change", "right"),
    [
        ({}, True), ({"tile_n0": 64, "tile_k4": 64}, True), (QUERIES, True),
        ({"warp_tile_k0": 8}, True),
        ({"warp_tile_k0": 8, "warp_tile_k1": 8}, False),
        ({**QUERIES, "tile_n0": 64, "tile_k4": 64}, False),
        ({"warp_tile_m0": 16, "warp_tile_n0": 16}, False),
        ({**QUERIES, "tile_n0": 64, "tile_k4": 64, "wave_m0": 2, "wave_m1": 2, "wave_m2": 2},
         False),
    ],
)  # fmt: skip
def test_backward_with_32_rows_is_right_where_registers_lie_alike(
    change: dict[str, object], right: bool
) -> None:
    """As eight kernels of CK 2025.11 computed for gfx942 on the device cpu."""
    rules = book("fmha_bwd", ck="2025.11")
    found = rules.violations({**rules.vocabulary.baseline, **WIDE, **change})
    assert [v.rule.code for v in found] == ([] if right else ["FBWD023"])


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        # clang 22 refused the first, the sixth and the last of these, and accepted the others
        ({}, {"FBWD027"}),
        ({"pad_d": 1}, set()),
        ({"pad_dv": 1}, set()),
        ({"hdim": 128, "tile_hdq": 128, "tile_k0": 128, "pad_d": 0}, set()),
        ({"tile_hdq": 64, "tile_k0": 64}, set()),
        ({"tile_n0": 64}, {"FBWD027"}),
        ({"hdim": 32, "tile_hdq": 32, "tile_k0": 32, "tile_k4": 16}, set()),
        ({"hdim": 32, "tile_hdq": 32, "tile_k0": 32, "tile_k4": 8}, {"FBWD006", "FBWD028"}),
    ],
)  # fmt: skip
def test_instructions_of_products_3_and_4(change: dict[str, object], codes: set[str]) -> None:
    rules = book("fmha_bwd", ck="2025.11")
    point = {**rules.vocabulary.baseline, **NARROW, **change}
    found = {v.rule.code for v in rules.violations(point)}
    assert found - {"FBWD033"} == codes  # compiles, with heads of V larger than those of Q


@pytest.mark.parametrize(
    ("variant", "change", "code"),
    [
        ("fmha_fwd", {"warp_tile_k0": 32}, "FMHA065"),
        ("fmha_fwd", {}, ""),
        ("fmha_fwd", {"warp_tile_k0": 32, "dropout": False}, ""),
        # clang 22 refused the kernel of the draw of seed 7101, which breaks FBWD006 alone else
        ("fmha_bwd", {"warp_tile_k0": 32}, "FBWD029"),
        ("fmha_bwd", {"warp_tile_k0": 16}, ""),
        ("fmha_bwd", {"warp_tile_k0": 32, "dropout": "no"}, ""),
        ("fmha_bwd", {"warp_tile_k0": 32, "arch": "gfx942"}, ""),
    ],
)  # fmt: skip
def test_random_numbers_on_waves_of_32_lanes(
    variant: str, change: dict[str, object], code: str
) -> None:
    rules = book(variant, ck="2025.11")
    dropout = True if variant == "fmha_fwd" else "dropout_wg16"
    tiles = {f"warp_tile_{x}{p}": 16 for x in "mn" for p in (0, 1)}
    point = {**rules.vocabulary.baseline, "arch": "gfx1201", **tiles, "dropout": dropout, **change}
    found = {v.rule.code for v in rules.violations(point)} & {"FMHA065", "FBWD029"}
    assert found == ({code} if code else set())


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        # clang 22 refused the first of these, and accepted the others
        ({}, {"FBWD026", "FBWD030"}),
        ({"tile_n0": 32}, set()),
        ({"warp_tile_k0": 16}, {"FBWD026"}),
        ({"tile_n0": 32, "tile_k4": 64}, {"FBWD026"}),
        ({"tile_k4": 16}, set()),
    ],
)  # fmt: skip
def test_rows_of_keys_are_warp_tiles_of_product_4(
    change: dict[str, object], codes: set[str]
) -> None:
    rules = book("fmha_bwd", ck="2025.11")
    few = {"hdim": 32, "tile_hdq": 32, "tile_k0": 32, "tile_n0": 16, "tile_k4": 32}
    waves = {f"wave_{x}": 1 for x in ("n0", "m1", "n2")}
    point = {**rules.vocabulary.baseline, **NARROW, "arch": "gfx942", **few, **waves,
             "warp_tile_k0": 32, **change}  # fmt: skip
    assert {v.rule.code for v in rules.violations(point)} & {"FBWD026", "FBWD030"} == codes


def steps_of(rows: int) -> dict[str, object]:
    """A kernel of one wave whose steps have some rows of Q."""
    return {
        **SMALL, **{f"tile_{x}": rows for x in ("m0", "k1", "k3")}, "hdim": 64, "tile_hdq": 64,
        "tile_hdv": 64, "tile_k0": 64, "tile_k2": 64, "tile_k4": 16, "wave_n0": 1, "wave_m1": 1,
        "wave_m2": 1, "wave_n2": 1, "pad_d": 1, "pad_dv": 1,
    }  # fmt: skip


#: Of gfx950, which transposes as LDS is read.
TURNED = {
    **SMALL, "arch": "gfx950", "trload": True, "hdim": 64, "tile_hdq": 64, "tile_hdv": 64,
    "tile_k0": 64, "tile_k2": 64, "tile_n0": 32, "wave_n0": 2, "wave_m1": 2, "wave_m2": 1,
    "warp_tile_k1": 32,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({}, set()),
        (SMALL, set()),
        ({**SMALL, "tile_k4": 48}, {"FBWD012"}),
        ({**SMALL, "tile_k4": 128}, {"FBWD026"}),
        ({**SMALL, "hdim": 48, "tile_hdq": 48, "tile_k0": 48}, {"FBWD012", "FBWD013", "FBWD027"}),
        ({**SMALL, "tile_n0": 192}, {"FBWD014", "FBWD015"}),
        ({**SMALL, "tile_k0": 16, "warp_tile_k0": 16}, {"FBWD016"}),
        ({**SMALL, "warp_tile_k1": 32}, {"FBWD018"}),
        ({**SMALL, "wave_m0": 2, "wave_n0": 2}, {"FBWD018"}),
        # run: half of the columns of dK are zeros where Q has a row
        ({**SMALL, **TWO_ROWS}, {"FBWD018"}),
        ({**SMALL, "arch": "gfx950", "trload": True, "warp_tile_k1": 32}, {"FBWD017"}),
        # run: dQ is wrong where V is put over what other waves read of K, and LSE is not there
        ({"hdim": 64, "tile_hdq": 64, "tile_k0": 64}, {"FBWD033"}),
        (steps_of(80), {"FBWD035"}),
        ({**steps_of(96), "tile_n0": 32}, {"FBWD035"}),
        ({**steps_of(48), "wave_n0": 2, "wave_m1": 2, "wave_n2": 2}, {"FBWD034"}),
        # clang accepted the first four and refused the others, of which no rule spoke
        (TURNED, set()),
        ({**TURNED, "tile_n0": 64}, set()),
        ({**TURNED, "tile_hdv": 128, "tile_k2": 128}, {"FBWD022"}),
        ({**TURNED, "wave_n0": 1, "wave_m1": 1, "wave_n2": 1, "warp_tile_m1": 32,
          "warp_tile_n1": 32, "warp_tile_k1": 8}, {"FBWD021"}),
        ({**TURNED, "wave_m0": 2, "wave_n0": 1}, {"FBWD021"}),
        ({**TURNED, "wave_n0": 1, "wave_m1": 1, "wave_n2": 1, "warp_tile_m1": 32,
          "warp_tile_n1": 32, "warp_tile_k1": 16}, {"FBWD019", "FBWD021"}),
        ({**TURNED, "wave_m1": 1, "wave_n1": 2}, {"FBWD019"}),
        ({**TURNED, "tile_k4": 64}, {"FBWD019"}),
        ({**TURNED, "tile_n0": 48, "tile_k4": 16, "wave_n0": 1, "wave_m1": 1, "wave_n2": 1},
         {"FBWD015"}),
        ({**TURNED, "pad_dv": 1}, {"FBWD020"}),
    ],
)  # fmt: skip
def test_what_backward_asserts(change: dict[str, object], codes: set[str]) -> None:
    rules = book("fmha_bwd", ck="2025.11")
    point = {**rules.vocabulary.baseline, **change}
    assert {v.rule.code for v in rules.violations(point)} == codes


@pytest.mark.parametrize(
    ("ck", "gpu", "broken"),
    [
        ("2025.11", "gfx950", {"FMHA058"}), ("2025.11", "gfx942", set()),
        ("2025.11", "gfx1201", set()), ("2026.06", "gfx1201", {"FMHA058"}),
    ],
)  # fmt: skip
def test_bytes_of_padded_heads_are_stored_where_the_header_lets_them(
    ck: str, gpu: str, broken: set[str]
) -> None:
    """One of gfx1201 was built and run with CK 2025.11."""
    rules = book("fmha_fwd", ck=ck)
    shape = {f"warp_tile_{x}{p}": 16 if gpu == "gfx1201" else 32 for x in "mn" for p in (0, 1)}
    depth = {f"warp_tile_k{p}": 16 for p in (0, 1)}
    change = {**shape, **depth, "arch": gpu, "dtype": "fp8", "pad_dv": True}
    point = {**rules.vocabulary.baseline, **change}
    assert {v.rule.code for v in rules.violations(point)} & {"FMHA058"} == broken
