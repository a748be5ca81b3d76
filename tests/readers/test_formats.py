"""Samples of every format: what is read, where it stands, and what is said about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any

import pytest

from ckrules.kernels.books import Books
from ckrules.readers import Context, Entry, InputReading, Remark, UnreadableText, formats
from ckrules.readers.formats.macros.cpp_calls import blank
from ckrules.readers.inputs import detect
from ckrules.readers.source import Head, SourceFile
from tests.cli.run import run

DATA = Path(__file__).parents[1] / "data" / "formats"
FILES = {
    "dispatcher.json": "dispatcher",
    "registry.json": "registry",
    "nhwgc_fp16.conf": "conf",
    "ngchw_depthwise.conf": "conf",
    "short/ndhwgc_bf16.conf": "conf",
    "kernel_sets.cpp": "macros",
    "names.txt": "names",
    "own.json": "json",
    "own.jsonl": "jsonl",
    "own.csv": "csv",
    "own.toml": "toml",
    "registry_gemm.json": "registry",
    "gemm_sets.cpp": "macros",
    "tile_engine.json": "ranges",
    "gemm_dispatcher.json": "ranges",
    "gemm_flat.json": "ranges",
    "gemm_loader.json": "ranges",
    "aiter_lists.py": "python_lists",
    "aiter_tuned.csv": "tuned",
}


RANGES = {name for name, form in FILES.items() if form == "ranges"}


def read(name: str, **context: Any) -> list[Entry | UnreadableText | Remark]:
    return list(InputReading(str(DATA / name), Context(Books(), "gfx942", **context)))


def points(name: str, **context: Any) -> list[dict[str, Any]]:
    return [dict(i.config.point) for i in read(name, **context) if isinstance(i, Entry)]


def test_every_format_has_a_sample() -> None:
    assert set(FILES.values()) == set(formats())
    assert {p.relative_to(DATA).as_posix() for p in DATA.rglob("*.*")} == set(FILES)


@pytest.mark.parametrize(("name", "form"), FILES.items())
def test_a_format_is_told_by_its_content(name: str, form: str) -> None:
    with (DATA / name).open("rb") as stream:
        head = SourceFile(name, stream).head()
    assert detect("a", head) == form


@pytest.mark.parametrize("between", [",\n", ", \n\n"])
def test_a_list_that_begins_on_the_first_line_is_one_document(between: str) -> None:
    """Its two lines begin as objects do, and were read as JSON Lines of which neither is whole."""
    text = f'{{"kernels": [{{"tile_m": 64}}{between}{{"tile_m": 32}}]}}'
    head = SourceFile("a", BufferedReader(BytesIO(text.encode()))).head()
    assert detect("a.ck.json", head) == "json"


@pytest.mark.parametrize("name", FILES)
def test_what_is_said(
    name: str, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(DATA)
    result = run("check", "--isolated", "--arch", "gfx942", "--format", "concise", name)
    golden(f"formats/{name.replace('/', '_')}.txt", result.stdout + result.stderr)


@pytest.mark.parametrize("name", FILES)
def test_a_field_stands_where_it_is_said_to(name: str) -> None:
    lines = (DATA / name).read_text().split("\n")
    for item in read(name):
        if not isinstance(item, Entry):
            continue
        for field, value in item.config.point.items():
            place = item.written(field)
            if place is None or isinstance(value, bool) or not isinstance(value, int):
                continue
            text = lines[place.line - 1][place.column - 1 : place.end_column - 1]
            if name in RANGES and text[:1] in "[{":
                continue  # the range or list that the value is one of, or is left out for
            derived = field.startswith("wave_") or field in ("warp_tile_k", "tile_k")
            assert text == str(value) or derived or text == "[8, 8, 8]"


def test_warp_counts_waves_in_the_dispatcher_s_json() -> None:
    first = points("dispatcher.json")[0]
    assert (first["wave_m"], first["warp_tile_m"], first["vector_a"]) == (2, 32, 8)
    assert (first["pipeline"], first["streamk"]) == ("basic_v1", "off")


@pytest.mark.parametrize(
    ("enabled", "strategy", "meant"),
    [
        (True, "tree", "tree"),
        (True, None, "linear"),
        (False, "tree", "off"),
        (None, "tree", "tree"),
    ],
)
def test_stream_k_of_the_dispatcher_s_json(
    tmp_path: Path, enabled: bool | None, strategy: str | None, meant: str
) -> None:
    document = json.loads((DATA / "dispatcher.json").read_text())
    one = document["instances"][0]
    one["streamk_reduction_strategy"] = strategy
    if enabled is None:
        del one["streamk_enabled"]
    else:
        one["streamk_enabled"] = enabled
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))
    items = [i for i in InputReading(str(path), Context(Books(), "gfx942")) if isinstance(i, Entry)]
    assert items[0].config.point["streamk"] == meant


def test_builder_lines_are_read_by_position() -> None:
    fwd, v3, weight, weight3, native, *_ = points("nhwgc_fp16.conf")
    assert [fwd[f"wave_{x}"] for x in "mnk"] == [2, 2, 1]
    assert (fwd["pipeline"], fwd["warp_tile_k"], fwd["vector_c"]) == ("basic_v1", 16, 8)
    assert (v3["pipeline"], v3["double_smem_buffer"]) == ("compv4", True)
    assert v3["specialization"] == "filter1x1_pad0"
    assert (weight["tile_k"], weight["specialization"]) == (32, "default")  # 4 times k1 = 8
    assert (weight3["tile_k"], weight3["pipeline"]) == (32, "mem")
    assert (native["streamk"], native["warp_tile_k"]) == ("tree", 16)


def test_stream_k_without_a_word_for_its_reduction(tmp_path: Path) -> None:
    """It stands where stream-K is turned on."""
    lines = (DATA / "nhwgc_fp16.conf").read_text().splitlines()
    native = next(x for x in lines if x.endswith("EmptyTuple,PassThrough>"))
    path = tmp_path / "nhwgc_fp16.conf"
    path.write_text(native.removesuffix(">") + ",1>\n")
    (item,) = InputReading(str(path), Context(Books(), "gfx942"))
    assert isinstance(item, Entry)
    assert item.config.point["streamk"] == "linear"
    assert item.locate("streamk").column == len(native) + 1


def test_waves_of_builder_lines_need_a_gpu() -> None:
    items = list(InputReading(str(DATA / "nhwgc_fp16.conf"), Context(Books())))
    assert isinstance(items[0], UnreadableText)
    assert "no GPU: waves depend on its wave size" in items[0].lines()[0][1]


def test_wave32_doubles_the_waves_of_builder_lines() -> None:
    line = (DATA / "nhwgc_fp16.conf").read_text().splitlines()[1]
    result = run(
        "check", "--arch", "gfx1201", "--verdicts", "--input-format", "conf", "-", stdin=line
    )
    assert "_2x2x2_" in json.loads(result.stdout)["name"]


def test_the_short_form_takes_type_and_layout_from_the_file_s_name() -> None:
    first, merged, v3 = points("short/ndhwgc_bf16.conf")
    assert (first["dtype"], first["ndim"], first["layout"]) == ("bf16", 3, "ndhwgc")
    assert (merged["num_groups_to_merge"], v3["pipeline"]) == (8, "compv3")
    line = (DATA / "short/ndhwgc_bf16.conf").read_text().splitlines()[0]
    result = run("check", "--arch", "gfx942", "--input-format", "conf", "-", stdin=line)
    assert "the short form names neither type nor layout" in result.stderr


def test_the_two_readings_of_tile() -> None:
    as_gmn, as_mnk = points("kernel_sets.cpp"), points("kernel_sets.cpp", tile_reading="mnk")
    assert [as_gmn[0][f"tile_{x}"] for x in "mnk"] == [128, 128, 64]
    assert [as_mnk[0][f"tile_{x}"] for x in "mnk"] == [1, 128, 128]
    said = [i.message for i in read("kernel_sets.cpp") if isinstance(i, Remark)]
    assert said[0] == ".tile(a, b, c) is read as (groups, tile_m, tile_n), tile_k filled in"
    assert len([i for i in said if ".tile" in i]) == 1


def test_what_macros_leave_out_is_filled_in_and_can_be_shown() -> None:
    path = str(DATA / "kernel_sets.cpp")
    result = run("check", "--arch", "gfx942", "--extend-select", "CFG008", path)
    assert "CFG008 file (note): filled in: vector_a = 4, vector_b = 8" not in result.stdout
    assert "filled in: scheduler = intrawave, epilogue = cshuffle" in result.stdout


def test_the_short_forms_of_add() -> None:
    text = """DECL_GROUPED_CONV_KERNEL_SET(a,
      .add("fp16", "nhwc", "fwd", 128, 64, 32) .add("bf16", "bwd_weight", 3, 64, 128, 32))"""
    result = run(
        "check", "--arch", "gfx942", "--verdicts", "--input-format", "macros", "-", stdin=text
    )
    first, second = (json.loads(x)["name"] for x in result.stdout.splitlines())
    assert first.startswith("grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x64x32_")
    assert second.startswith("grouped_conv_bwd_weight_bf16_ndhwgc_3d_compv3_") or "_3d_" in second


def test_short_lines_that_say_too_little() -> None:
    name = "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1"
    line = f"{name}<64, 64, 64, 32, 8, 8, Default, 32, 32, 2, 2, 1, 1, 1, 1>"
    result = run("check", "--arch", "gfx942", "--input-format", "conf", "-", stdin=line)
    assert result.exit_code == 3  # nothing was judged
    assert "CFG006 file (warning): the short form of Device" in result.stdout


def test_every_name_can_be_a_file_s(tmp_path: Path) -> None:
    items = [i for i in read("names.txt") if isinstance(i, Entry)]
    assert items[1].place.column == len("build/dispatcher_wrappers/dispatcher_wrapper_") + 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DECL_GROUPED_CONV_KERNEL_SET(x", "the parentheses of DECL_GROUPED_CONV_KERNEL_SET"),
        ("DECL_GROUPED_CONV_KERNEL_SET(x)", "expected a name and .add(…) calls"),
        ("DECL_GROUPED_CONV_KERNEL_SET(x, 3)", "expected .add(…) calls"),
        ("DECL_GROUPED_CONV_KERNEL_SET(x, .add(A()))", "expected .add(GroupedConvSig()"),
        ("DECL_GROUPED_CONV_KERNEL_SET(x, .add(A(), B().tile(1)))", "takes 3 arguments, found 1"),
        ("DECL_GROUPED_CONV_KERNEL_SET(x, .add(A(), B().wave(N, 1, 1)))", "'N' is not a number"),
    ],
)
def test_faulty_macros(text: str, said: str) -> None:
    result = run("check", "--arch", "gfx942", "--input-format", "macros", "-", stdin=text)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_header_that_defines_the_macro_declares_nothing() -> None:
    text = "#define DECL_GROUPED_CONV_KERNEL_SET(name, ...) \\\n  f(DECL_KERNEL_SET(1))\n"
    assert detect("a", Head(["x"], text)) == "macros"
    result = run("check", "--input-format", "macros", "--allow-empty", "-", stdin=text)
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("#if 0\na\n#elif 1 // yes\nb\n#else\nc\n#endif\nd", "bd"),
        ("#if 1\na\n#elif 1\nb\n#else\nc\n#endif\nd", "ad"),
        ("# if true\na\n#elif X\nb\n#endif\nc", "ac"),
        ("#ifdef X\na\n#elif 0\nb\n#else\nc\n#endif\nd", "acd"),
        ("#ifdef X\na\n#elif 1\nb\n#else\nc\n#endif\nd", "abcd"),
        ("#if 0 /* no */\n#ifdef X\na\n#else\ne\n#endif\nb\n#else\nc\n#endif\nd", "cd"),
        ("a\n#if 0\nb", "a"),
        ("#else\na\n#endif\n#elif 0\nb\n#iffy 0\nc", "abc"),
    ],
)
def test_what_a_number_takes_out_is_not_declared(text: str, left: str) -> None:
    """Where a macro decides, every branch is read."""
    assert "".join(blank(text).split()) == left
    assert len(blank(text)) == len(text)


def test_declarations_that_are_taken_out_are_not_checked() -> None:
    text = "#if 0\nDECL_GROUPED_CONV_KERNEL_SET(x, .add(1))\n#endif\n"
    result = run("check", "--input-format", "macros", "-", stdin=text)
    assert (result.exit_code, result.stderr) == (3, "no configurations found\n")


def test_what_is_not_covered_is_no_configuration() -> None:
    text = "DECL_FMHA_KERNEL_SET(x, .add(1))\n"
    result = run("check", "--input-format", "macros", "-", stdin=text)
    assert result.exit_code == 3
    assert "declarations of attention kernels are not read" in result.stdout + result.stderr
    assert result.stderr.endswith("no configurations found\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("variant,variant\n", "column 'variant' twice"),
        ("variant,arch\nforward\n", "1 cells below a header of 2"),
        ("variant,tile_m\nforward,x\n", "tile_m = 'x' is not an integer"),
        ('variant,"tile_mm"\nforward,"1"\n', "unknown field 'tile_mm'"),
        (f'variant,arch\n"{"x" * 140_000}",gfx942\n', "(140002 characters) is not one of"),
    ],
    ids=lambda text: text[:20],
)
def test_faulty_csv(text: str, said: str) -> None:
    result = run("check", "--arch", "gfx942", "--input-format", "csv", "-", stdin=text)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("a = \n", ":1:5", "not TOML: invalid value"),
        ("[[kernels]]\nvariant = 'fwdd'\n", ":2:11", "unknown variant 'fwdd'"),
        ("kernels = [3]\n", ":1:12", "expected a table of fields, found a number"),
        ("kernels = [\n {variant = 'fwdd'}]\n", ":2:13", "unknown variant 'fwdd'"),
        ("kernels = [\n 'x']\n", ":2:2", "not a kernel name"),
        ("kernels = []\ninstances = []\n", ":1:1", "a second list 'instances'"),
    ],
)
def test_faulty_toml(text: str, where: str, said: str) -> None:
    result = run("check", "--arch", "gfx942", "--input-format", "toml", "-", stdin=text)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"<stdin>{where}: error: {said}")


@pytest.mark.parametrize(
    "change", [{"grouped": True}, {"split_k": 2}, {"transpose_a": True}, {"transpose_b": True}]
)
def test_a_registered_gemm_that_is_more_than_its_fields_is_not_judged(
    change: dict[str, Any],
) -> None:
    (entry, *_) = json.loads((DATA / "registry_gemm.json").read_text())["kernels"]
    entry["signature"] |= change
    result = run("check", "--input-format", "registry", "-", stdin=json.dumps([entry]))
    (key,) = change
    assert f"CFG006 file (warning): {key} {change[key]} is not covered" in result.stdout
    assert "0 configurations: 0 legal" in result.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"algorithm": 3}, "an entry of a registry without algorithm"),
        ({"signature": None}, "an entry of a registry without signature"),
    ],
)
def test_faulty_registries(change: dict[str, Any], said: str) -> None:
    entry = json.loads((DATA / "registry.json").read_text())[0] | change
    text = json.dumps([entry])
    result = run("check", "--arch", "gfx942", "--input-format", "registry", "-", stdin=text)
    assert (result.exit_code, said in result.stderr) == (2, True)
    entry = json.loads((DATA / "registry.json").read_text())[0]
    entry["algorithm"]["wave"] = "2x2"
    result = run("check", "--arch", "gfx942", "--input-format", "registry", "-",
                 stdin=json.dumps(entry))  # fmt: skip
    assert "wave is not three numbers" in result.stderr
