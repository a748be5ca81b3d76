"""`ckrules bench --format tuned`: rows of aiter's tables, which its own checks find nothing in."""

from __future__ import annotations

import csv
import functools
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckrules.compiling import folder as built
from ckrules.constraints.catalogs import load
from ckrules.constraints.scaled.problem import parse
from ckrules.constraints.scaled.written import WRITTEN
from ckrules.device import session
from ckrules.device.hostlib import HostLaunch, Info
from ckrules.kernels import problem_files
from ckrules.kernels.families import problems_of
from ckrules.kernels.names import parse_name, styled_name
from ckrules.ranking.tuned_rows import TunedTime, table_of, write
from ckrules.support.errors import UsageError
from tests.cli.run import run
from tests.device.reference_device import simulated_ms
from tests.device.test_session import kernel

LISTED = "a8w8_bpreshuffle_cktile_0x0x8x4x1x0x0x0x0x{}_{}_1x4x1_16x16x64_default"
#: The second is the kernel that aiter adds to its list for three blocks on a compute unit.
NAMES = [LISTED.format(1, "32x64x512"), LISTED.format(3, "128x128x128")]


class DescribedProduct:
    """A host library of a kernel with scales that takes every product."""

    def __init__(self, name: str, config: dict[str, Any]) -> None:
        tensors = problems_of(config["variant"]).tensors(parse("M=1,N=16,K=512"), config).all
        self.info = Info(
            name, "2025.11", config["arch"], "scaled", config["variant"], config, 64, 256,
            8192, (f"{name}__hot",), {t.name: t.direction for t in tensors}, False,
        )  # fmt: skip

    def is_supported(self, problem: Any) -> bool:
        return True

    def reason(self, problem: Any) -> None:
        return None

    def workspace_bytes(self, problem: Any, room: Any = None) -> int:
        return 0

    def plan(
        self, problem: Any, addresses: Any, workspace: int = 0, room: Any = None
    ) -> list[HostLaunch]:
        args = b"".join(p.to_bytes(8, "little") for p in addresses)
        return [HostLaunch(self.info.entries[0], (1, 1, 1), (256, 1, 1), args, 8192)]


def open_product(folder: Path, name: str) -> tuple[DescribedProduct, bytes]:
    """What a worker calls to open a described kernel."""
    return DescribedProduct(name, json.loads((folder / f"{name}.json").read_text())), b"code"


@pytest.fixture
def out(tmp_path: Path, double: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two of aiter's kernels, which the test device runs without a compiler."""
    names, folder = tmp_path / "names.txt", tmp_path / "out"
    names.write_text("\n".join(NAMES) + "\n")
    words = ("generate", str(names), "-o", str(folder), "--ck", "2025.11", "--arch", "gfx942")
    assert run(*words).exit_code == 0
    for each in built.find([str(folder)]):
        config = json.dumps(dict(each.config))
        kernel(each.folder, each.name)
        (each.folder / f"{each.name}.json").write_text(config)
    opener = "tests.device.test_bench_tuned:open_product"
    monkeypatch.setattr(
        "ckrules.device.session.RunOptions", functools.partial(session.RunOptions, opener=opener)
    )
    double()
    return folder


def test_rows_are_aiters(out: Path, tmp_path: Path) -> None:
    table = tmp_path / "a8w8_bpreshuffle_tuned_gemm.csv"
    words = ("bench", str(out), "--device", "reference", "--device-option", "clock=simulated")
    words += ("--problem", "M=64,N=128,K=512", "--problem", "M=8,N=64,K=512,stride_a=1024")
    words += ("--format", "tuned", "-o", str(table), "--repeat", "2")
    done = run(*words)
    assert done.exit_code == 0, done.stderr
    assert done.stderr.splitlines() == [
        "2 times left out, of problems that the table has no columns for", "4 runs: 4 ok",
    ]  # fmt: skip
    (row,) = csv.DictReader(io.StringIO(table.read_text()))
    assert tuple(row) == WRITTEN.columns["flatmm"]
    winner = min(NAMES, key=lambda n: simulated_ms(parse_name(n).point, parse("M=64,N=128,K=512")))
    us = 1e3 * simulated_ms(parse_name(winner).point, parse("M=64,N=128,K=512"))
    assert float(row["us"]) == pytest.approx(us, abs=1e-4)
    said = {name: row[name] for name in ("gfx", "cu_num", "libtype", "splitK", "q_dtype_w")}
    assert said == {
        "gfx": "gfx942", "cu_num": "4", "libtype": "cktile", "splitK": "0",
        "q_dtype_w": "torch.float8_e4m3fnuz",
    }  # fmt: skip
    assert row["kernelName"] == winner
    # its rates, type and sizes agree with each other; the device of the test is no product
    checked = run("check", "--ignore", "ROW010,CFG010", str(table))
    assert (checked.exit_code, checked.stdout.count("ROW")) == (0, 0), checked.stdout


def test_numbers_are_those_of_aiters_own_rows() -> None:
    """As rows of aiter/configs/a8w8_bpreshuffle_tuned_gemm.csv have them (August 2026)."""
    of = {
        "0x0x8x4x1x0x0x0x0x4_32x64x512": 152, "0x0x8x4x1x0x0x0x0x3_48x64x256": 216,
        "0x0x8x4x1x0x0x0x0x3_256x192x128": 234, "0x0x8x4x1x0x0x0x0x4_96x128x256": 253,
        "0x0x8x4x1x0x0x0x0x1_256x256x128": 10, "0x0x8x4x1x0x0x0x0x2_256x128x128": 13,
    }  # fmt: skip
    listed = WRITTEN.extended(load("aiter").numbered("flatmm", "gfx950"))
    found = {styled_name(point, "aiter"): number for number, point in listed}
    for part, number in of.items():
        assert found[f"a8w8_bpreshuffle_cktile_{part}_1x4x1_16x16x128_default"] == number
    assert len(dict(listed)) == len(listed)


def test_numbers_of_rows_and_columns_are_those_of_aiters_list() -> None:
    """As ROCm/aiter @ 10788a1, csrc/ck_gemm_a8w8/gemm_a8w8_common.py: to it nothing is added."""
    said = {}
    for gpu, mn in (("gfx942", "2x2x1_16x16x32"), ("gfx950", "4x2x1_16x16x128")):
        listed = WRITTEN.extended(load("aiter_a8w8").numbered("rowcol_quant", gpu))
        said[gpu] = {styled_name(point, "aiter"): number for number, point in listed}
        number, point = listed[-1]
        assert f"_{mn}_intrawave_0x1x0_2" in styled_name(point, "aiter")
        assert number == {"gfx942": 5, "gfx950": 12}[gpu]
    assert said["gfx950"]["a8w8_cktile_128x128x128_1x4x1_16x16x128_intrawave_0x1x0_1"] == 8
    assert said["gfx950"]["a8w8_cktile_128x128x128_2x2x1_16x16x128_intrawave_0x1x0_2"] == 10


def test_rows_of_rows_and_columns_say_the_type() -> None:
    name = "a8w8_cktile_32x128x128_1x4x1_16x16x32_intrawave_0x1x0_2"
    stream = io.StringIO()
    problem = problems_of("rowcol_quant").parse("M=64,N=128,K=512")
    point = {**parse_name(name).point, "arch": "gfx942"}
    assert write(stream, [TunedTime(point, problem, 9.0, 304)]) == {}
    (row,) = csv.DictReader(io.StringIO(stream.getvalue()))
    assert (row["kernelName"], row["kernelId"]) == (name, "3")
    assert (row["q_dtype_w"], row["cu_num"]) == ("torch.float8_e4m3fnuz", "304")
    words = ("check", "--ignore", "CFG010", "--input-format", "tuned", "-")
    checked = run(*words, stdin=stream.getvalue())
    assert (checked.exit_code, checked.stdout) == (0, "")


def _time(name: str, problem: str, us: float, units: int | None = 80, **other: Any) -> TunedTime:
    point = {**parse_name(name).point, "arch": "gfx942", **other}
    return TunedTime(point, parse(problem), us, units)


def test_what_has_no_row_is_counted() -> None:
    stream = io.StringIO()
    left_out = write(stream, [
        _time(NAMES[0], "M=8,N=64,K=512", 9), _time(NAMES[1], "M=8,N=64,K=512,k_batch=4", 7),
        _time(NAMES[1], "M=16,N=64,K=512", 5, None),
        _time(NAMES[1], "M=16,N=64,K=512", 5, bias=True),
        _time(NAMES[1], "M=16,N=64,K=512", 5, tile_m=144),
        _time(NAMES[1], "M=16,N=64,K=768,k_batch=3", 5),
    ])  # fmt: skip
    (row,) = csv.DictReader(io.StringIO(stream.getvalue()))
    assert (row["us"], row["splitK"], row["kernelName"]) == ("7.0000", "2", NAMES[1])
    assert sorted(left_out) == [
        "of devices that do not say their compute units", "of kernels that aiter has no names for",
        "of kernels that the lists of aiter lack",
        "of problems that the table has no columns for",
    ]  # fmt: skip


def test_tables_are_read_as_problems_and_kernels(tmp_path: Path) -> None:
    stream, table = io.StringIO(), tmp_path / "tuned.csv"
    times = [_time(NAMES[0], "M=8,N=64,K=512,k_batch=2", 9), _time(NAMES[1], "M=9,N=64,K=512", 9)]
    write(stream, times)
    table.write_text(stream.getvalue())
    kinds = problem_files.kinds(["flatmm"])
    assert problem_files.read(str(table), kinds) == [t.problem for t in times]
    done = run("generate", str(table), "-o", str(tmp_path / "out"), "--ck", "2025.11")
    assert done.exit_code == 0, done.stderr
    assert sorted(k.name for k in built.find([str(tmp_path / "out")])) == sorted(NAMES)


@pytest.mark.parametrize(
    ("variants", "said"), [(["forward"], "no tuned table"), (["flatmm", "abquant"], "several")]
)
def test_kernels_without_a_table_are_refused(variants: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        table_of(variants)
