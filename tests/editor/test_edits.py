"""What an editor would put into a text is read back as what was offered."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.workspace import PositionCodec, TextDocument

from ckrules.cli.commands.lsp import _editor
from ckrules.editor.texts import Editor
from ckrules.support.tables import word
from tests.editor.test_lsp import CONFIG, NAME, TEXTS

FORMATS = Path(__file__).parent.parent / "data" / "formats"
#: Where one more value of a list is another kernel, so that there is nothing to compare.
RANGES = {"gemm_dispatcher.json", "gemm_flat.json", "gemm_loader.json", "tile_engine.json"}


@cache
def editor() -> Editor:
    return _editor({"arch": "gfx942", "ck": None, "profile": None})


def opened(name: str, text: str) -> tuple[TextDocument, list[str]]:
    """A text that was checked, and the codes of its findings."""
    document = TextDocument(f"file:///nowhere/{name}", text, position_codec=PositionCodec())
    found = editor().take(document, editor().judged(document.uri, document.path, text))
    return document, [str(d.code) for d in found]


def offset(text: str, at: lsp.Position) -> int:
    lines = text.split("\n")
    units = lines[at.line].encode("utf-16-le")[: 2 * at.character]
    return sum(len(line) + 1 for line in lines[: at.line]) + len(units.decode("utf-16-le"))


def edited(text: str, edit: object) -> str:
    assert isinstance(edit, lsp.TextEdit)
    start, end = (offset(text, at) for at in (edit.range.start, edit.range.end))
    return text[:start] + edit.new_text + text[end:]


def completed(name: str, before: str, after: str, label: str) -> str:
    """The text once a proposal was taken between two parts of it, the first of one line."""
    document, _ = opened(name, before + after)
    at = lsp.Position(0, len(before.encode("utf-16-le")) // 2)
    (item,) = [i for i in editor().complete(document, at) if i.label == label]
    return edited(before + after, item.text_edit)


class TestCompletions:
    @pytest.mark.parametrize("typed", ['"tile_m": ', '"tile_m":'])
    def test_what_follows_on_the_line_stays(self, typed: str) -> None:
        """The rest of the line was replaced as well where nothing was typed yet."""
        made = completed("a.ck.json", "{" + typed, ', "tile_n": 64}', "64")
        assert made == "{" + typed + '64, "tile_n": 64}'

    @pytest.mark.parametrize("name", ["a.ck.json", "a.ck.jsonl"])
    def test_texts_get_quotes_where_the_format_has_them(self, name: str) -> None:
        own = json.dumps({k: v for k, v in CONFIG.items() if k != "pipeline"})[:-1]
        for typed, made in (("", '"mem"'), ("me", '"mem"'), ('"', '"mem'), ('"me', '"mem')):
            before = f'{own}, "pipeline": '
            assert completed(name, before + typed, "}", "mem") == before + made + "}"

    def test_a_new_field_of_a_known_configuration(self) -> None:
        """The text was read before the field was typed, which makes it no JSON for a while."""
        name, text = "known.ck.json", json.dumps(CONFIG)
        opened(name, text)
        before = text[:-1] + ', "specialization": '
        assert completed(name, before, "}", "default") == before + '"default"}'

    def test_no_value_before_another(self) -> None:
        text = '{"pipeline": "mem"}'
        document, _ = opened("b.ck.json", text)
        for column in (text.index('"mem"') - 1, text.index('"mem"')):
            assert not editor().complete(document, lsp.Position(0, column))

    @pytest.mark.parametrize("name", sorted(p.name for p in FORMATS.iterdir() if p.is_file()))
    def test_each_format_reads_what_it_is_offered(self, name: str) -> None:
        """Words of ckrules stood in names, numbers in lists: the texts could not be read."""
        text = (FORMATS / name).read_text()
        document, codes = opened(name, text)
        known = editor()._documents[document.uri]
        entry = known._entries[0]
        for field in entry.config.point:
            at = entry.written(field)
            spot = at and known.spot(at.line, at.column)
            if at is None or spot is None:
                continue
            field = spot.field
            items = editor().complete(document, lsp.Position(at.line - 1, at.column - 1))
            for item in items[:2]:
                made, after = opened(name, edited(text, item.text_edit))
                assert after.count("CFG000") <= codes.count("CFG000"), (field, item)
                if name not in RANGES and field != "arch":
                    read = editor()._documents[made.uri]._entries[0].config.point
                    assert word(read[field]) == item.label, (field, item)
            opened(name, text)


def accepted(name: str, text: str, code: str) -> tuple[str, list[str]]:
    """The text with a finding accepted, and what is found then."""
    document, _ = opened(name, text)
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(999, 0))
    action = next(a for a in editor().actions(document, whole) if a.title == f"Accept {code} here")
    assert action.edit is not None
    assert action.edit.changes is not None
    made = edited(text, action.edit.changes[document.uri][0])
    return made, opened(name, made)[1]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("name", "code"), [("nhwgc_fp16.conf", "PIPE003"), ("ngchw_depthwise.conf", "DW012")]
)
def test_accepting_hides_no_instance_from_the_builder(name: str, code: str, end: str) -> None:
    """The comment stood behind the instance, whose whole line the builder then skips."""
    text = (FORMATS / name).read_text().replace("\n", end)
    before = opened(name, text)[1]
    made, after = accepted(name, text, code)
    assert after.count(code) < before.count(code)
    assert after.count("CFG005") == before.count("CFG005")
    assert made.replace(end, "").count("\r") == 0
    assert set(text.split(end)) < set(made.split(end))


@pytest.mark.parametrize("name", ["kernels.names", "kernels.ck.json", "kernels.ck.toml"])
def test_a_byte_order_mark_moves_nothing(name: str) -> None:
    """Editors that pass it on count it; edits of the first line were one character too early."""
    text = "\ufeff" + (NAME if name == "kernels.names" else TEXTS[name])
    if name == "kernels.ck.json":
        text = "\ufeff" + json.dumps(CONFIG)
    document, codes = opened(name, text)
    assert "PIPE003" in codes
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))
    for action in editor().actions(document, whole):
        assert action.edit is not None
        assert action.edit.changes is not None
        made = edited(text, action.edit.changes[document.uri][0])
        assert action.diagnostics is not None
        code, left = str(action.diagnostics[0].code), opened(name, made)[1]
        assert "CFG000" not in left
        assert left.count(code) < codes.count(code)
    if name == "kernels.names":
        document, _ = opened(name, text)
        hover = editor().hover(document, lsp.Position(0, text.index("compv4")))
        assert hover is not None
        assert "**pipeline**" in str(hover.contents)
