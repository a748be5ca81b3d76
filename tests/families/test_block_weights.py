"""Block scales with pre-shuffled weights, which aiter asks for at run time."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckrules.constraints import catalogs
from ckrules.constraints.scaled.tuned import form
from ckrules.kernels.applicability import OwnProblems
from ckrules.kernels.books import Books
from tests.cli.run import run

HEAD = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio"
NAME = "a8w8_blockscale_cktile_{}_1x4x1_16x16x128_intrawave_0x1x0_1"
SHUFFLED, PLAIN = "a8w8_blockscale_bpreshuffle_tuned_gemm", "a8w8_blockscale_tuned_gemm"
BOOK = Books("2026.09").of("abquant")


def kernels(gpu: str) -> list[dict[str, object]]:
    """Those with block scales of aiter's lists."""
    listed = catalogs.load("aiter").numbered("abquant", gpu)
    return [dict(point) for _, point in listed]


@pytest.mark.parametrize("gpu", ["gfx942", "gfx950"])
def test_kernels_of_the_list_are_legal_in_both_forms(gpu: str) -> None:
    for point in kernels(gpu):
        for table in (SHUFFLED, PLAIN):
            assert not BOOK.violations({**point, **form(point, f"{table}.csv")}), point


def test_tables_of_other_weights_and_other_kernels_change_nothing() -> None:
    assert all(form(p, SHUFFLED) for p in kernels("gfx950"))
    assert not any(form(p, PLAIN) for p in kernels("gfx950"))
    assert not form({"variant": "fmha_bwd_dot_do_o"}, SHUFFLED)


def test_eight_waves_have_two_buffers_in_lds() -> None:
    """Of A and of B in rows 64 bytes lie between 16 rows; shuffled weights are packed."""
    (point, *_) = (p for p in kernels("gfx950") if p["pipeline"] == "abquant_eight_waves")
    padded = 192 * 128 + 192 // 16 * 64
    for table, b in ((PLAIN, 256 * 128 + 256 // 16 * 64), (SHUFFLED, 256 * 128)):
        found = BOOK.resources({**point, **form(point, table)}, ["lds_bytes"])
        assert found == {"lds_bytes": 2 * (padded + b)}


@pytest.mark.parametrize(("table", "said"), [(SHUFFLED, "GEMM043"), (PLAIN, "")])
def test_the_table_says_whether_weights_are_shuffled(tmp_path: Path, table: str, said: str) -> None:
    """The waves that load A in rows of 128 do not cover 16 of them; tiles without pattern do."""
    path = tmp_path / f"{table}.csv"
    row = f"gfx950,256,16,512,1024,cktile,1,0,9,{NAME.format('16x128x128')},1.86,66.6,0"
    path.write_text(f"{HEAD}\n{row}\n")
    found = run("check", "--ignore", "CFG010,ROW", "--format", "concise", str(path))
    assert said in found.stdout
    assert found.exit_code == bool(said), found.output


@pytest.mark.parametrize(
    ("k", "parts", "table", "said"),
    [
        (1920, 5, SHUFFLED, False),  # three block tiles in each
        (2432, 5, SHUFFLED, True),  # four, and three at the end
        (2432, 5, PLAIN, False),  # beyond two compv3 ends in one way
        (4480, 5, SHUFFLED, False),  # seven
    ],
)  # fmt: skip
def test_parts_end_alike(k: int, parts: int, table: str, said: bool) -> None:
    point = {**kernels("gfx950")[8], "pad_k": True}
    sizes = {"M": 64, "N": 512, "K": k, "k_batch": parts}
    found = OwnProblems(Books("2026.09"))({**point, **form(point, table)}, sizes)
    assert found is not None
    assert any(v.code == "SPROB008" for v in found[1]) == said
