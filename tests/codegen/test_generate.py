"""Generation: what is written, that it is the same every time, and what is refused."""

from __future__ import annotations

import doctest
import inspect
import json
import re
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

from ckrules import codegen
from ckrules.arch import load, load_all
from ckrules.codegen import project
from ckrules.codegen.conv import cpp_names as words
from ckrules.codegen.generate import MANIFEST, GenerationReport, Generator, kernel_files
from ckrules.codegen.model import KernelModel, generation_of
from ckrules.codegen.render import render
from ckrules.codegen.stamp import Stamp, current, rule_book_version
from ckrules.codegen.writer import Tree
from ckrules.constraints import book
from ckrules.constraints.conv.names import PIPELINES
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.kernels.families import family_of
from ckrules.kernels.names import format_name
from ckrules.support.errors import UsageError
from tests.cli.run import ILLEGAL, LEGAL, run
from tests.codegen.points import DEPTHWISE, FORWARD, GOLDEN
from tests.helpers.differences import differences
from tests.helpers.full_disk import no_file_beyond

STAMP = Stamp("0.0.0", "test")
TEMPLATES = Path(codegen.__file__).parent
LABELS = [(ck, label) for ck, points in GOLDEN.items() for label in points]


def kernel(ck: str, point: dict[str, Any]) -> KernelModel:
    """A kernel with some made-up resources."""
    made_up = {"lds_bytes": 32768, "wave_size": 64, "adds_atomically": True}
    values = {**book(point["variant"]).resources(point), **made_up}
    generation = generation_of(family_of(point["variant"]))
    return generation.kernel(point, format_name(point), ck, values)


def generate(
    out: Path, *points: dict[str, Any], ck: str = "2025.11", **extra: Any
) -> GenerationReport:
    """One run of the generator."""
    extra = {"stamp": STAMP, **extra}
    return Generator(Books(ck), out, **extra).run(Config(p) for p in points)


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def scheduler(point: dict[str, Any], ck: str) -> tuple[str, str]:
    """What the configuration and the pipeline's problem of a kernel's header say."""
    texts = dict(kernel_files(kernel(ck, point), STAMP))
    (header,) = (t for path, t in texts.items() if path.endswith(".hpp") and "/" not in path)
    own = re.findall(r"Scheduler = ck_tile::GemmPipelineScheduler::(\w+)", header)
    given = re.findall(r"GemmTraits,\s+(?:Config::(\w+)|\S+::(\w+)),", header)
    return own[0], "".join(given[0])


def test_basic_v1_gets_a_block_gemm_that_reads_lds() -> None:
    """With Intrawave in its problem basic_v1 of CK 2025.11 is zero everywhere."""
    basic = {**FORWARD, "pipeline": "basic_v1"}
    assert scheduler(basic, "2025.11") == ("Intrawave", "Default")
    assert scheduler(basic, "2026.06") == ("Intrawave", "Scheduler")
    assert scheduler({**basic, "scheduler": "interwave"}, "2025.11") == ("Interwave", "Scheduler")
    assert scheduler(FORWARD, "2025.11") == ("Intrawave", "Scheduler")


def shown(ck: str, label: str) -> dict[str, str]:
    """The files of a kernel by name, with NAME and POINT in place of what they always repeat."""
    k = kernel(ck, GOLDEN[ck][label])
    point = json.dumps(GOLDEN[ck][label])
    return {
        Path(path).name.replace(k.name, "NAME"): text.replace(k.name, "NAME").replace(
            f"// {point}\n", "// POINT\n", 1
        )
        for path, text in kernel_files(k, STAMP)
    }


@pytest.mark.parametrize(("ck", "label"), LABELS)
def test_golden(ck: str, label: str, golden: Callable[[str, str], None]) -> None:
    """One kernel is whole, the first of a release as it differs from it, others from that one."""
    first = next(iter(GOLDEN[ck]))
    texts = shown(ck, label)
    if (ck, label) == LABELS[0]:
        for name, text in texts.items():
            golden(f"codegen/{ck}/{label}/{name}", text)
    else:
        base = shown(*LABELS[0]) if label == first else shown(ck, first)
        golden(f"codegen/{ck}/{label}.diff", differences(base, texts))


def covering(ck: str) -> dict[str, str]:
    """The files that cover the golden kernels of a release."""
    kernels = [kernel(ck, p) for p in GOLDEN[ck].values()]
    gpu = load(kernels[0].arch)
    ninja = project.ninja_file(kernels, STAMP, gpu)
    return {**dict(project.files(kernels, STAMP, gpu)), "build.ninja": ninja}


def is_header(path: str) -> bool:
    """Of the headers beside kernels, which are the same for every release."""
    return path.startswith("runtime/") and not path.endswith(".sh")


def test_golden_project(golden: Callable[[str, str], None]) -> None:
    """Those of the first release are whole, the other's as they differ."""
    (first, old), (other, new) = (
        (ck, {p: t for p, t in covering(ck).items() if not is_header(p)}) for ck in GOLDEN
    )
    for path, text in old.items():
        golden(f"codegen/{first}/project/{path}", text)
    golden(f"codegen/{other}/project.diff", differences(old, new))


@pytest.mark.parametrize("ck", list(GOLDEN))
def test_golden_headers(ck: str, golden: Callable[[str, str], None]) -> None:
    """As they differ from their templates, which say nearly all of them."""
    made = {p: t for p, t in covering(ck).items() if is_header(p)}
    sources = {f"runtime/{p.name}": p for p in TEMPLATES.rglob("runtime/*.j2")}
    templates = {p: sources[f"{p}.j2"].read_text(encoding="utf-8") for p in made}
    golden("codegen/runtime.diff", differences(templates, made))


def test_differences_say_every_text() -> None:
    """Also where a file is new or gone, or a line has no end."""
    old = {"a": "1\n2\n", "gone": "x\n"}
    said = {
        differences(old, new)
        for new in (
            old,
            {**old, "a": "1\n2"},
            {"a": "1\n2\n"},
            {**old, "new": "x\n"},
            {**old, "a": "1\n2\n2\n"},
        )
    }
    assert len(said) == 5
    assert doctest.testmod(inspect.getmodule(differences)).failed == 0


@pytest.mark.parametrize(("ck", "label"), LABELS)
def test_every_file_begins_with_its_configuration(ck: str, label: str) -> None:
    point = GOLDEN[ck][label]
    for _, text in kernel_files(kernel(ck, point), STAMP):
        first, second = text.splitlines()[:2]
        assert json.loads(first.removeprefix("// ")) == point
        assert second.startswith("// ckrules 0.0.0, rule book test, grouped_conv_")


@pytest.mark.parametrize("ck", list(words.PIPELINES))
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("variant", ["forward", "bwd_data", "bwd_weight"])
def test_every_pipeline_and_direction_has_templates(ck: str, pipeline: str, variant: str) -> None:
    point = {**FORWARD, "pipeline": pipeline, "variant": variant}
    files = dict(kernel_files(kernel(ck, point), STAMP))
    text = "".join(files.values())
    assert words.PIPELINES[ck][pipeline].cls in text
    assert f"GroupedConvolution{words.DIRECTIONS[variant].kernel}Kernel" in text
    assert len(files) == 5
    assert "{{" not in text
    assert "None" not in re.sub(r"Epilogue::None", "", text)


def test_the_names_of_entries_are_those_that_the_host_library_looks_for(tmp_path: Path) -> None:
    for label, point in GOLDEN["2025.11"].items():
        files = dict(kernel_files(kernel("2025.11", point), STAMP))
        device, host = (next(t for p, t in files.items() if f".{k}." in p) for k in
                        ("device", "host"))  # fmt: skip
        compiled = re.findall(r"^ {4}(\w+__\w+)\(", device, re.MULTILINE)
        assert compiled == re.findall(r'^ {4}"(\w+__\w+)",$', host, re.MULTILINE), label


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    first = generate(tmp_path, FORWARD)
    times = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    second = generate(tmp_path, FORWARD)
    assert (second.written, second.unchanged) == (0, first.written)
    assert times == {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}


def test_two_runs_at_once_come_one_after_the_other(tmp_path: Path) -> None:
    """Of a new folder, too, where the second found a list of kernels that nobody had written."""
    second = GOLDEN["2025.11"]["bwd_data_3d"]
    generate(tmp_path / "first time", FORWARD, second)  # takes longer
    with ThreadPoolExecutor(1) as pool:
        other: list[Future[GenerationReport]] = []

        def meanwhile(_: int) -> None:
            other.append(pool.submit(generate, tmp_path / "out", second))
            wait(other, 1)

        books = Books("2025.11")
        Generator(books, tmp_path / "out", stamp=STAMP).run([Config(FORWARD)], meanwhile)
        assert [f.result().kernels for f in other] == [1]
    listed = (tmp_path / "out" / MANIFEST).read_text().splitlines()
    assert [json.loads(line)["name"] for line in listed] == [format_name(second)]


def test_output_is_the_same_in_every_folder_and_order_of_fields(tmp_path: Path) -> None:
    generate(tmp_path / "a", FORWARD)
    generate(tmp_path / "b", dict(FORWARD))
    assert content(tmp_path / "a") == content(tmp_path / "b")
    assert not re.search(rb"20\d\d-\d\d-\d\d", b"".join(content(tmp_path / "a").values()))


def test_several_gpus_have_a_folder_each(tmp_path: Path) -> None:
    report = generate(tmp_path, FORWARD, {**FORWARD, "arch": "gfx90a", "warp_tile_k": 8})
    assert [f.name for f in report.folders] == ["gfx90a", "gfx942"]
    assert (tmp_path / "gfx942" / MANIFEST).is_file()


def test_illegal_points_need_force(tmp_path: Path) -> None:
    bad = {**FORWARD, "tile_m": 96}
    report = generate(tmp_path, bad)
    assert (report.kernels, report.refused[0].broken[0].code) == (0, "TILE001")
    assert content(tmp_path) == {}
    report = generate(tmp_path, bad, force=True)
    assert report.kernels == 1
    assert json.loads((tmp_path / MANIFEST).read_text())["legal"] is False


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.put("a", "old\n")
    with no_file_beyond(3), pytest.raises(UsageError, match="a: cannot write: File too large"):
        tree.put("a", "new\n")
    assert content(tmp_path) == {"a": b"old\n"}
    assert tree.put("a", "new\n")
    assert content(tmp_path) == {"a": b"new\n"}


def test_undefined_names_in_templates_are_errors() -> None:
    folders = generation_of(family_of("forward")).templates
    with pytest.raises(UndefinedError):
        render("unit.cpp.j2", {"stamp": STAMP}, folders)


def test_depthwise_came_later() -> None:
    with pytest.raises(UsageError, match="no depthwise"):
        kernel("2025.11", DEPTHWISE)


def test_the_rule_book_version_is_a_hash_and_the_release() -> None:
    assert re.fullmatch(r"2025\.11\+[0-9a-f]{12}", rule_book_version("2025.11"))
    assert current("2026.06").rules != current("2025.11").rules


def test_command_line(tmp_path: Path) -> None:
    line = json.dumps({**LEGAL, "ndim": 2})
    done = run("generate", "-", "-o", str(tmp_path), "--ck", "2025.11", stdin=line)
    assert done.exit_code == 0, done.stderr
    assert done.stderr.startswith("1 kernel; ")
    assert json.loads((tmp_path / MANIFEST).read_text())["config"]["arch"] == "gfx942"
    again = run("generate", "-", "-o", str(tmp_path), "--ck", "2025.11", stdin=line)
    assert "0 files written" in again.stderr


@pytest.mark.parametrize("name", ["CMakeLists.txt", "Makefile", "build.ninja", "NAME.cpp"])
def test_files_of_others_stay(name: str, tmp_path: Path) -> None:
    """Where no run has finished; files of one that was interrupted are replaced."""
    line = json.dumps({**LEGAL, "ndim": 2})
    words_ = ("generate", "-", "-o", str(tmp_path / "out"), "--ck", "2025.11", "--ninja", "--force")
    assert run(*words_, stdin=line).exit_code == 0
    manifest = tmp_path / "out" / MANIFEST
    path = tmp_path / "out" / name.replace("NAME", json.loads(manifest.read_text())["name"])
    old = path.read_text()
    manifest.unlink()
    path.write_text(f"{old} ")
    assert run(*words_, stdin=line).exit_code == 0
    assert path.read_text() == old
    manifest.unlink()
    path.write_text("mine")
    done = run(*words_, stdin=line)
    text = "ckrules did not write it: move it away, or choose another folder"
    assert (done.exit_code, done.stderr) == (2, f"error: {path}: {text}\n")
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["Makefile", "build.ninja", "runtime/ckrules_device.h", "NAME"])
@pytest.mark.parametrize("gpus", [("gfx942",), ("gfx90a", "gfx942")])
def test_nothing_is_written_beside_a_file_of_others(
    name: str, gpus: tuple[str, ...], tmp_path: Path
) -> None:
    """Of several GPUs the folder of the first one would have been filled."""
    lines = "".join(json.dumps({**LEGAL, "ndim": 2, "arch": gpu}) + "\n" for gpu in gpus)
    words_ = ("generate", "-", "--ck", "2025.11", "--force", "-o")
    assert run(*words_, str(tmp_path / "other"), stdin=lines).exit_code == 0
    listed = next((tmp_path / "other").rglob(MANIFEST))
    if name == "NAME":
        name = json.loads(listed.read_text())["name"] + ".device.cpp"
    home = tmp_path / "out" / ("gfx942" if len(gpus) > 1 else "")
    path = home / name
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    done = run(*words_, str(tmp_path / "out"), stdin=lines)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {path}: ckrules did not write it: ")
    assert [p for p in (tmp_path / "out").rglob("*") if p.is_file()] == [path]


def test_it_says_how_long_compilers_will_take(tmp_path: Path) -> None:
    few, many = (
        {**LEGAL, "ndim": 2, "pipeline": pipeline, "double_smem_buffer": False}
        for pipeline in ("basic_v1", "mem")
    )
    found = []
    for name, config in (("few", few), ("many", many)):
        told = ["-o", str(tmp_path / name), "--force", "--ck", "2025.11"]
        done = run("generate", "-", *told, stdin=json.dumps(config))
        assert "of a processor (estimate)" in done.stderr
        line = json.loads((tmp_path / name / MANIFEST).read_text())
        found.append(line["device_seconds"])
    one, several = found
    assert 5 <= one <= 30
    assert several >= 1.5 * one  # mem has four entries here


def test_command_line_says_what_it_refuses(tmp_path: Path) -> None:
    done = run("generate", ILLEGAL, "--arch", "gfx942", "-o", str(tmp_path))
    assert done.exit_code == 1
    assert "TILE001" in done.stderr
    assert run("generate", "no-such-file", "-o", str(tmp_path)).exit_code == 2


def own_gpu(folder: Path, *macros: str) -> Path:
    """A GPU file like that of gfx942, of another name and with these macros."""
    text = (files("ckrules.arch") / "data" / "gfx942.toml").read_text("utf-8")
    text = text.replace('name = "gfx942"', 'name = "gfx949"')
    text = re.sub(r"^defines = .*$", f"defines = {json.dumps(macros)}", text, flags=re.MULTILINE)
    path = folder / "gfx949.toml"
    path.write_text(text, "utf-8")
    return path


def test_the_macros_of_a_gpu_file_are_in_what_is_generated(tmp_path: Path) -> None:
    gpu = own_gpu(tmp_path, "MY_MACRO=1", "OTHER")
    line = json.dumps({**FORWARD, "arch": "gfx949"})
    out = tmp_path / "out"
    words_ = ("-o", str(out), "--ck", "2025.11", "--arch-file", str(gpu), "--ninja")
    done = run("generate", "-", *words_, stdin=line)
    assert done.exit_code == 0, done.stderr
    for name in ("build.ninja", "Makefile", "CMakeLists.txt"):
        text = re.sub(r"\$\n *", "", (out / name).read_text())
        assert "-DMY_MACRO=1 -DOTHER " in text, name
    assert json.loads((out / MANIFEST).read_text())["defines"] == ["MY_MACRO=1", "OTHER"]


def test_every_gpu_of_the_package_gives_its_macros() -> None:
    for gpu in load_all():
        assert project.defines(gpu) == [f"-D{macro}" for macro in gpu.defines]
        assert set(project.defines(gpu)) <= set(project.flags("2026.06", gpu))
    assert "-DUSE_NEW_UNIFIED_FRAMEWORK=0" in project.defines(load("gfx1250"))
