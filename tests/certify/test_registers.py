"""What the compiler allocates is kept, read again and set beside the estimates.

`make certify` compiles a kernel for it, twice.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckrules.certify import register_report as report
from ckrules.certify import registers
from ckrules.certify.built import every, main_of
from ckrules.certify.registers import Allocation, CompiledKernel, RegisterRequest
from ckrules.codegen.generate import Generator
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.database import FILE
from ckrules.compiling.executors import executor
from ckrules.compiling.failures import FailureClass
from ckrules.compiling.folder import manifests
from ckrules.compiling.results import Results, digest
from ckrules.compiling.session import BuildOptions, BuildSession
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config, config_from_mapping, config_from_name
from ckrules.support.errors import UsageError
from tests.helpers.full_disk import no_file_beyond
from tests.helpers.toolchain import require_toolchain

BOOKS = Books("2025.11")
SMALL = ("tile_m * tile_n * tile_k <= 4096 * wave_m * wave_n",)


class _Compiler(registers.RegisterCompiler):
    """Allocates a register more for each kernel."""

    def __init__(self) -> None:
        self.books, self.asked = BOOKS, list[Any]()

    def allocation(self, point: registers.Point) -> Allocation:
        self.asked.append(dict(point))
        return Allocation(vgprs=40 + len(self.asked), code_bytes=9, compiler="clang-0")


def _request(count: int, seed: int = 1) -> RegisterRequest:
    return RegisterRequest(("gemm", "conv"), ("gfx942", "gfx1201"), count, seed, SMALL)


def _data(folder: Path) -> dict[str, registers.RegisterData]:
    return {f: registers.load(folder / f"{f}.csv", f, BOOKS) for f in ("gemm", "conv")}


@pytest.mark.whole
def test_draws_are_legal_and_of_each_family_and_gpu_in_turn() -> None:
    points = list(_request(12).points(BOOKS))
    assert [(f, p["arch"]) for f, p in points[:4]] == [
        ("gemm", "gfx942"), ("gemm", "gfx1201"), ("conv", "gfx942"), ("conv", "gfx1201")
    ]  # fmt: skip
    assert len(points) == len({tuple(p.items()) for _, p in points}) == 12
    for _, point in points:
        assert not BOOKS.of(str(point["variant"])).violations(point)


@pytest.mark.whole
def test_a_run_that_ended_goes_on(tmp_path: Path) -> None:
    first = _Compiler()
    found, left = registers.collect(_request(8), _data(tmp_path), first)
    assert (len(first.asked), left) == (8, 0)
    again, data = _Compiler(), _data(tmp_path)
    repeated, left = registers.collect(_request(8), data, again)
    assert (again.asked, left) == ([], 0)
    figures = {f: {r.allocation for r in rows} for f, rows in found.items()}
    assert {f: {r.allocation for r in rows} for f, rows in repeated.items()} == figures
    points = [r.point for rows in repeated.values() for r in rows]
    assert all(p in first.asked for p in points)


def test_no_kernel_is_begun_after_the_minutes(tmp_path: Path) -> None:
    compiler = _Compiler()
    found, left = registers.collect(_request(4), _data(tmp_path), compiler, minutes=0)
    assert (found, left, compiler.asked) == ({}, 4, [])


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    registers.collect(_request(4), _data(tmp_path), _Compiler())
    path = tmp_path / "gemm.csv"
    whole = path.read_text()
    path.write_text(whole + "1,standard\n")
    with pytest.raises(UsageError, match=r"gemm.csv:4: not a line of `ckrules certify registers`"):
        registers.load(path, "gemm", BOOKS)
    path.write_text(whole[:-2])  # a shorter name of the compiler, and the next line behind it
    with pytest.raises(UsageError, match=r"gemm.csv:3: not a line of `ckrules certify registers`"):
        registers.load(path, "gemm", BOOKS)


def test_a_full_disk_leaves_no_part_of_a_line(tmp_path: Path) -> None:
    """What was cut off was joined with the next line, or read as other figures."""
    registers.collect(_request(8), _data(tmp_path), _Compiler())
    data, path = _data(tmp_path)["gemm"], tmp_path / "gemm.csv"
    before = path.read_bytes()
    row = next(iter(data.rows.values()))
    with (
        no_file_beyond(len(before) + 20),
        pytest.raises(UsageError, match=r"gemm\.csv: cannot write: File too large"),
    ):
        data.add(row)
    assert path.read_bytes() == before


def test_an_empty_file_gets_its_head(tmp_path: Path) -> None:
    (tmp_path / "gemm.csv").touch()
    registers.collect(_request(4), _data(tmp_path), _Compiler())
    assert len(_data(tmp_path)["gemm"].rows) == 2


def test_errors_are_of_what_has_code() -> None:
    point = BOOKS.of("standard").example({})
    said = BOOKS.of("standard").resources(point, ["vgprs"])["vgprs"]
    rows = [
        CompiledKernel(point, 1, Allocation(vgprs=2 * said)),
        CompiledKernel(point, 1, Allocation(vgprs=said, spills=3)),
        CompiledKernel(point, 1, Allocation("timeout")),
    ]
    cells = report.by_family_and_gpu(report.judged(rows, BOOKS))
    errors = cells["gemm", str(point["arch"])]
    assert (errors.kernels, errors.median, errors.near, errors.spill) == (2, 0.25, 0.5, 1)
    assert cells["all", ""] == errors
    assert list(report.lines(rows, BOOKS))[-1].startswith("no code (timeout): variant=standard")


def test_what_is_not_generated_does_not_end_a_run() -> None:
    options = BuildOptions(artifacts=(Artifact.DEVICE,))
    experts = {"variant": "moe_flatmm", "pipeline": "moe_flatmm", "stage": 1}
    point = BOOKS.of("moe_flatmm").example(experts | {"activation": "gelu"})
    found = registers.RegisterCompiler(BOOKS, options, 1).allocation(point)
    assert found == Allocation(registers.UNWRITTEN)


def test_a_folder_in_which_nothing_was_built_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no ckrules-results\.sqlite: build its kernels"):
        every([tmp_path], BOOKS, 1, {})


def test_an_artifact_that_was_cut_off_is_named(tmp_path: Path) -> None:
    """It was "not a 64-bit ELF file" of no file, and of another kernel's an internal error."""
    ((_, point),) = RegisterRequest(("gemm",), ("gfx942",), 1, 3, SMALL).points(BOOKS)
    Generator(BOOKS, tmp_path, ninja=False).run([Config(dict(point))])
    (entry,) = manifests(tmp_path)
    (place := entry.result(Artifact.DEVICE)).write_bytes(b"\x7fELF")
    with Results(tmp_path / FILE) as results:
        row = dict.fromkeys(results.COLUMNS) | {
            "name": entry.name, "arch": entry.arch, "artifact": "device", "ck": entry.ck,
            "flags": "-O3", "status": "ok", "artifact_digest": digest(b"\x7fELF and more"),
        }  # fmt: skip
        results.store(row)
    with pytest.raises(UsageError, match=rf"{place}: not what was built"):
        every([tmp_path], BOOKS, 1, _data(tmp_path))


def test_an_entry_is_found_under_another_spelling_of_its_kernel(tmp_path: Path) -> None:
    name = "grouped_conv_fwd_fp16_nhwgc_1d_compv3_cshuffle_intrawave_32x32x16_1x1x1_32x32x16"
    Generator(BOOKS, tmp_path, force=True, ninja=False).run(
        [config_from_name(name, BOOKS, arch="gfx942")]
    )
    (entry,) = manifests(tmp_path)
    read = config_from_mapping(entry.config, BOOKS)
    assert (entry.name, read.name) == (name, name.replace("nhwgc", "nwgc"))
    main = main_of(entry, read, BOOKS)
    assert main.entry.startswith(f"{name}__")
    assert main.entry.partition("__")[2] in entry.source(Artifact.DEVICE).read_text()


@pytest.mark.toolchain
@pytest.mark.certify
def test_the_compiler_is_asked_and_a_built_kernel_says_the_same(tmp_path: Path) -> None:
    require_toolchain()
    ((family, point),) = RegisterRequest(("gemm",), ("gfx942",), 1, 3, SMALL).points(BOOKS)
    options = BuildOptions(artifacts=(Artifact.DEVICE,))
    found = registers.RegisterCompiler(BOOKS, options, 1).allocation(point)
    said = BOOKS.of(str(point["variant"])).resources(point, ["lds_bytes"])
    assert family == "gemm"
    assert found.failure == ""
    assert min(found.vgprs, found.code_bytes, found.seconds) > 0
    assert found.lds_bytes >= said["lds_bytes"]

    broken = BOOKS.of("standard").example({"arch": "gfx942"}) | {"warp_tile_m": 48}
    configs = [Config(dict(point)), Config(broken)]
    Generator(BOOKS, tmp_path / "kernels", force=True, ninja=False).run(configs)
    with Results(tmp_path / "kernels" / FILE) as results, executor("local", 1) as (pool, _):
        summary = BuildSession(tmp_path / "kernels", options).run(results, pool, 1)
    assert (summary.built, summary.failed) == (1, 1)
    data = _data(tmp_path)
    (row,) = every([tmp_path / "kernels"], BOOKS, 7, data)
    assert (row.seed, row.allocation) == (7, replace(found, seconds=0.0))
    assert _data(tmp_path)["gemm"].rows == data["gemm"].rows == {data["gemm"].key(point): row}


def test_what_the_compiler_refused_is_not_legal() -> None:
    """The kept lines of kernels without code: the book has a rule for each."""
    refused = []
    for path in sorted((Path(__file__).parents[2] / "benchmarks/data/registers").rglob("*.csv")):
        for row in registers.load(path, path.stem, BOOKS).rows.values():
            # What took a compiler too long was not refused.
            if row.allocation.failure not in ("", registers.UNWRITTEN, FailureClass.TIMEOUT):
                refused.append(row.point)
    assert refused
    for point in refused:
        assert BOOKS.of(str(point["variant"])).violations(point), point
