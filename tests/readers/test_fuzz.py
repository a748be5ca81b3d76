"""Readers on random input: a problem or a configuration, and places inside the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckrules.checking.verdict import ItemVerdict
from ckrules.kernels.books import Books
from ckrules.readers import Context, Entry, UnreadableText, formats, read_input
from tests.cli.run import ILLEGAL, legal

CONTEXT = Context(Books(), "gfx942")
FIELDS = [*legal(), "layout", "pad_m", "streamk", "name", "config", "kernels", "tile_mm", "ü"]
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["forward", "fp16", "compv1", "gfx942", "gfx9:x", "nhwgc", ILLEGAL])
    | st.text(max_size=8)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)
    ),
    max_leaves=8,
)
#: For each of the formats, which share most of their code.
SOME = settings(max_examples=40)
changes = st.dictionaries(st.sampled_from(FIELDS), values, max_size=4)


def check_items(path: Path, data: bytes, form: str | None) -> None:
    """Reads the bytes and looks at everything that comes out."""
    path.write_bytes(data)
    lines = data.decode("utf-8-sig", errors="replace").split("\n")
    items = list(read_input(str(path), CONTEXT, input_format=form))
    for item in items:
        places = [item.place]
        if isinstance(item, UnreadableText):
            places += [place for place, message in item.lines() if message]
            assert len(places) > 1
        else:
            assert isinstance(item, Entry)
            places += [item.locate(f) for f in (*item.config.point, "nonsense")]
        json.dumps(ItemVerdict(item).to_dict())
        for place in places:
            assert place.source == str(path)
            if place.line:
                assert place.line <= len(lines)
                assert 1 <= place.column <= len(lines[place.line - 1]) + 1


@SOME
@pytest.mark.parametrize("form", [None, *formats()])
@given(data=st.binary(max_size=200))
def test_random_bytes(
    form: str | None, tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    check_items(tmp_path_factory.getbasetemp() / "fuzz", data, form)


@SOME
@pytest.mark.parametrize("form", [None, *formats()])
@given(data=st.text(alphabet='[]{}",:0159.eE+-ntfNI \n\\u#', max_size=60))
def test_random_signs(
    form: str | None, tmp_path_factory: pytest.TempPathFactory, data: str
) -> None:
    check_items(tmp_path_factory.getbasetemp() / "fuzz", data.encode(), form)


@pytest.mark.parametrize("form", ["json", "jsonl", None])
@given(entries=st.lists(changes, min_size=1, max_size=3), indent=st.sampled_from([None, 1]))
def test_changed_configurations(
    form: str | None,
    tmp_path_factory: pytest.TempPathFactory,
    entries: list[dict[str, Any]],
    indent: int | None,
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz"
    made = [{**legal(), **e} for e in entries]
    if form == "jsonl":
        text = "\n".join(json.dumps(e) for e in made)
    else:
        text = json.dumps(
            made if len(made) > 1 else {"kernels": made, "arch": "gfx950"}, indent=indent
        )
    check_items(path, text.encode(), form)


@settings(max_examples=60)
@given(cut=st.integers(0, 2000), text=st.sampled_from(["", "}", ",", "\x00", "é", '"', "1"]))
def test_truncated_and_spliced_documents(
    tmp_path_factory: pytest.TempPathFactory, cut: int, text: str
) -> None:
    whole = json.dumps({"kernels": [legal(), legal(tile_m=96)], "ndim": 2}, indent=1)
    for data in (whole[:cut] + text, whole[:cut] + text + whole[cut:]):
        check_items(tmp_path_factory.getbasetemp() / "fuzz", data.encode(), None)


@given(name=st.text(alphabet="grouped_conv_fwd_123456x2dnhwgcfp16_", max_size=40))
def test_random_names(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    data = f"{ILLEGAL}{name}\n  {name}".encode()
    check_items(tmp_path_factory.getbasetemp() / "fuzz", data, "names")
