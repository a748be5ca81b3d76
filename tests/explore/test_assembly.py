"""What the page of a kernel says of its code object."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckrules.compiling.results import COLUMNS, Results, digest
from ckrules.emulator.disassembly import DisassembledLine
from ckrules.explore import assembly
from ckrules.explore.kernel_address import read
from ckrules.explore.subject import Subject
from tests.explore.client import NAME, client, subject, text
from tests.helpers.assembled import assemble

CODE = """
  v_mfma_f32_32x32x8f16 v[0:15], v[16:17], v[18:19], v[0:15]
  v_mov_b32 v1, v2
  ds_read_b128 v[4:7], v0
  global_load_dwordx4 v[4:7], v[0:1], off
  buffer_store_dword v1, v0, s[4:7], 0 offen
  s_waitcnt vmcnt(0)
  s_add_u32 s8, s8, s9
"""


def test_instructions_are_counted_by_kind(tmp_path: Path) -> None:
    found = assembly.AssembledKernel(assemble(CODE, "gfx942", tmp_path, lds=4096), tmp_path)
    assert dict(found.kinds) == {
        "matrix": 1, "LDS": 1, "global loads": 1, "global stores": 1, "waits and barriers": 1,
        "branches": 1, "other scalar": 1, "other vector": 1,
    }  # fmt: skip
    assert found.count == 8
    assert [line.text for line in found.assembly][1] == "v_mov_b32_e32 v1, v2"
    assert not found.placed
    assert {k: v for k, v in found.figures.items() if k != "code bytes"} == {
        "registers": [128], "scalar registers": [96], "scratch bytes": [0], "LDS bytes": [4096],
    }  # fmt: skip
    assert found.figures["code bytes"][0] >= 8 * 4


def test_lines_of_the_source_stand_beside_what_they_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each once, and only of files that hold C++."""
    header, secret = tmp_path / "x.hpp", tmp_path / "secret"
    header.write_text("first\n  second = a;\n")
    secret.write_text("nobody's\n")
    places = [f"{header}:2", f"{header}:2", f"{secret}:1", f"{header}:9"]
    lines = [DisassembledLine(4 * i, 4, "s_nop", "0", p) for i, p in enumerate(places)]
    monkeypatch.setattr(assembly, "disassemble", lambda *_: lines)
    found = assembly.AssembledKernel(assemble("", "gfx942", tmp_path), tmp_path)
    assert [(line.place, line.code) for line in found.assembly] == [
        ("x.hpp:2", "second = a;"), ("", ""), ("secret:1", ""), ("x.hpp:9", ""),
    ]  # fmt: skip


def test_the_page_of_a_built_kernel_shows_it(tmp_path: Path) -> None:
    name = read(NAME, subject().books, "gfx942").name
    data = assemble(CODE, "gfx942", tmp_path)
    database = tmp_path / "ckrules-results.sqlite"
    row = dict.fromkeys(COLUMNS) | {
        "name": name, "arch": "gfx942", "artifact": "device", "ck": "2026.06", "rules": "x",
        "legal": True, "status": "ok", "seconds": 1.5, "tool": "x", "tool_version": "clang 19",
        "flags": "", "command": "", "config": "", "finished": 1.0, "key": "k", "lacks": "",
        "artifact_digest": digest(data),
    }  # fmt: skip
    with Results(database) as table:
        table.store(row)
    about = subject()
    held = Subject(about.region, about.books, about.title, about.options, database)
    with client(held) as page:
        assert "What the compiler made" not in page.get("/kernel", params={"k": NAME}).text
        (tmp_path / f"{name}.hsaco").write_bytes(data)
        said = text(page.get("/kernel", params={"k": NAME}).text)
        assert "8 instructions by kind matrix 1" in said
        assert "v_mfma_f32_32x32x8_f16" in said or "v_mfma_f32_32x32x8f16" in said
        (tmp_path / f"{name}.hsaco").write_bytes(assemble("", "gfx942", tmp_path))
        said = text(page.get("/kernel", params={"k": NAME}).text)
        assert "What the compiler made" not in said  # of another file nothing is said
