"""Names of kernels: every upstream name comes back unchanged, everything else says why not."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.kernels.name_grammar import MAX_NUMBER
from ckrules.kernels.names import (
    KernelNameError,
    format_name,
    parse_name,
    rule_set_spelling,
    strip_file_decoration,
)
from ckrules.support.errors import UnknownNameError, UsageError

# All distinct names that upstream's rule sets of June 2026 list, sorted.
GOLDEN = (
    gzip.decompress((Path(__file__).parent.parent / "data" / "golden_names.txt.gz").read_bytes())
    .decode()
    .split()
)

HEAD = "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_2x2x1_32x32x16"
WEIGHT = HEAD.replace("fwd", "bwd_weight")
DEPTHWISE = "grouped_conv_fwd_depthwise_fp16_ngchw_2d_8x8_f5_s1x1_p2x2_nb8_sub2x2_vec2_2"

LAYOUTS = {1: "nwgc", 2: "nhwgc", 3: "ndhwgc"}
NUMBER = st.one_of(st.sampled_from([1, 2, 4, 8]), st.integers(1, MAX_NUMBER))


def _regular_points() -> st.SearchStrategy[dict[str, int | str | bool]]:
    words = {
        "variant": ["forward", "bwd_data", "bwd_weight"],
        "dtype": ["fp16", "bf16", "fp32"],
        "pipeline": [
            *("basic_v1", "basic_v2", "basic_async_v1", "mem", "compv3", "compv4", "compv5"),
            *("compv6", "comp_async", "wavelet"),
        ],
        "scheduler": ["intrawave", "interwave"],
        "epilogue": ["cshuffle", "default"],
        "specialization": ["default", "filter1x1_pad0", "filter1x1_stride1_pad0", "filter3x3"],
    }
    numbers = [f"{g}_{x}" for g in ("tile", "wave", "warp_tile") for x in "mnk"]
    numbers += ["vector_a", "vector_b", "vector_c", "num_wave_groups", "num_groups_to_merge"]
    flags = ["double_smem_buffer", "pad_m", "pad_n", "pad_k", "two_stage", "explicit_gemm"]
    flags += ["split_image"]
    base = st.fixed_dictionaries(
        {k: st.sampled_from(v) for k, v in words.items()}
        | dict.fromkeys(numbers, NUMBER)
        | {k: st.booleans() for k in flags}
        | {"place": st.sampled_from(list(LAYOUTS.items()))}
        | {
            "stream": st.sampled_from(
                [("off", False), *((s, p) for s in ("linear", "tree") for p in (False, True))]
            )
        }
    )

    def finish(p: dict) -> dict[str, int | str | bool]:
        p = dict(p)
        p["ndim"], p["layout"] = p.pop("place")
        p["streamk"], p["streamk_persistent"] = p.pop("stream")
        return p

    return base.map(finish)


def _depthwise_points() -> st.SearchStrategy[dict[str, int | str | bool]]:
    numbers = ["tile_h", "tile_w", "filter", "stride_h", "stride_w", "nbatch", "sub_h", "sub_w"]
    return st.fixed_dictionaries(
        {"variant": st.just("forward_depthwise"), "ndim": st.just(2), "layout": st.just("ngchw")}
        | {"dtype": st.sampled_from(["fp16", "bf16", "fp32"])}
        | dict.fromkeys([*numbers, "in_vec", "out_vec"], NUMBER)
        | {k: st.integers(0, 9) for k in ("pad_h", "pad_w")}
    )


POINTS = st.one_of(_regular_points(), _depthwise_points())


def _error(text: str) -> KernelNameError:
    with pytest.raises(KernelNameError) as caught:
        parse_name(text)
    error = caught.value
    assert error.text == text
    assert 1 <= error.column <= len(text) + 1
    assert error.expected
    return error


def _parses_back_or_raises(text: str) -> None:
    try:
        parsed = parse_name(text)
    except KernelNameError:
        assert len(str(_error(text))) < 2000
    else:
        assert format_name(parsed.point, parsed.spelling) == text


# -- upstream's names ---------------------------------------------------------------------------


def test_every_golden_name_prints_back_unchanged() -> None:
    assert len(GOLDEN) == len(set(GOLDEN)) == 11_342
    seen = set()
    for name in GOLDEN:
        parsed = parse_name(name)
        assert format_name(parsed.point, parsed.spelling) == name
        assert "arch" not in parsed.point
        seen.add(tuple(sorted(parsed.point.items())))
    assert len(seen) == len(GOLDEN)


def test_rule_set_spelling_writes_what_the_rule_sets_write() -> None:
    for name in GOLDEN:
        parsed = parse_name(name)
        assert rule_set_spelling(parsed.point) == dict(parsed.spelling)


def test_default_writing_differs_from_the_rule_sets_only_in_compv1() -> None:
    for name in GOLDEN:
        assert format_name(parse_name(name).point) == name.replace("_compv1_", "_basic_v1_")


def test_a_name_holds_every_field() -> None:
    name = (
        "grouped_conv_bwd_weight_bf16_ndhwgc_3d_basic_async_v1_default_interwave_64x32x16_4x2x1"
        "_16x16x8_vec16_2_1_wg2_gm4_dsb_2stage_filter1x1_stride1_pad0_explicit_gemm"
        "_streamk_linear_persistent_large_tensor_pad010"
    )
    parsed = parse_name(name)
    assert parsed.point == {
        "variant": "bwd_weight",
        "dtype": "bf16",
        "ndim": 3,
        "layout": "ndhwgc",
        "tile_m": 64,
        "tile_n": 32,
        "tile_k": 16,
        "wave_m": 4,
        "wave_n": 2,
        "wave_k": 1,
        "warp_tile_m": 16,
        "warp_tile_n": 16,
        "warp_tile_k": 8,
        "pipeline": "basic_async_v1",
        "scheduler": "interwave",
        "epilogue": "default",
        "vector_a": 16,
        "vector_b": 2,
        "vector_c": 1,
        "double_smem_buffer": True,
        "num_wave_groups": 2,
        "num_groups_to_merge": 4,
        "pad_m": False,
        "pad_n": True,
        "pad_k": False,
        "specialization": "filter1x1_stride1_pad0",
        "two_stage": True,
        "explicit_gemm": True,
        "split_image": True,
        "streamk": "linear",
        "streamk_persistent": True,
    }
    assert dict(parsed.spelling) == {"layout": "ndhwgc"}
    assert format_name(parsed.point, parsed.spelling) == name
    assert "_nhwgc_3d_" in format_name(parsed.point)


def test_absent_suffixes_are_the_defaults() -> None:
    point = parse_name(HEAD).point
    assert (point["vector_a"], point["vector_b"], point["vector_c"]) == (4, 8, 8)
    assert point["pad_m"] is point["pad_n"] is point["pad_k"] is True
    assert (point["num_wave_groups"], point["num_groups_to_merge"]) == (1, 1)
    assert (point["streamk"], point["specialization"]) == ("off", "default")


def test_depthwise_name() -> None:
    parsed = parse_name(DEPTHWISE)
    assert parsed.point == {
        "variant": "forward_depthwise",
        "dtype": "fp16",
        "ndim": 2,
        "layout": "ngchw",
        "tile_h": 8,
        "tile_w": 8,
        "filter": 5,
        "stride_h": 1,
        "stride_w": 1,
        "pad_h": 2,
        "pad_w": 2,
        "nbatch": 8,
        "sub_h": 2,
        "sub_w": 2,
        "in_vec": 2,
        "out_vec": 2,
    }
    assert parsed.spelling == {}
    assert format_name(parsed.point | {"arch": "gfx942"}) == DEPTHWISE


@pytest.mark.parametrize(
    ("written", "point", "spelling"),
    [
        ("nhwgc_1d", "nwgc", {"layout": "nhwgc"}),
        ("nwgc_1d", "nwgc", {"layout": "nwgc"}),
        ("nhwgc_2d", "nhwgc", {}),
        ("nhwgc_3d", "ndhwgc", {"layout": "nhwgc"}),
        ("ndhwgc_3d", "ndhwgc", {"layout": "ndhwgc"}),
    ],
)
def test_layouts(written: str, point: str, spelling: dict[str, str]) -> None:
    parsed = parse_name(HEAD.replace("nhwgc_2d", written))
    assert parsed.point["layout"] == point
    assert dict(parsed.spelling) == spelling


@pytest.mark.parametrize("alias", ["compv1", "compv2"])
def test_pipeline_aliases(alias: str) -> None:
    name = HEAD.replace("compv3", alias)
    parsed = parse_name(name)
    assert parsed.point["pipeline"] == alias.replace("comp", "basic_")
    assert dict(parsed.spelling) == {"pipeline": alias}
    assert format_name(parsed.point) == name.replace("comp", "basic_")


# -- texts that are not names --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "offset", "hint"),
    [
        ("_vec4_8_8", 0, "default"),
        ("_wg1", 0, "default"),
        ("_gm1", 0, "default"),
        ("_pad111", 0, "default"),
        ("_gm2_wg2", 4, "goes before '_gm'"),
        ("_dsb_vec1_1_1", 4, "goes before '_dsb'"),
        ("_dsb_dsb", 4, "appears twice"),
        ("_dsb_2stage_dsb", 11, "goes before '_2stage'"),
        ("_filter3x3_filter1x1_pad0", 10, "appears twice"),
        ("_persistent", 0, "only follows"),
        ("_streamk_tree_large_tensor_persistent", 26, "goes before"),
        ("_wg02", 3, "leading zeros"),
        ("_wg0", 3, ""),
        ("_gm1000001", 3, ""),
        ("_gm" + "9" * 5000, 3, ""),
        ("_vec8_8", 7, ""),
        ("_vec8_8_", 8, ""),
        ("_vec8x8x4", 5, ""),
        ("_vec8_8_4x", 9, ""),
        ("_pad01", 6, ""),
        ("_pad012", 6, ""),
        ("_padTrueFalseTrue", 4, ""),
        ("_DSB", 0, "'_dsb'"),
        ("_two_stage", 0, "'_2stage'"),
        ("_explicit_gem", 0, "'_explicit_gemm'"),
        ("_filter3x5", 1, "'filter3x3'"),
        ("_streamk_atomic", 9, ""),
        ("_default", 0, ""),
        ("_dsbx", 4, ""),
        ("0000000", -2, ""),
        ("\n", 0, ""),
        (" ", 0, ""),
        (".hpp", 0, "strip_file_decoration"),
    ],
)
def test_wrong_suffixes(suffix: str, offset: int, hint: str) -> None:
    error = _error(HEAD + suffix)
    assert error.column == len(HEAD) + offset + 1
    assert hint in error.hint
    if not hint:
        assert "default" not in error.hint


@pytest.mark.parametrize(
    ("old", "new", "at", "hint"),
    [
        ("grouped_conv_", "Grouped_conv_", "Grouped", ""),
        ("grouped_conv_", "grouped_cnv_", "nv_", ""),
        ("fwd", "bwd", "bwd", "bwd_data"),
        ("fp16", "FP16", "FP16", "'fp16'"),
        ("fp16", "int8", "int8", ""),
        ("nhwgc", "nhwcg", "nhwcg", "'nhwgc'"),
        ("nhwgc", "nwgc", "nwgc", ""),
        ("2d", "4d", "4d", ""),
        ("compv3", "compv7", "compv7", "'compv6'"),
        ("compv3", "compv33", "compv33", "'compv3'"),
        ("compv3", "comp_asinc", "comp_asinc", "'comp_async'"),
        ("compv3", "basic_async", "basic_async", "'basic_async_v1'"),
        ("cshuffle", "cshufle", "cshufle", "'cshuffle'"),
        ("intrawave", "intrawaves", "intrawaves", "'intrawave'"),
        ("_128x", "_0128x", "0128", "leading zeros"),
        ("_128x", "_0x", "0x", ""),
        ("_128x", "_-128x", "-128", ""),
        ("_128x", "_١٢٨x", "١", ""),
        ("_2x2x1_", "_2x2_", "_32x32", ""),
        ("_2x2x1_", "_2X2x1_", "X", ""),
    ],
)
def test_wrong_words(old: str, new: str, at: str, hint: str) -> None:
    text = HEAD.replace(old, new, 1)
    error = _error(text)
    assert error.column == text.index(at, text.index(new[0])) + 1
    assert hint in error.hint


def test_every_proper_prefix_is_an_error_at_its_end_or_inside() -> None:
    for text in (HEAD, DEPTHWISE):
        for size in range(len(text)):
            if text[:size] != HEAD[:-1]:  # one digit less is a number too
                assert _error(text[:size]).column <= size + 1


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        ("ngchw", "nhwgc", "nhwgc"),
        ("2d", "3d", "3d"),
        ("_f5", "_f05", "05"),
        ("_p2x2", "_p2x", "_nb"),
        ("_p2x2", "_p00x2", "00x2"),
        ("_vec2_2", "_vec2_2_2", "_2_2"),
        ("_vec2_2", "", None),
        ("_vec2_2", "_vec2_2_dsb", "_dsb"),
        ("_depthwise", "_depthwize", "depthwize"),
    ],
)
def test_wrong_depthwise_names(old: str, new: str, at: str | None) -> None:
    text = DEPTHWISE.replace(old, new, 1)
    error = _error(text)
    if at == "_2_2":
        assert error.column == len(text) - 1
    elif at is not None:
        assert error.column == text.index(at) + 1
    else:
        assert error.column == len(text) + 1


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("grouped_conv_forward_fp16_2d_128x128x32_compv4_intrawave_gm2_dsb", 27),
        ("grouped_conv_bwd_data_bf16_3d_1x128x128_mem_interwave_si_2stage", 28),
    ],
)
def test_python_config_names_are_called_lossy(text: str, column: int) -> None:
    error = _error(text)
    assert error.column == column
    assert "lossy" in str(error)
    assert "vector sizes" in str(error)


def test_library_names_are_called_lossy() -> None:
    text = "libdispatcher_conv_forward_2d_fp16_1x128x128_2x2x1_32x32x16_compv4_intrawave.so"
    error = _error(text)
    assert "lossy" in error.hint
    assert "epilogue" in error.hint


def test_the_error_is_a_usage_error_that_travels() -> None:
    error = _error(HEAD + "_dbs")
    assert isinstance(error, UsageError)
    twin = pickle.loads(pickle.dumps(error))
    assert (twin.text, twin.column, twin.expected) == (error.text, error.column, error.expected)
    assert str(twin) == str(error)


@pytest.mark.parametrize("bare", [HEAD, WEIGHT + "_streamk_tree", DEPTHWISE])
def test_file_decorations(bare: str) -> None:
    for text in (
        *(f"{bare}.hpp", f"{bare}.cpp", f"ns_{bare}", f"dispatcher_wrapper_{bare}.hpp"),
        *(f"out/dispatcher_wrappers/dispatcher_wrapper_{bare}.hpp", f"out\\{bare}.cpp", bare),
    ):
        assert strip_file_decoration(text) == bare
        if text != bare:
            assert "strip_file_decoration" in _error(text).hint


# -- points that have no name -------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"pad_m": 1},
        {"tile_m": 0},
        {"tile_m": True},
        {"tile_m": "128"},
        {"tile_m": MAX_NUMBER + 1},
        {"ndim": 4},
        {"streamk_persistent": True},
    ],
)
def test_points_without_a_name(change: dict[str, int | str | bool]) -> None:
    with pytest.raises(UsageError):
        format_name(parse_name(HEAD).point | change)


@pytest.mark.parametrize(
    "change",
    [
        {"variant": "fwd"},
        {"dtype": "fp64"},
        {"pipeline": "compv1"},
        {"ndim": 3},
        {"layout": "ngchw"},
        {"streamk": "atomic"},
        {"specialization": "filter5x5"},
    ],
)
def test_points_with_unknown_words(change: dict[str, int | str | bool]) -> None:
    with pytest.raises(UnknownNameError):
        format_name(parse_name(HEAD).point | change)


@pytest.mark.parametrize("name", [HEAD, DEPTHWISE])
def test_a_point_that_lacks_a_key_has_no_name(name: str) -> None:
    point = parse_name(name).point
    for key in point:
        with pytest.raises(UsageError, match=key):
            format_name({k: v for k, v in point.items() if k != key})


def test_spellings_must_spell_the_value() -> None:
    point = parse_name(HEAD).point
    with pytest.raises(UsageError, match="not spelt"):
        format_name(point, {"pipeline": "compv1"})
    with pytest.raises(UsageError, match="not spelt"):
        format_name(point, {"layout": "ndhwgc"})
    with pytest.raises(UnknownNameError, match="pipeline"):
        format_name(point, {"pipelin": "compv3"})
    with pytest.raises(UsageError, match="depthwise"):
        format_name(parse_name(DEPTHWISE).point, {"pipeline": "compv1"})


# -- any text, any point ------------------------------------------------------------------------


@given(POINTS)
def test_a_written_point_reads_back(point: dict[str, int | str | bool]) -> None:
    name = format_name(point | {"arch": "gfx942"})
    assert parse_name(name).point == point
    spelt = format_name(point, rule_set_spelling(point))
    parsed = parse_name(spelt)
    assert parsed.point == point
    assert format_name(parsed.point, parsed.spelling) == spelt


@given(st.one_of(st.text(), st.text(alphabet="_x0123456789abcdefgpw.", max_size=60)))
def test_any_text_is_read_or_explained(text: str) -> None:
    _parses_back_or_raises(text)
    _parses_back_or_raises(HEAD + text)
    _parses_back_or_raises("grouped_conv_" + text)
    _parses_back_or_raises("grouped_conv_fwd_depthwise_" + text)


@given(
    st.one_of(st.sampled_from(GOLDEN[::37]), POINTS.map(format_name)),
    st.data(),
)
def test_mutated_names_are_read_or_explained(name: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(name)))
        new = data.draw(st.sampled_from(["", *"_x019adefst", "_dsb", "_wg1", "\n", "é"]))
        name = name[:at] + new + name[at + data.draw(st.integers(0, 2)) :]
    _parses_back_or_raises(name)


@pytest.mark.parametrize(
    "text",
    [
        "_" * 10**6,
        HEAD + "_vec" + "8" * 10**6,
        HEAD + "_dsb" * 10**5,
        "9x" * 10**6,
        HEAD + "_filter1x1_pad0" * 10**5,
        "grouped_conv_" * 10**5,
        HEAD.replace("128", "1" * 10**6),
    ],
    ids=lambda text: f"{text[:8]}-{len(text)}",
)
def test_long_texts_are_refused(text: str) -> None:
    """Anything worse than linear would not come back: a million steps, squared."""
    with pytest.raises(KernelNameError):
        parse_name(text)
