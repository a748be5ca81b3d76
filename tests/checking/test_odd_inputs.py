"""Parts of files, JSON as an argument, odd files and settings, and what a baseline keeps."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.run import ILLEGAL, legal, run, write

N = ILLEGAL


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -- parts of files and JSON as an argument ----------------------------------------------------


def test_one_configuration_of_a_file(folder: Path) -> None:
    write(folder, "a.json", {"kernels": [legal(), legal(tile_m=96), legal(tile_n=96), {"x": 1}]})
    result = run("check", "a.json#/kernels/1")
    assert {line.split()[1][:4] for line in result.stdout.splitlines()} >= {"TILE"}
    assert result.stderr.startswith("1 configuration: 0 legal, 1 illegal")
    assert run("check", "a.json#/kernels/0").exit_code == 0
    assert run("why", "a.json#/kernels/0").exit_code == 0
    assert "4: " not in run("fix", "a.json#/kernels/0").stderr
    missing = run("check", "a.json#/kernels/7")
    assert missing.exit_code == 2
    said = "a.json: error: no configuration /kernels/7: its configurations are /kernels/0 to"
    assert missing.stderr.startswith(said)
    assert run("check", "a.json#/kernels/3").exit_code == 2
    for name in ("", "kernels/"):  # ends with the key "", which nothing has
        missing = run("check", f"a.json#/{name}")
        assert missing.stderr.startswith(f"a.json: error: no configuration /{name}: its config")


def test_lines_have_no_pointers(folder: Path) -> None:
    write(folder, "a.jsonl", json.dumps(legal()) + "\n")
    missing = run("check", "a.jsonl#/0")
    said = (
        "a.jsonl: error: no configuration /0: those of jsonl have no pointers: "
        "give the kernel's name, or a file with it alone\n"
    )
    assert missing.stderr.startswith(said)


@pytest.mark.parametrize("place", ["1", "1:9"])
@pytest.mark.parametrize("command", ["check", "fix", "why"])
def test_a_line_as_reports_write_it_is_not_taken_for_a_file(
    command: str, place: str, folder: Path
) -> None:
    write(folder, "a.jsonl", json.dumps(legal()) + "\n")
    done = run(command, f"a.jsonl:{place}")
    assert done.exit_code == 2
    assert (
        "a line of a file, expected a file: for one configuration give the kernel's name, or a "
        "file with it alone\n"
    ) in done.stderr
    assert "no such file" in run(command, f"b.jsonl:{place}").stderr


def test_a_part_of_a_file_that_is_called_like_a_kernel(folder: Path) -> None:
    write(folder, "gemm_list.json", {"kernels": [legal(), legal(tile_m=96)]})
    assert run("check", "gemm_list.json#/kernels/0").exit_code == 0
    assert run("check", "gemm_list.json#/kernels/1").stderr.startswith("1 configuration: 0 legal")


@pytest.mark.parametrize("name", ["a.json", "a.ck.toml"])
def test_findings_show_the_pointer_that_is_read(folder: Path, name: str) -> None:
    text = json.dumps({"kernels": [legal(), legal(tile_m=96)]})
    if name.endswith("toml"):
        text = "".join(
            "[[kernels]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in kernel.items())
            for kernel in json.loads(text)["kernels"]
        )
    write(folder, name, text)
    shown = run("check", "--format", "full", name).stdout
    assert f"note: {name}#/kernels/1: " in shown
    found = json.loads(run("check", "--format", "json", name).stdout)[0]
    assert run("check", f"{name}#{found['pointer']}").exit_code == 1


GEMM = "gemm_fp16_rcr_basic_v1_cshuffle_intrawave_False_False_False_False_6x64x16_1x1x1_4x64x16"


@pytest.mark.parametrize(
    "name", [GEMM, "grouped_conv_fwd_fp16_nhwgc_2d_mem_default_intrawave_96x64x32_2x1x1_32x32x16"]
)
def test_a_name_is_not_said_again(name: str) -> None:
    """Whatever the family: the place of the finding is the name itself."""
    shown = run("check", "--arch", "gfx942", "--format", "full", name).stdout
    assert f"--> {name}" in shown
    assert "note: " + name not in shown


def test_cells_beside_a_name_are_of_its_variant(folder: Path) -> None:
    """A word of a table becomes a Boolean or number of the kernel that the row names."""
    name = GEMM.replace("False_6x64x16_1x1x1_4x64x16", "True_64x64x16_2x2x1_32x32x8")
    write(folder, "g.csv", f"name,arch,persistent\n{name},gfx942,true\n")
    found = run("check", "g.csv", "--format", "jsonl")
    assert "could not be read" not in found.stderr
    write(folder, "g.csv", f"name,arch,persistent\n{name},gfx942,false\n")
    assert "the name says another persistent" in run("check", "g.csv").stderr


def test_json_is_an_argument_as_for_why(folder: Path) -> None:
    result = run("check", json.dumps(legal(tile_m=96)))
    assert result.exit_code == 1
    assert result.stdout.startswith("<argument>:1:")
    assert "tile_m" in run("check", "--format", "full", json.dumps(legal(tile_m=96))).stdout
    assert run("check", '{"variant": ').stderr.startswith("<argument>:1:13: error: not JSON")


# -- texts that are odd ------------------------------------------------------------------------


def test_repairs_leave_lines_that_are_not_utf_8(folder: Path) -> None:
    line = json.dumps(legal(num_wave_groups=2)).encode()
    path = folder / "a.jsonl"
    fixed = line.replace(b'"num_wave_groups": 2', b'"num_wave_groups": 1')
    path.write_bytes(b"\xe9\n" + line + b"\n\xe9")
    assert run("check", "--diff", "--input-format", "jsonl", "a.jsonl").exit_code == 1
    run("check", "--fix", "--input-format", "jsonl", "a.jsonl")
    assert path.read_bytes() == b"\xe9\n" + fixed + b"\n\xe9"


TABLE = "[[kernels]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in legal().items())


@pytest.mark.parametrize("text", [TABLE, "# kernels\n" + TABLE, '[["kernels"]]\n' + TABLE[12:]])
def test_a_table_in_the_first_line_is_toml(folder: Path, text: str) -> None:
    assert run("check", write(folder, "m.ck.toml", text)).stderr == "1 configuration: 1 legal\n"


def test_yaml_is_refused_by_name(folder: Path) -> None:
    result = run("check", write(folder, "a.yaml", "variant: forward\n"))
    assert (result.exit_code, "YAML is not read" in result.stderr) == (2, True)
    assert run("check", write(folder, "b.yaml", legal())).exit_code == 0


def test_what_is_around_a_list_is_named_once_where_it_stands(folder: Path) -> None:
    text = json.dumps({"kernels": [legal(arch=None)], "arch": "gfx942", "tags": ["a"]})
    result = run("check", write(folder, "a.json", text))
    assert result.exit_code == 2
    at = text.index('"tags') + 1
    assert result.stderr.startswith(f"{folder}/a.json:1:{at}: error: unknown field 'tags'")


def test_a_folder_with_odd_files(folder: Path) -> None:
    write(folder, "good.ck.json", legal())
    os.mkfifo("p.conf")
    os.symlink("loop.ck.json", "loop.ck.json")
    os.symlink(".", "circle")
    result = run("check", ".")
    assert result.exit_code == 2
    lines = sorted(result.stderr.splitlines())
    assert lines[0] == "1 configuration: 1 legal; 2 could not be read"
    assert lines[1].startswith("loop.ck.json: error: cannot read the file: ")
    assert lines[2] == "p.conf: error: cannot read the file: a pipe, expected a file"


@pytest.mark.parametrize("words", [["--baseline"], ["--config"], ["--arch-file"]])
def test_devices_are_not_read(words: list[str]) -> None:
    result = run("check", *words, "/dev/zero", N)
    assert result.exit_code == 2
    assert "a device, expected a file" in result.stderr


# -- baselines ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"entries": ' + "[" * 100_000,
        '{"entries": [{"file": "a", "configuration": "", "code": "X", "count": 1e999}]}',
        '{"entries": [{"file": "a", "configuration": "", "code": "X", "count": true}]}',
        '{"entries": [{"file": "a", "configuration": "", "code": "X", "count": 0}]}',
        '{"entries": 3}',
        '{"entries": ' + "9" * 5000 + "}",
    ],
)
def test_a_baseline_that_is_none(folder: Path, text: str) -> None:
    write(folder, "base.json", text)
    result = run("check", "--arch", "gfx942", "--baseline", "base.json", N)
    assert (result.exit_code, "not a baseline" in result.stderr) == (2, True)


def test_names_that_are_not_utf_8_survive_in_a_baseline(folder: Path) -> None:
    entry = {"file": "a\ud800", "configuration": "", "code": "TILE001", "count": 1}
    (folder / "base.json").write_text(json.dumps({"version": 1, "entries": [entry]}))
    write(folder, "n.names", N + "\n")
    words = ["check", "--arch", "gfx942", "--baseline", "base.json"]
    assert run(*words, "--write-baseline", "n.names").exit_code == 0
    assert entry in json.loads((folder / "base.json").read_text())["entries"]


def entries(folder: Path) -> set[str]:
    found = json.loads((folder / "ckrules-baseline.json").read_text())["entries"]
    return {e["code"] for e in found}


def test_a_baseline_keeps_what_was_not_looked_at(folder: Path) -> None:
    write(folder, "n.names", N + "\n")
    words = ["check", "--arch", "gfx942", "n.names", "--baseline", "ckrules-baseline.json"]
    run(*words, "--write-baseline")
    every = entries(folder)
    assert len(every) > 1
    for more in (["--select", "OP"], ["--ignore", "TILE001"], ["--profile", "dispatcher"]):
        for way in ("--prune-baseline", "--write-baseline"):
            run(*words, *more, way)
            assert every <= entries(folder)
        assert "BASE001" not in run(*words, *more).stdout
    write(folder, "n.names", N + "\n{\n")  # no longer read as a whole
    run(*words, "--prune-baseline")
    assert entries(folder) >= every
    write(folder, "n.names", N.replace("_96x", "_128x") + "\n")
    assert "BASE001" in run(*words).stdout


def test_nothing_is_written_for_what_cannot_be_read(folder: Path) -> None:
    write(folder, "n.names", "grouped_conv_x\n")
    result = run("check", "--write-baseline", "n.names")
    assert result.exit_code == 2
    assert "n.names:1:14: error: " in result.stderr
    assert [p.name for p in folder.iterdir()] == ["n.names"]


def test_the_summary_says_what_became_of_each_configuration(folder: Path) -> None:
    write(folder, "base.names", N + "\n")
    words = ["check", "--arch", "gfx942", "--select", "TILE", "--baseline", "b.json"]
    run(*words, "--write-baseline", "base.names")
    write(folder, "more.names", f"{N}\n{N.replace('_96x', '_128x')}\n")
    ignored = ["--ignore", "TILE001"]
    said = run(*words, "base.names", "more.names").stderr
    assert said == "3 configurations: 1 legal, 1 illegal (1 violation), 1 in the baseline\n"
    assert run(*words, *ignored, "more.names").stderr == "2 configurations: 1 legal, 1 ignored\n"


# -- settings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ('ignore = ["CFG001", "TILE0001"]', "1:21", "unknown code 'TILE0001': did you mean"),
        ('[per-file-ignores]\n"a" = ["NO"]', "2:8", "unknown code 'NO'"),
        ('[severity]\nTILE001 = "bad"', "2:1", "'bad' is not one of error, warning, note"),
        ('[severity]\nTILE01 = "note"', "2:1", "unknown code 'TILE01'"),
        ('\narch = "gfx000"', "2:8", "unknown arch 'gfx000'"),
        ('profile = "legl"', "1:11", "unknown profile 'legl': did you mean 'legal'"),
        ('ck = "1"', "1:6", "unknown CK version '1'"),
        ('tile-reading = "x"', "1:16", "unknown tile-reading 'x'"),
        ('required-version = ">=99"', "1:20", "requires ckrules >=99"),
        ("a = " + "[" * 3000 + "]" * 3000, "1:1", "nested too deeply"),
        ("a = " + "[" * 150 + "]" * 150, "1:1", "nested too deeply"),
        ("a" + ".a" * 5000 + " = 1", "1:1", "more than 1,000 dots in one line"),
    ],
)
def test_faults_of_settings_are_placed(folder: Path, text: str, where: str, said: str) -> None:
    write(folder, "ckrules.toml", text)
    result = run("check", write(folder, "a.json", legal()))
    assert result.exit_code == 2
    assert f"ckrules.toml:{where}: " in result.stderr
    assert said in result.stderr


def test_a_document_with_one_object_a_line_is_no_jsonl(tmp_path: Path) -> None:
    """The first line ends in an open bracket, which no line of JSON Lines does."""
    two = [json.dumps(legal()), json.dumps(legal(tile_m=96))]
    path = write(tmp_path, "kernels.json", '{"kernels":[\n' + ",\n".join(two) + "\n]}\n")
    result = run("check", path)
    assert result.stderr.startswith("2 configurations: 1 legal, 1 illegal")
    assert f"{path}:3:" in result.stdout


@pytest.mark.parametrize("command", ["check", "why", "fix"])
def test_an_empty_argument_is_not_standard_input(command: str) -> None:
    result = run(command, "", stdin=json.dumps(legal()))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "an empty argument, expected a file or a kernel's name" in result.stderr
