"""Repairs: one field, in place, and nothing else of the file changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ckrules.checking.edits import edited
from ckrules.constraints import book
from ckrules.engine.rules import repairs
from ckrules.engine.rules.repairs import Repairs
from ckrules.readers.entries import Edit, Place
from tests.cli.run import legal, run, write

DATA = Path(__file__).parents[1] / "data" / "formats"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


SAMPLES = [
    "dispatcher.json", "registry.json", "nhwgc_fp16.conf", "kernel_sets.cpp", "own.json",
    "own.jsonl", "own.csv", "own.toml", "names.txt",
]  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_the_diffs_of_the_samples(
    name: str, folder: Path, golden: Callable[[str, str], None]
) -> None:
    (folder / name).write_bytes((DATA / name).read_bytes())
    shown = run("check", "--isolated", "--arch", "gfx942", "--diff", name)
    golden(f"diffs/{name}.diff", shown.stdout)
    assert shown.exit_code == int(bool(shown.stdout))
    assert (folder / name).read_bytes() == (DATA / name).read_bytes()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_repair_mends_and_is_made_once(name: str, folder: Path) -> None:
    (folder / name).write_bytes((DATA / name).read_bytes())
    words = ["check", "--isolated", "--arch", "gfx942", "--format", "json", name]
    before = json.loads(run(*words).stdout)
    run(*words, "--fix")
    after = json.loads(run(*words).stdout)
    assert len(after) <= len(before)
    assert {f["code"] for f in after} <= {f["code"] for f in before}
    assert run(*words, "--diff").stdout == ""


def test_everything_else_is_kept(folder: Path) -> None:
    text = json.dumps(legal(pipeline="compv4", double_smem_buffer=False), indent=3)
    data = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").replace(": ", " :  ").encode() + b"\r\n\r\n"
    path = write(folder, "a.json", data)
    Path(path).chmod(0o640)
    assert run("check", "--fix", path).exit_code == 0
    assert Path(path).read_bytes() == data.replace(b"double_smem_buffer\" :  false",
                                                   b"double_smem_buffer\" :  true")  # fmt: skip
    assert Path(path).stat().st_mode & 0o777 == 0o640


def test_a_field_that_holds_for_all_is_not_changed_for_one(folder: Path) -> None:
    kernels = [legal(pipeline="compv4"), legal()]
    path = write(folder, "a.json", {"double_smem_buffer": False, "kernels": kernels})
    assert run("check", "--fix", path).exit_code == 0
    document = json.loads(Path(path).read_text())
    assert document["double_smem_buffer"] is False
    assert document["kernels"][0]["double_smem_buffer"] is True
    assert "double_smem_buffer" not in document["kernels"][1]


def test_several_choices_are_no_repair(folder: Path) -> None:
    path = write(folder, "a.json", legal(num_groups_to_merge=3))
    result = run("check", "--diff", path)
    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.parametrize("form", ["concise", "full"])
def test_what_could_be_repaired_is_said(form: str, folder: Path) -> None:
    kernels = [legal(pipeline="compv4"), legal(tile_m=96), legal(tile_n=96), legal()]
    path = write(folder, "a.json", kernels)
    words = ["check", "--isolated", path, "--format", form]
    assert run(*words).stderr.splitlines()[-1] == (
        "1 repair is safe, apply it with --fix; 2 are unsafe, apply them with --fix --unsafe-fixes"
    )
    assert run(*words, "-q").stderr == ""
    assert run(*words, "--diff").stderr.splitlines()[-1] == "2 repairs more with --unsafe-fixes"
    last = run(*words, "--fix").stderr.splitlines()[-1]
    assert last == "2 repairs are unsafe, apply them with --fix --unsafe-fixes"
    assert "repairs are" not in run(*words, "--fix", "--unsafe-fixes").stderr


def test_a_diff_can_be_applied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of C++ that a CI runner would take for commands are escaped in CI jobs alone."""
    for name in ("CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"):
        monkeypatch.delenv(name, raising=False)
    row = json.dumps(legal(pipeline="compv4"))
    path = write(folder, "a.jsonl", f"{row}\n  ::group::x\n")
    shown = run("check", "--diff", path).stdout
    assert "\n   ::group::x\n" in shown
    monkeypatch.setenv("CI", "true")
    shown = run("check", "--diff", path).stdout
    assert "\n   \\x3a:group::x\n" in shown


def test_no_repairs_are_offered_that_cannot_be_made(folder: Path) -> None:
    text = json.dumps(legal(pipeline="compv4"))
    assert "--fix" not in run("check", text).stderr
    assert "--fix" not in run("check", "-", stdin=text).stderr
    path = write(folder, "a.json", legal(pipeline="compv4"))
    assert "--fix" in run("check", path).stderr
    assert "--fix" not in run("check", path, "--format", "jsonl").stderr


def test_what_is_ignored_or_hidden_is_not_repaired(folder: Path) -> None:
    path = write(folder, "a.json", legal(pipeline="compv4"))
    assert run("check", "--diff", "--ignore", "PIPE003", path).stdout == ""
    assert run("check", "--diff", path).stdout != ""


def test_repairs_of_one_field_mend() -> None:
    forward = book("forward")
    repairs = Repairs(forward)
    for changes in ({"tile_m": 96}, {"pipeline": "compv4"}, {"vector_a": 3}, {"pad_m": False}):
        point = {**forward.vocabulary.baseline, **changes}
        broken = {v.code for v in forward.violations(point)}
        for code in broken:
            change = repairs.nearest(point, forward[code], broken)
            assert change is not None
            left = {v.code for v in forward.violations({**point, change.field: change.value})}
            assert left < broken
            assert code not in left
            assert change.legal is (not left)


def test_edits_do_not_overlap() -> None:
    edits = [Edit(Place("a", 1, 2, 1, 4), "X"), Edit(Place("a", 1, 3, 1, 5), "Y"),
             Edit(Place("a", 2, 1, 2, 1), "Z")]  # fmt: skip
    assert edited("abcdef\nü".encode(), edits) == "aXdef\nZü".encode()


def test_duplicates_and_collisions_are_told(folder: Path) -> None:
    path = write(folder, "a.json", [legal(), legal(vector_a=4), legal()])
    said = run("check", "--extend-select", "CFG003", path).stdout
    assert "CFG001 file (warning): the same configuration as in line 2" in said
    assert "CFG003 file (warning): upstream's Python name grouped_conv_forward_fp16_2d_" in said


def test_inline_tables_are_repaired_in_place(folder: Path) -> None:
    fields = ", ".join(f"{k} = {json.dumps(v)}" for k, v in legal(pipeline="compv4").items())
    text = f"kernels = [\r\n  {{ {fields} }},  # why\r\n]\r\n"
    path = write(folder, "a.toml", text.encode())
    assert run("check", "--fix", "--input-format", "toml", path).exit_code == 0
    fixed = text.replace(" }", ", double_smem_buffer = true }")
    assert Path(path).read_bytes() == fixed.encode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_comment_stays_with_its_field(end: str, folder: Path) -> None:
    fields = [f"{k} = {json.dumps(v)}" for k, v in legal(pipeline="compv4").items()]
    text = end.join([*fields, ""]).replace(f"8{end}", f"8  # of the tuner{end}")
    path = write(folder, "a.toml", text.encode())
    assert run("check", "--fix", path).exit_code == 0
    assert (
        Path(path).read_bytes()
        == f"{text[: -len(end)]}{end}double_smem_buffer = true{end}".encode()
    )


def test_work_on_repairs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind so many findings nothing is tried any more, however many come."""
    monkeypatch.setattr(repairs, "EXACT", 2)
    monkeypatch.setattr(repairs, "TARGETED", 5)
    forward = book("forward")
    rule = forward["PIPE003"]
    found = Repairs(forward)
    counted = {"nearest": 0, "target": 0}
    for name in counted:
        real = getattr(found, name)

        def count(*given: object, name: str = name, real: Callable[..., object] = real) -> object:
            counted[name] += 1
            return real(*given)

        monkeypatch.setattr(found, name, count)
    fields = []
    for vector in (1, 2, 4, 8, 16) * 2:
        point = {**forward.vocabulary.baseline, "pipeline": "compv4", "vector_c": vector}
        fields.append(found.field(point, rule, {"PIPE003"}))
    assert counted == {"nearest": 2, "target": 3}
    assert fields == ["double_smem_buffer"] * 5 + [""] * 5
    assert not found.seeks


@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_a_field_that_is_repaired_twice_has_its_last_value(suffix: str, folder: Path) -> None:
    """Of two edits of one place the first in the alphabet was made."""
    given = legal(
        tile_m=96, tile_n=320, wave_m=5, wave_n=9, pipeline="compv4", double_smem_buffer=False
    )
    if suffix == "json":
        text = json.dumps(given)
    else:
        text = "".join(f"{k} = {json.dumps(v)}\n" for k, v in given.items())
    path = Path(write(folder, f"a.ck.{suffix}", text))
    forward = book("forward")
    point = forward.point({**forward.vocabulary.baseline, **given})
    made = Repairs(forward).every(point, [v.code for v in forward.violations(point)], unsafe=True)
    twice = [r.value for r in made if r.field == "wave_n"]
    assert len(twice) > 1
    assert str(twice[0]) < str(twice[-1])
    run("check", "--isolated", "--fix", "--unsafe-fixes", str(path))
    name = json.loads(run("check", "--isolated", "--verdicts", str(path)).stdout)["name"]
    assert f"x{twice[-1]}x1_" in name
