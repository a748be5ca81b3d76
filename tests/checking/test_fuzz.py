"""Every reader on random input: nothing is raised, and every place is inside the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.checking.edits import edited
from ckrules.kernels.books import Books
from ckrules.readers import Context, Edit, Entry, InputReading, Place, UnreadableText, formats
from tests.cli.run import run
from tests.readers.test_formats import DATA, FILES

CONTEXT = Context(Books(), "gfx942")
TEXTS = {name: (DATA / name).read_text() for name in FILES}
SIGNS = {
    "registry": '{}[]",:x12 \n', "dispatcher": '{}[]",:warp_m12 \n', "jsonl": '{}",:1\n',
    "json": '{}[]",:1 \n', "toml": '[]="\n#ab1. ', "macros": 'DECL_KERNEL_SET(.add)",/*1 \n#\\',
    "conf": "Device<>(),;#Seq12 \n", "csv": 'variant,"\n1;\t', "names": "grouped_conv_fwd1x \n#",
    "ranges": '{}[]",:tile_config12 \n', "python_lists": "kernelInstance(){}:,=1 \n#",
    "tuned": 'kernelName,"gemm1;\n',
}  # fmt: skip


def look(path: Path, data: bytes, form: str | None) -> None:
    """Reads the bytes and looks at every place of everything that comes out."""
    path.write_bytes(data)
    lines = data.decode("utf-8-sig", errors="replace").split("\n")
    reading = InputReading(str(path), CONTEXT, input_format=form)
    for item in reading:
        places = [item.place]
        if isinstance(item, UnreadableText):
            places += [place for place, message in item.lines() if message]
            assert len(places) > 1
        elif isinstance(item, Entry):
            places += [r.place for r in item.remarks]
            for field, value in item.config.point.items():
                places.append(item.locate(field))
                edit = item.rewrite(field, value)
                if edit is not None:
                    places.append(edit.place)
                    assert _same(data, edit, form)
        else:
            assert item.message
        for place in places:
            _inside(place, path, lines)
    if reading.suppressions is not None:
        for s in reading.suppressions.all:
            _inside(Place(str(path), s.line, s.column, s.line, s.end), path, lines)


def _same(data: bytes, edit: Edit, form: str | None) -> bool:
    return bool(edited(data, [edit])) or not data


def _inside(place: Place, path: Path, lines: list[str]) -> None:
    assert place.source == str(path)
    for line, column in ((place.line, place.column), (place.end_line, place.end_column)):
        if line:
            assert line <= len(lines)
            assert 1 <= column <= len(lines[line - 1]) + 1
    if place.end_line:
        assert (place.line, place.column) <= (place.end_line, place.end_column)


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "nhwgc_fp16"


def test_every_format_is_fuzzed() -> None:
    assert set(SIGNS) == set(formats())


@pytest.mark.parametrize("form", SIGNS)
def test_random_signs(form: str, path: Path) -> None:
    @settings(max_examples=60)
    @given(data=st.text(alphabet=SIGNS[form], max_size=80))
    def check(data: str) -> None:
        look(path, data.encode(), form)

    check()


@pytest.mark.parametrize("name", FILES)
def test_cut_and_spliced_samples(name: str, path: Path) -> None:
    text = TEXTS[name]

    @settings(max_examples=25)
    @given(
        start=st.integers(0, len(text)),
        length=st.integers(0, 40),
        new=st.sampled_from(["", '"', "(", ")", "<", ">", ",", "}", "]", "\n", "é", "-1", "9" * 30])
        | st.text(max_size=3),
    )
    def check(start: int, length: int, new: str) -> None:
        data = (text[:start] + new + text[start + length :]).encode(errors="replace")
        for form in (FILES[name], None):
            look(path, data, form)

    check()


@pytest.mark.parametrize("form", formats())
def test_samples_of_other_formats(form: str, path: Path) -> None:
    for text in TEXTS.values():
        look(path, text.encode(), form)


@pytest.mark.parametrize(
    "text",
    [
        "Seq(" * 5000,
        "GroupedConvolutionForwardKernel<" + "Seq(1,(" * 3000 + ">",
        "DECL_GROUPED_CONV_KERNEL_SET(" + "(" * 20000,
        "DECL_GROUPED_CONV_KERNEL_SET(x, " + ".add(A(),B())" * 3000 + ")",
        "/*" * 20000,
        '"' * 20001,
        "#define " + "\\\n" * 2000,
        "a" * 100_000 + "=",
        "[[" * 20000,
        ",".join("1" * 20000),
        '"",' * 20000,
    ],
)
def test_long_repetitions_do_not_hang(text: str, path: Path) -> None:
    for form in formats():
        look(path, text.encode(), form)


@pytest.mark.parametrize("form", ["full", "sarif", "github", "gitlab", "junit"])
@pytest.mark.parametrize(
    "data", [b"\x00\xff", "é\u2028\x1b[31m\ttile".encode(), b'{"a": "\\ud800"}']
)
def test_reports_of_odd_text(form: str, data: bytes, path: Path) -> None:
    path.write_bytes(data)
    result = run("check", "--isolated", "--format", form, str(path))
    assert result.exit_code == 2
    assert "internal error" not in result.stderr
    assert "\x1b" not in result.stdout
