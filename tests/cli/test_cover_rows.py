"""Problems that tuned tables have no row for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import run

HEAD = "gfx,cu_num,M,N,K,libtype,us,kernelName"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    table, shapes = tmp_path / "a8w8_tuned_gemm.csv", tmp_path / "a8w8_untuned_gemm.csv"
    rows = [f"gfx942,80,{m},512,64,ck,5,a" for m in (8, 320, 8192)] + ["gfx950,256,8,512,64,ck,5,a"]
    table.write_text("\n".join([HEAD, *rows]) + "\n")
    shapes.write_text("M,N,K\n8,512,64\n300,512,64\n5000,512,64\n8,512,128\n8,512,64\n")
    return table, shapes


def test_rows_serve_smaller_m(files: tuple[Path, Path]) -> None:
    """5000 is served by 8192 (coarse), 300 by 320 (fine)."""
    done = run("cover", str(files[0]), "--rows", "--problems", str(files[1]))
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "gfx942, 80 compute units: of 4 problems 1 has a row, 2 that of a larger M, 1 none",
        "  no row: M=8 N=512 K=128",
        "gfx950, 256 compute units: of 4 problems 1 has a row, 0 that of a larger M, 3 none",
        "  no row: M=300 N=512 K=64",
        "  no row: M=5000 N=512 K=64",
        "  no row: M=8 N=512 K=128",
    ]


def test_one_gpu_and_json(files: tuple[Path, Path], tmp_path: Path) -> None:
    one = tmp_path / "one.txt"
    one.write_text("M=8,N=512,K=64\n")
    words = ("cover", str(files[0]), "--rows", "--arch", "gfx950", "--problems")
    assert run(*words, str(one)).exit_code == 0
    found = json.loads(run(*words, str(files[1]), "--format", "json").stdout)
    assert [(f["gpu"], f["compute_units"], len(f["missing"])) for f in found] == [
        ("gfx950", "256", 3)
    ]


def test_kernels_of_a_list_are_asked_about_what_has_no_row(tmp_path: Path) -> None:
    """K of 100 is in no whole steps of any kernel."""
    table, shapes = tmp_path / "tuned.csv", tmp_path / "shapes.csv"
    table.write_text(f"{HEAD}\ngfx950,256,8,512,256,ck,5,a\ngfx942,80,8,512,256,ck,5,a\n")
    shapes.write_text("M,N,K\n8,512,256\n100,512,256\n8,512,100\n")
    words = ("cover", str(table), "--rows", "--problems", str(shapes))
    listed = ("--catalog", "aiter", "--variant", "flatmm", "--arch", "gfx950")
    done = run(*words, *listed)
    assert done.stdout.splitlines() == [
        "gfx950, 256 compute units: of 3 problems 1 has a row, 0 that of a larger M, 2 none",
        "  no kernel of the catalog takes 1 of these",
        "  no row, no kernel: M=8 N=512 K=100",
        "  no row: M=100 N=512 K=256",
    ]
    (found,) = json.loads(run(*words, *listed, "--format", "json").stdout)
    assert found["untaken"] == [{"M": 8, "N": 512, "K": 100}]
    shapes.write_text("M,N,K\n100,512,256\n")
    assert "  some kernel of the catalog takes each of these\n" in run(*words, *listed).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rows",), "one of --problems and --symbolic is needed"),
        (("--rows", "--symbolic", "M == 1"), "--rows goes with --problems"),
        (("--rows", "--problems", "{1}"), "--rows takes tuned tables: name their files"),
        (("{1}", "--rows", "--problems", "{1}"), "not a tuned table of matrix products"),
        (("{0}", "--rows", "--dtype", "fp16", "--problems", "{1}"), "--dtype does not go with"),
        (("none.csv", "--rows", "--problems", "{1}"), "none.csv: No such file or directory"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(files: tuple[Path, Path], words: tuple[str, ...], said: str) -> None:
    done = run("cover", *(w.format(*files) for w in words))
    assert done.exit_code == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
