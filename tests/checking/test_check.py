"""``ckrules check``: what is read, what is said, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ckrules.kernels.library import defaults
from tests.cli.run import ILLEGAL, legal, run, write

NAME = ILLEGAL.removesuffix("_vec4_8_8")


def test_a_name_is_judged_with_its_numbers() -> None:
    result = run("check", "--arch", "gfx942", ILLEGAL)
    assert result.exit_code == 1
    said = "tile_m = 96 is not a multiple of wave_m * warp_tile_m = 2 * 32 = 64"
    told = f"the waves do not cover the tile along M: {said}"
    assert f"{ILLEGAL}: TILE001 compile: {told}\n" in result.stdout
    assert result.stderr.startswith("1 configuration: 0 legal, 1 illegal (")


def test_target_features_are_ignored() -> None:
    plain = run("check", "--arch", "gfx942", ILLEGAL)
    assert run("check", "--arch", "gfx942:sramecc+:xnack-", ILLEGAL).stdout == plain.stdout


def test_a_legal_configuration(tmp_path: Path) -> None:
    result = run("check", write(tmp_path, "a.json", legal()))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "1 configuration: 1 legal\n"


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("object.json", lambda c: json.dumps(c)),
        ("list.json", lambda c: json.dumps([c])),
        ("kernels.json", lambda c: json.dumps({"kernels": [c]})),
        ("instances.json", lambda c: json.dumps({"instances": [c]}, indent=3)),
        ("labelled.json", lambda c: json.dumps({"config": c, "ok": True})),
        ("lines.jsonl", lambda c: json.dumps(c) + "\n"),
        ("lines.txt", lambda c: "\n\n" + json.dumps(c) + "\n"),
        ("bom.json", lambda c: "\ufeff" + json.dumps(c)),
        ("crlf.jsonl", lambda c: json.dumps(c) + "\r\n"),
        ("lines.json", lambda c: json.dumps(c) + "\n"),
    ],
)
def test_every_form_of_json(
    tmp_path: Path, name: str, make: Callable[[dict[str, object]], str]
) -> None:
    path = write(tmp_path, name, make(legal(tile_m=96)))
    result = run("check", "--format", "jsonl", path)
    assert result.exit_code == 1
    first = json.loads(result.stdout.splitlines()[0])
    assert (first["code"], first["source"]) == ("TILE001", path)
    text = Path(path).read_text(encoding="utf-8-sig").splitlines()
    assert text[first["line"] - 1][first["column"] - 1 :].startswith("96")


@pytest.mark.parametrize("first", [True, False])
def test_fields_beside_a_list_hold_for_its_entries(tmp_path: Path, first: bool) -> None:
    kernels = {"kernels": [legal(arch=None), legal(arch="gfx950")]}
    shared = {"arch": "gfx90a"}
    document = {**shared, **kernels} if first else {**kernels, **shared}
    result = run("check", "--verdicts", write(tmp_path, "a.json", document))
    assert [json.loads(v)["arch"] for v in result.stdout.splitlines()] == ["gfx90a", "gfx950"]


def test_a_file_of_names(tmp_path: Path) -> None:
    text = f"# comment\n\n  {NAME}  # why\r\n{NAME.replace('96x', '128x')}\n"
    path = write(tmp_path, "names.txt", text)
    result = run("check", "--arch", "gfx942", "--format", "jsonl", path)
    assert result.exit_code == 1
    first = json.loads(result.stdout.splitlines()[0])
    # the field to change: waves are cheaper than the block tile
    assert (first["line"], first["column"]) == (3, 3 + NAME.index("2x2x1"))


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (NAME + "\n", "<stdin>:1:"),
        (json.dumps(legal(tile_m=96)), "<stdin>:1:"),
        (json.dumps([legal(tile_m=96)], indent=1), "<stdin>:"),
        ("# names\n" + NAME, "<stdin>:2:"),
    ],
)
def test_standard_input(stdin: str, said: str) -> None:
    result = run("check", "--arch", "gfx942", "-", stdin=stdin)
    assert result.exit_code == 1
    assert result.stdout.startswith(said)
    named = run("check", "--arch", "gfx942", "-", "--stdin-filename", "x.txt", stdin=stdin)
    assert named.stdout == result.stdout.replace("<stdin>", "x.txt")


def test_verdicts_keep_the_order_of_the_input(tmp_path: Path) -> None:
    entries = [legal(), legal(tile_m=96), {"variant": "forward"}, legal()]
    path = write(tmp_path, "a.jsonl", "".join(json.dumps(e) + "\n" for e in entries))
    result = run("check", "--verdicts", "--format", "jsonl", "--resources", path, ILLEGAL)
    verdicts = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 2
    assert [v["legal"] for v in verdicts] == [True, False, False, True, False]
    assert [v["source"] for v in verdicts[:4]] == [f"{path}:{n}" for n in (1, 2, 3, 4)]
    assert {"code", "kind", "message"} <= verdicts[1]["violations"][0].keys()
    assert "missing fields" in verdicts[2]["error"]
    assert verdicts[0]["resources"]["threads"] == 256
    assert verdicts[0]["name"].startswith("grouped_conv_fwd_fp16_nhwgc_2d_compv3")
    assert "no GPU" in verdicts[4]["error"]


def test_json_is_one_list(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", [legal(), legal(tile_m=96)])
    violations = json.loads(run("check", "--format", "json", path).stdout)
    assert {v["code"] for v in violations} >= {"TILE001"}
    verdicts = json.loads(run("check", "--format", "json", "--verdicts", path).stdout)
    assert [v["legal"] for v in verdicts] == [True, False]
    assert json.loads(run("check", "--format", "json", write(tmp_path, "b.json", [])).stdout) == []


def test_a_report_can_go_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "report.txt"
    result = run("check", "--arch", "gfx942", ILLEGAL, "-o", str(out))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "TILE001" in out.read_text()


def test_warnings_do_not_make_a_configuration_illegal(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", legal(streamk_persistent=True))
    result = run("check", path)
    assert result.exit_code == 0
    assert "SK004 no-effect (warning): " in result.stdout
    assert "1 warning" in result.stderr


def test_spellings_are_understood_and_kept(tmp_path: Path) -> None:
    entry = legal(ndim=3, layout="nhwgc", pipeline="compv1")
    result = run("check", "--verdicts", write(tmp_path, "a.json", entry))
    assert "_fp16_nhwgc_3d_compv1_" in json.loads(result.stdout)["name"]
    entry["layout"] = "ndhwgc"
    result = run("check", "--verdicts", write(tmp_path, "b.json", entry))
    assert "_fp16_ndhwgc_3d_compv1_" in json.loads(result.stdout)["name"]


def test_names_inside_json(tmp_path: Path) -> None:
    entries = [NAME, {"name": NAME, "arch": "gfx942"}, {"name": NAME, "tile_m": 64}]
    path = write(tmp_path, "a.json", entries)
    result = run("check", "--arch", "gfx942", "--verdicts", path)
    verdicts = [json.loads(line) for line in result.stdout.splitlines()]
    assert [v.get("name") for v in verdicts] == [NAME, NAME, None]
    assert "the name says another tile_m" in verdicts[2]["error"]


def test_no_configuration_is_exit_3(tmp_path: Path) -> None:
    result = run("check", write(tmp_path, "a.txt", "# nothing yet\n"))
    assert (result.exit_code, result.stderr) == (3, "no configurations found\n")


@pytest.mark.parametrize(
    ("name", "content", "where", "said"),
    [
        ("key.json", legal(tile_mm=3), ":21:2", "unknown field 'tile_mm': did you mean 'tile_m'"),
        ("word.json", legal(pipeline="compv33"), ":15:14", "unknown pipeline 'compv33'"),
        ("nan.json", legal(tile_m=float("nan")), ":6:12", "tile_m = NaN is not an integer"),
        ("inf.json", legal(tile_m=float("-inf")), ":6:12", "tile_m = -Infinity is not an"),
        ("float.json", legal(tile_m=64.5), ":6:12", "tile_m = 64.5 is not an integer"),
        ("wide.json", legal(tile_m=10**12), ":6:12", "tile_m = 1000000000000 is out of range"),
        ("text.json", legal(tile_m="64"), ":6:12", "tile_m = '64' is not an integer"),
        ("flag.json", legal(pad_m=1), ":21:11", "pad_m = 1 is not true or false"),
        ("null.json", {**legal(), "tile_m": None}, ":6:12", "tile_m = None is not an integer"),
        ("list.json", {**legal(), "tile_m": [1]}, ":6:12", "tile_m = [1] is not an integer"),
        ("arch.json", legal(arch="gfx943"), ":3:10", "unknown arch 'gfx943': did you mean"),
        ("suffix.json", legal(arch="gfx942:xnack"), ":3:10", "unknown arch 'gfx942:xnack'"),
        ("variant.json", legal(variant="fwt"), ":2:13", "unknown variant 'fwt'"),
        ("varient.json", {"varient": "forward"}, ":2:2", "did you mean 'variant'?"),
        ("lacks.json", legal(tile_m=None), ":1:1", "missing field tile_m"),
        ("noarch.json", legal(arch=None), ":1:1", "no GPU: the configuration has no field arch"),
        ("number.json", "[1]", ":1:2", "expected an object of fields, found a number"),
        ("nothing.json", "null", ":1:1", "expected an object of fields, found null"),
        ("twice.json", '{"variant": "forward",\n "tile_m": 1, "tile_m": 1}', ":2:15", "twice"),
        ("truncated.json", '[{"variant": "forw', ":1:14", "the text ends inside a string"),
        ("short.json", '{"variant": "forward",', ":1:23", "the text ends too early"),
        ("comma.json", '{"variant" "forward"}', ":1:12", "not JSON: expected ':' delimiter"),
        ("extra.json", "[] []", ":1:4", "text after the end of the JSON value"),
        ("deep.json", "[" * 100_000, ":1:2", "nested too deeply"),
        ("bracket.json", '{"kernels": [] x}', ":1:16", "expected ',' or '}'"),
        ("binary.json", bytes(range(256)), ":1:1", "a binary file, expected text"),
        ("bytes.json", '\n"\u2028é": \0'.encode(), ":2:7", "a binary file, expected text"),
        ("latin.json", b'{"variant":\n "\xe9"}', ":2:3", "byte 0xe9 is not UTF-8"),
        ("latin.txt", b"# a\ngrouped_\xe9", ":2:9", "byte 0xe9 is not UTF-8"),
        ("utf16.json", "{}".encode("utf-16"), ":1:1", "UTF-16 text, expected UTF-8"),
        ("empty.json", "", "", "empty: there is no configuration in it"),
        ("blank.json", " \n\n", "", "empty: there is no configuration in it"),
        ("name.txt", "grouped_conv_fwd_fp17_x\n", ":1:18", "not a kernel name: expected dtype"),
        ("long.txt", "x" * 5_000_000, ":1:1", "line longer than 4 MB"),
        ("lines.jsonl", '{"variant": "forward"\n', ":1:22", "the text ends too early"),
        ("two.json", '{"kernels": [], "instances": []}', ":1:17", "a second list 'instances'"),
        ("shared.json", {"kernels": [legal()], "tile_p": 1}, ":25:2", "unknown field 'tile_p'"),
    ],
)
def test_bad_input_is_one_clear_line(
    tmp_path: Path, name: str, content: object, where: str, said: str
) -> None:
    path = write(tmp_path, name, content)  # type: ignore[arg-type]
    result = run("check", "-q", path)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"{path}{where}: error: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("digits", [19, 400, 5000, 100_000])
def test_huge_numbers_do_not_hang(tmp_path: Path, digits: int) -> None:
    text = json.dumps(legal()).replace('"tile_m": 128', '"tile_m": ' + "9" * digits)
    result = run("check", write(tmp_path, "a.json", text))
    assert result.exit_code == 2
    assert "is out of range: expected 1 to" in result.stderr
    assert len(result.stderr) < 500


@pytest.mark.parametrize("argument", ["no/such/file.json", "nul\0byte", "x" * 5000])
def test_a_file_that_cannot_be_opened(argument: str) -> None:
    result = run("check", "-q", argument)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


def test_a_folder_is_read_with_all_its_files(tmp_path: Path) -> None:
    assert run("check", str(tmp_path)).exit_code == 3
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    bad = write(folder, "bad.ck.json", legal(tile_m=96))
    write(folder, "other.ck.json", "just text")
    write(folder, "names.txt", ILLEGAL)
    result = run("check", str(tmp_path))
    assert result.exit_code == 1
    assert result.stdout.startswith(f"{bad}:6:12: TILE001")
    assert "1 configuration:" in result.stderr


def test_one_fault_does_not_stop_the_others(tmp_path: Path) -> None:
    good, bad = write(tmp_path, "good.json", legal(tile_m=96)), write(tmp_path, "bad.json", "{")
    result = run("check", bad, good, str(tmp_path / "gone"))
    assert result.exit_code == 2
    assert "TILE001" in result.stdout
    assert "1 configuration: 0 legal, 1 illegal" in result.stderr
    assert "; 2 could not be read\n" in result.stderr


def test_faulty_entries_beside_good_ones(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", [legal(), legal(tile_m="x"), 3, legal(tile_m=96)])
    result = run("check", "--verdicts", path)
    assert [json.loads(v)["legal"] for v in result.stdout.splitlines()] == [True] + [False] * 3


@pytest.mark.parametrize("variant", ["forward", "bwd_data", "bwd_weight", "forward_depthwise"])
def test_the_page_lists_the_fields_that_may_be_left_out(variant: str) -> None:
    page = Path("docs/check.md").read_text().partition("### Fields that may be left out")[2]
    table = page.partition("\n\nNames say")[0]
    listed = {
        field.strip("` "): value.strip("` ")
        for fields, value in (row.split("|")[1:3] for row in table.splitlines() if "| `" in row)
        for field in fields.split(",")
    }
    found = {k: str(v).lower() for k, v in defaults(variant).items()}
    found |= {k: listed["layout"] for k in defaults(variant, 2) if k == "layout"}
    assert found == (listed if variant != "forward_depthwise" else {"layout": listed["layout"]})


def test_repeated_faults_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "grouped_conv_nonsense\n" * 50)
    result = run("check", path)
    assert result.stderr.count("error: not a kernel name") == 20
    assert "… and 30 more that cannot be read\n" in result.stderr
    assert result.stderr.endswith("0 configurations: 0 legal; 50 could not be read\n")


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("grouped_conv_fwd_fp16_nonsense", 40_000),
        ('{"variant": "forward", "tile_mm": 3}', 40_000),
        ('{"variant": "forward", ', 40_000),
        (json.dumps(legal()), 8_000),
        (json.dumps(legal(tile_m=96)), 8_000),
    ],
)
def test_many_lines_take_little_memory(tmp_path: Path, line: str, count: int) -> None:
    path = write(tmp_path, "many", (line + "\n") * count)
    code = (
        "import resource, sys; from ckrules.cli import main;"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29));"
        f"sys.exit(main(['check', {path!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert done.returncode in (0, 1, 2)
    assert b"Traceback" not in done.stderr


def test_input_format_is_forced(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", NAME)
    assert run("check", "--arch", "gfx942", path).exit_code == 1
    assert run("check", "--arch", "gfx942", "--input-format", "json", path).exit_code == 2
    result = run("check", "--input-format", "jsn", path)
    assert "unknown input format 'jsn': did you mean 'json'" in result.stderr


def test_a_version_without_the_operator(tmp_path: Path) -> None:
    name = "grouped_conv_fwd_depthwise_fp16_ngchw_2d_8x8_f5_s1x1_p2x2_nb8_sub2x2_vec2_2"
    result = run("check", "--ck", "2025.11", "--arch", "gfx942", name)
    assert result.exit_code == 2
    assert "has no depthwise kernels" in result.stderr


@pytest.mark.parametrize("form", ["sarif", "concise", "github", "junit"])
def test_verdicts_are_not_left_out_of_a_report(form: str) -> None:
    found = run("check", "--verdicts", "--format", form, json.dumps(legal()))
    assert (found.exit_code, found.stdout) == (2, "")
    assert f"--verdicts writes json or jsonl, not {form}" in found.stderr
