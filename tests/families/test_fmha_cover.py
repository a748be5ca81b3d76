"""`ckrules cover` draws new rows and rotated parts of heads, orders and strides where asked to."""

from __future__ import annotations

import pytest

from tests.cli.run import run

APPEND = "fmha_fwd_appendkv_d64_fp16_b64x64x64x64"
HEAD = "p_hdim == 64 & p_hdim_v == 64"


@pytest.mark.parametrize(
    ("kernel", "ranges", "condition", "said"),
    [
        ("vr_psk", (), "", "covered: some kernel"),
        ("vc", (), "", "not covered: "),
        ("vc", (), " & p_appended % 64 == 0", "covered: some kernel"),
        ("vr_pskd_inter", ("p_rope=1",), "", "KPROB005 for 1"),
        ("vr_pskd_inter", ("p_rope=1",), " & p_rotary % 8 == 0", "covered: some kernel"),
    ],
)
def test_new_rows_and_rotated_parts_are_drawn(
    kernel: str, ranges: tuple[str, ...], condition: str, said: str
) -> None:
    given = [word for each in ranges for word in ("--range", each)]
    done = run(
        "cover", "--ck", "2025.11", "--arch", "gfx942", f"{APPEND}_{kernel}", *given,
        "--symbolic", HEAD + condition,
    )  # fmt: skip
    assert said in done.stdout, done.stdout + done.stderr


def test_a_counterexample_names_the_new_rows() -> None:
    done = run(
        "cover", "--ck", "2025.11", "--arch", "gfx942", f"{APPEND}_vc",
        "--symbolic", f"{HEAD} & p_appended > 64",
    )  # fmt: skip
    assert "p_appended=65" in done.stdout
    assert "KPROB006" in done.stdout


FORWARD = (
    "fmha_fwd_d128_fp16_batch_b128x128x32x128x32x128_r4x1x1_r4x1x1_w32x32x16_w32x32x16_qr_async_vr"
    "_psskddv_nlogits_nbias_nmask_nlse_ndropout_nskip_nsquant_ntrload"
)


@pytest.mark.parametrize(
    ("ranges", "said"),
    [
        (("p_order_q=0..1", "p_order_v=0..1", "p_order_o=0..1"), "covered: some kernel"),
        (("p_stride_k=16384..20000",), "covered: some kernel"),
        (("p_stride_k=16383..20000",), "p_stride_k=16383 (refused by FPROB031 for 1)"),
        (("p_head_stride_k=127..512",), "p_head_stride_k=127 (refused by FPROB031 for 1)"),
        (("p_v_layout=0..2",), "p_v_layout=2 (refused by FPROB032 for 1)"),
        (("p_seqlen_q=1..4194304",), "FPROB034 for 1"),
    ],
)
@pytest.mark.whole
def test_strides_are_drawn(ranges: tuple[str, ...], said: str) -> None:
    given = [word for each in ranges for word in ("--range", each)]
    done = run(
        "cover", "--ck", "2025.11", "--arch", "gfx942", FORWARD, *given,
        "--symbolic", "p_hdim == 128 & p_hdim_v == 128",
    )  # fmt: skip
    assert said in done.stdout, done.stdout + done.stderr
