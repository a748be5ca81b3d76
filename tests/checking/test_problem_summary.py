"""What ``check --problem`` says of kernels that are legal and do not take the problem."""

from __future__ import annotations

import pytest

from tests.cli.run import run

NAME = "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x64x64_2x2x1_32x32x16_vec4_4_8"
ILLEGAL = NAME.replace("128x64x64", "96x64x64")


@pytest.mark.parametrize(
    ("names", "channels", "code", "said"),
    [
        ((NAME,), 64, 0, "1 configuration: 1 legal\n"),
        (
            (NAME,), 63, 1,
            "1 configuration: 1 legal; 1 does not take the problem (3 violations)\n",
        ),
        (
            (NAME, NAME.replace("vec4_4", "vec8_4")), 63, 1,
            "2 configurations: 2 legal; 2 do not take the problem (6 violations)\n",
        ),
        ((ILLEGAL,), 64, 1, "1 configuration: 0 legal, 1 illegal (1 violation)\n"),
    ],
)  # fmt: skip
def test_legal_is_not_all(names: tuple[str, ...], channels: int, code: int, said: str) -> None:
    line = f"N=1,C={channels},K={channels},H=9,W=9,Y=3,X=3"
    found = run("check", "--isolated", "--arch", "gfx942", "--problem", line, *names)
    assert found.exit_code == code
    assert said in found.stderr
