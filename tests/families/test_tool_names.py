"""Names that tools give GEMM kernels: read, written, and what they do not say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.constraints.gemm.tool_names import STYLES
from ckrules.engine.expr.variables import domain_of
from ckrules.kernels.library import book
from ckrules.kernels.name_grammar import KernelNameError
from ckrules.kernels.names import format_name, parse_name, styled_name
from ckrules.support.errors import CkrulesError, UnknownNameError
from tests.cli.run import run

TILES = "128x128x32_2x2x1_32x32x16"
NAMES = {
    f"gemm_multi_d_fp16_rcrr_compv3_cshuffle_intrawave_False_False_False_False_{TILES}":
        ("tile_engine", {"elementwise_op": "multiply", "k_block_per_cu": 1}),
    f"gemm_preshuffle_fp16_rcr_preshufflev2_default_default_False_False_False_True_{TILES}":
        ("tile_engine", {"permute_n": False, "k_block_per_cu": 1}),
    f"gemm_universal_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_{TILES}":
        ("tile_engine_2026", {"k_block_per_cu": 1}),
    f"grouped_gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_{TILES}":
        ("tile_engine_2026", {"k_block_per_cu": 1}),
    f"batched_gemm_fp16_rcr_compv3_cshuffle_intrawave_False_True_False_{TILES}":
        ("tile_engine_2026", {"persistent": False, "k_block_per_cu": 1}),
    f"fp16_rcr_compv4_cshuffle_auto_True_True_True_False_{TILES}_MultiDAdd_d1":
        ("registry", {"dtype_c": "fp16", "layout": "rcrr", "double_smem_buffer": True}),
    f"fp8_rcr_preshufflev2_cshuffle_auto_False_False_False_False_{TILES}_preshuffle":
        ("registry", {"dtype_c": "fp16", "permute_n": False}),
    "ck_tile_gemm_dt_fp16_ly_rcr_tile_128x128x32_warp_2x2x1_wtile_32x32x16_pipe_compv3_epi_cshuffle"
    "_sched_intrawave_pad110_persist_ew_MultiDAdd_nd1_dly_r_kbpc2":
        ("dispatcher_key", {"dtype_c": "fp16", "transpose_c": False}),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_says_what_it_lacks(name: str) -> None:
    style, taken = NAMES[name]
    parsed = parse_name(name)
    assert taken.items() <= parsed.taken.items()
    assert format_name(parsed.point, parsed.spelling) == name
    assert styled_name(parsed.point, style) == name
    result = run("check", "--ck", "2025.11", "--arch", "gfx942", "--format", "json", name)
    found = [d["message"] for d in json.loads(result.stdout) if d["code"] == "CFG010"]
    assert len(found) == 1
    assert all(f"{k} = {str(v).lower()}" in found[0] for k, v in taken.items())


def test_fields_beside_a_name_say_the_rest() -> None:
    name = f"gemm_multi_d_fp16_rcrr_compv3_cshuffle_intrawave_False_False_False_False_{TILES}"
    row = {"name": name, "elementwise_op": "add", "arch": "gfx942"}
    result = run("check", "--ck", "2025.11", json.dumps(row))
    assert result.exit_code == 0, result.stdout + result.stderr
    row["tile_m"] = 64  # type: ignore[assignment]
    result = run("check", "--ck", "2025.11", json.dumps(row))
    assert "the name says another tile_m" in result.stderr


@pytest.mark.parametrize(
    ("name", "column", "said"),
    [
        (f"fp16_rcr_compv4_cshuffle_auto_True_True_True_False_{TILES}_sparse", 77, "no sparse"),
        (f"fp16_rcr_compv4_cshuffle_default_True_True_True_False_{TILES}", 26, "auto, intrawave"),
        ("fp16_rcr_compv9_x", 10, "compv6"),
    ],
)
def test_faults_have_their_column(name: str, column: int, said: str) -> None:
    with pytest.raises(KernelNameError, match=said) as caught:
        parse_name(name)
    assert caught.value.column == column


DISPATCHED = f"gemm_fp16_rcr_compv4_cshuffle_intrawave_True_True_True_False_{TILES}"


def test_the_dispatchers_names_are_read() -> None:
    parsed = STYLES["dispatcher"].parse(DISPATCHED)
    assert parsed.point == parse_name(DISPATCHED).point
    assert parsed.taken["double_smem_buffer"] is True
    assert parsed.taken["k_block_per_cu"] == 1
    assert format_name(parsed.point, parsed.spelling) == DISPATCHED


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (f"{DISPATCHED}_kbpc2", rf"column 87: expected the end.*did you mean '{DISPATCHED}'\?"),
        (f"{DISPATCHED}_multid_MultiDAdd_d1_tc", r"found '_tc'; did you mean '.*_MultiDAdd_d1'\?"),
        (DISPATCHED.replace("fp16", "fp16_i4"), "'fp16_i4'.*did you mean.*'fp16'"),
        (DISPATCHED.replace("cshuffle", "cshufle"), r"did you mean 'cshuffle'\?"),
        (f"{DISPATCHED}_streamk", "the dispatcher has no name for kernels of stream_k"),
    ],
)
def test_what_the_dispatchers_names_lack_is_refused(name: str, said: str) -> None:
    with pytest.raises(CkrulesError, match=said):
        STYLES["dispatcher"].parse(name)


FIELDS = book("standard").fields


@given(st.data())
def test_every_name_reads_back(data: Any) -> None:
    """What a style writes it reads, and what it read is the point but for what it took."""
    point = {k: data.draw(st.sampled_from(list(domain_of(v).values))) for k, v in FIELDS.items()}
    for style in STYLES:
        try:
            name = styled_name(point, style)
        except CkrulesError:
            continue
        parsed = parse_name(name)
        differs = {k for k, v in parsed.point.items() if point[k] != v}
        assert differs <= {*parsed.taken, "num_d", "elementwise_op", "variant", "scheduler"}
        assert styled_name({**point, **parsed.point}, style) == name


@pytest.mark.parametrize("style", ["tile_engine", "tile_engine_2026"])
def test_no_name_of_tile_engine_says_another_number_of_ds(style: str) -> None:
    usual = f"gemm_fp16_rcrr_compv3_cshuffle_intrawave_False_False_False_False_{TILES}_multid"
    one, two = (parse_name(f"{usual}_MultiDMultiply_d{n}").point for n in (1, 2))
    assert parse_name(styled_name(two, style)).point == two
    with pytest.raises(CkrulesError, match="tile_engine has no kernel with num_d = 1"):
        styled_name(one, style)


def test_rule_set_is_among_the_names_that_are_known() -> None:
    """Of convolutions it was said that none is known."""
    with pytest.raises(UnknownNameError, match=r"'aiter': known are rule_set$"):
        styled_name(book("forward").vocabulary.baseline, "aiter")
