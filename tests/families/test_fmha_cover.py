"""`ckrules cover` of kernels that append: any number of new rows, any rotated part of a head."""

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
