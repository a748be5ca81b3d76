"""Rows of tuned tables against the problems that their kernels take."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

HEAD = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName"
BLOCKS = "a8w8_blockscale_cktile_16x128x256_1x4x1_16x16x64_intrawave_0x1x0_1"
FLAT = "a8w8_bpreshuffle_cktile_0x0x8x4x1x0x0x0x0x1_128x128x128_1x4x1_16x16x128_default"
PADDED = FLAT.replace("0x0x0x1_128", "0x1x1x1_128")


def checked(folder: Path, *rows: str) -> list[str]:
    """The findings ROW012 about rows, without their place."""
    path = folder / "a8w8_tuned_gemm.csv"
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    found = run("check", "--select", "ROW012", "--format", "concise", str(path))
    lines = [line for line in found.output.splitlines() if " ROW012 " in line]
    assert found.exit_code == bool(lines), found.output
    return [line.partition(" ROW012 ")[2] for line in lines]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        # a row of aiter's a8w8_blockscale_bpreshuffle tables (gfx942, 80 compute units)
        (f"64,2240,7168,cktile,7,3,36,{BLOCKS}",
         "N=2240,K=7168,k_batch=8: SPROB003: K = 7168 is not a multiple of tile_k * k_batch"),
        # host code pads N by 128, and K, which is not a multiple of tile_k, not
        (f"64,2240,7168,cktile,7,0,36,{BLOCKS}", ""),
        (f"64,2240,7296,cktile,7,0,36,{BLOCKS}", "SPROB003: K = 7296 is not a multiple of"),
        (f"64,2240,7184,cktile,7,0,36,{BLOCKS}", ""),
        # flatmm pads what its name says
        (f"64,2240,7168,cktile,7,0,36,{FLAT}", "SPROB004: N = 2240 is not a multiple of tile_n"),
        (f"64,2240,7168,cktile,7,0,36,{PADDED}", ""),
        (f"64,2240,7176,cktile,7,0,36,{PADDED}", "SPROB023: K = 7176 is not a multiple of"),
        (f"64,2176,640,cktile,7,1,36,{FLAT}", "SPROB022: the loop is compiled for the end of 3"),
        # another library's kernel has no rules
        ("64,2241,7177,ck,7,3,36,a8w8_rowwise_64x16x16x64", ""),
    ],
)  # fmt: skip
def test_rows_are_taken_by_their_kernels(tmp_path: Path, row: str, said: str) -> None:
    found = checked(tmp_path, f"gfx950,256,{row}")
    assert len(found) == bool(said)
    assert all(said in text for text in found), found


def test_each_row_is_judged_with_its_own_sizes(tmp_path: Path) -> None:
    rows = [f"gfx950,256,8,{n},1024,cktile,1,0,9,{FLAT}" for n in (128, 192, 256, 320)]
    found = checked(tmp_path, *rows)
    assert ["N=192" in found[0], "N=320" in found[1], len(found)] == [True, True, 2]


def test_rows_without_a_product_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a8w8_tuned_gemm.csv"
    path.write_text(f"gfx,cu_num,M,N,us,kernelName\ngfx950,256,8,192,9,{FLAT}\n")
    assert "ROW012" not in run("check", str(path)).output


def test_the_code_can_be_ignored(tmp_path: Path) -> None:
    path = tmp_path / "a8w8_tuned_gemm.csv"
    path.write_text(f"{HEAD}\ngfx950,256,8,192,1024,cktile,1,0,9,{FLAT}\n")
    done = run("check", "--ignore", "ROW012,CFG010", str(path))
    assert done.exit_code == 0, done.output
