"""A checkout of aiter in small: lists and tables of several libraries, found in its folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckrules.checking.checker import Checker
from ckrules.checking.settings import SettingsResolver
from tests.cli.run import run

DATA = Path(__file__).parent.parent / "data" / "formats" / "aiter_lists.py"
HEAD = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n"
KERNEL = "a8w8_bpreshuffle_cktile_0x0x8x4x1x0x0x0x0x1_{}_1x4x1_16x16x64_default"
#: As classic CK's lists in ROCm/aiter begin (csrc/ck_gemm_a8w8/gemm_a8w8_common.py, MIT).
CLASSIC = """\
from dataclasses import dataclass

@dataclass
class kernelInstance:
    BLOCK_SIZE: int
    MPerBLOCK: int
    NPerBLOCK: int
    PIPELINE_VERSION: int

kernels_list = {0: kernelInstance(256, 256, 256, 4), 1: kernelInstance(256, 256, 224, 3)}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    lists, configs = tmp_path / "csrc" / "lists", tmp_path / "aiter" / "configs"
    for folder in (lists, configs):
        folder.mkdir(parents=True)
    text = DATA.read_text().split("# ckrules")[1].partition("\n")[2]
    kept = [
        line for line in text.splitlines() if not line.startswith(("    1:", "    2:", "    3:"))
    ]
    (lists / "gemm_a8w8_bpreshuffle_cktile_common.py").write_text("\n".join(kept) + "\n")
    (lists / "gemm_a8w8_common.py").write_text(CLASSIC)
    rows = [
        f"gfx942,80,128,1536,5120,cktile,0,0,40,{KERNEL.format('128x128x128')},50.33,240.31,0.0",
        f"gfx942,80,256,1536,5120,cktile,9,0,40,{KERNEL.format('32x64x512')},90.1,268.7,0.0",
        "gfx942,80,512,1536,5120,asm,3,1,34.2,_ZN5aiter41I8gemm_bf16_perTokenI8_BpreShuffle_64x128E,235.5,,0.0",
    ]
    (configs / "a8w8_bpreshuffle_tuned_gemm.csv").write_text(HEAD + "\n".join(rows) + "\n")
    (configs / "a8w8_bpreshuffle_untuned_gemm.csv").write_text("M,N,K\n1,2,3\n")
    triton = tmp_path / "aiter" / "ops" / "triton" / "configs" / "gemm"
    triton.mkdir(parents=True)
    (triton / "gfx942-GEMM.json").write_text('{"any": {"BLOCK_SIZE_M": 16, "num_warps": 4}}')
    (configs / "shapes_tuned.csv").write_text("M,N,K,name\n1,2,3,x\n")
    (configs / "other.csv").write_text("a,b\n1,2\n")
    return tmp_path


def test_one_command_reads_it_whole(checkout: Path) -> None:
    done = run("check", "--isolated", "--format", "concise", str(checkout))
    assert done.exit_code == 0, done.output
    codes = [line.split(": ")[1].split()[0] for line in done.stdout.splitlines()]
    assert sorted(set(codes)) == ["CFG010", "ROW003", "ROW007"]
    assert f"has the kernel {KERNEL.format('32x64x512')} for its GPU" in done.stdout
    assert "3 configurations: 3 legal" in done.stderr
    assert "3 rows of 1 tuned table" in done.stderr
    assert "not covered: 1 kernel of assembly in 1 file" in done.stderr
    assert "not covered: 2 kernels of classic CK in 1 file" in done.stderr


def test_lists_of_other_libraries_alone_are_no_fault(checkout: Path) -> None:
    done = run("check", "--isolated", str(checkout / "csrc/lists/gemm_a8w8_common.py"))
    assert (done.exit_code, done.stdout) == (0, "")
    assert "not covered: 2 kernels of classic CK" in done.stderr


#: As ROCm/aiter @ 5a7fc71, csrc/ck_m_grouped_gemm/m_grouped_gemm_common.py (MIT).
GROUPS = """from dataclasses import dataclass

@dataclass
class kernelInstance:
    BLOCK_SIZE: int
    MPerBLOCK: int
    NPerBLOCK: int
    KPerBLOCK: int
    WAVE_TILE_M: int
    WAVE_TILE_N: int
    WAVE_TILE_K: int
    WAVE_MAP_M: int
    WAVE_MAP_N: int

kernels_list = {1: kernelInstance(256, 128, 128, 128, 16, 16, 64, 1, 4)}
"""


def test_flatmm_by_groups_is_of_ck_tile(tmp_path: Path) -> None:
    """Its wrapper starts ck_tile::GroupedFlatmmKernel; it was counted, and not judged."""
    (tmp_path / "m_grouped_gemm_common.py").write_text(GROUPS)
    done = run("check", "--isolated", "--verdicts", str(tmp_path / "m_grouped_gemm_common.py"))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    name = "scaled_flatmm_fp8_bf16_flatmm_default_row_column_128x128x128_1x4x1_16x16x64"
    assert [row["name"] for row in rows] == [f"{name}_groups8_rows4_masked"] * 2


def test_rates_are_repaired(checkout: Path) -> None:
    table = checkout / "aiter/configs/a8w8_bpreshuffle_tuned_gemm.csv"
    before = table.read_text()
    done = run("check", "--isolated", "--fix", "--select", "ROW", "--format", "concise", str(table))
    assert (done.exit_code, done.stdout) == (0, "")  # read twice, and no row is there twice
    assert table.read_text() == before.replace(",90.1,", ",100.66,")


def test_the_slower_of_two_rows_is_removed(checkout: Path) -> None:
    table = checkout / "aiter/configs/a8w8_bpreshuffle_tuned_gemm.csv"
    head, first, *rest = table.read_text().splitlines()
    faster, slower = first.replace(",40,", ",39,", 1), first.replace(",40,", ",41,", 1)
    table.write_text("\n".join([head, first, *rest, slower, faster]))
    assert run("check", "--isolated", "--fix", str(table)).exit_code == 0
    kept = table.read_text().splitlines()
    assert [line for line in kept if ",128,1536," in line] == [faster.replace("50.33", "51.62")]
    assert len(kept) == len(rest) + 2


def test_a_text_is_checked_again_as_if_for_the_first_time(checkout: Path) -> None:
    """As an editor does while it is written."""
    checker = Checker(SettingsResolver({}, isolated=True))
    text = (checkout / "aiter/configs/a8w8_bpreshuffle_tuned_gemm.csv").read_bytes()
    first, again = (
        [d.code for v in checker.of_text("a_tuned.csv", text).verdicts() for d in v.diagnostics]
        for _ in range(2)
    )
    assert first == again == ["CFG010", "ROW003"]


def test_codes_of_rows_are_ignored_as_others_are(checkout: Path) -> None:
    (checkout / "ckrules.toml").write_text('[per-file-ignores]\n"*tuned*.csv" = ["ROW"]\n')
    done = run("check", "--ignore", "CFG010", "--format", "concise", str(checkout))
    assert done.stdout == ""


def test_a_summary_has_a_line_a_code(checkout: Path) -> None:
    done = run("check", "--isolated", "--format", "summary", str(checkout))
    lines = [line.split()[:5] for line in done.stdout.splitlines()]
    assert lines[0] == ["code", "severity", "findings", "files", "name"]
    assert ["ROW007", "warning", "1", "1", "kernel-in-no-list"] in lines
