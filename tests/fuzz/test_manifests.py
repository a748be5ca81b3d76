"""Manifests, sources and databases of generated folders as strangers may write them.

Whatever is in them, a command ends with an exit code of its own and says what is wrong in lines;
nothing outside the folder is written, and no compiler gets a word that the manifest made up.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.codegen.generate import MANIFEST
from ckrules.compiling import manifest
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.compile_commands import Recipe, commands
from ckrules.compiling.database import FILE
from ckrules.compiling.toolchain import Toolchain
from ckrules.support.errors import CkrulesError
from tests.cli.run import run
from tests.fuzz.conftest import PROFILE

pytestmark = pytest.mark.whole

GOOD: dict[str, Any] = {
    "name": "k", "family": "conv", "ck": "2025.11", "arch": "gfx942", "defines": [],
    "rules": "2025.11+0", "legal": True, "lds_bytes": 0, "config": {"variant": "forward"},
}  # fmt: skip
TOOLS = Toolchain("2025.11", Path("/bin/clang-19"), "clang-19", Path("/usr"), Path("/ck"))

WORDS = st.one_of(
    st.text(st.characters(), max_size=20),
    st.text(st.sampled_from("@-/.\\ \0\n=ak_9é\ud800"), max_size=12),
    st.sampled_from(["@x", "-o", "../x", "/tmp/x", "k", "a" * 300, "gfx942", "forward", "X=1"]),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=5,
)
LINES = st.one_of(
    st.dictionaries(st.sampled_from(["ndim", "dtype", "filter", "tile_m"]), VALUES).map(
        lambda more: json.dumps({**GOOD, "config": {"variant": "forward", **more}}).encode()
    ),
    st.tuples(st.sampled_from([*GOOD, "more"]), VALUES).map(
        lambda pair: json.dumps({**GOOD, pair[0]: pair[1]}).encode()
    ),
    VALUES.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=60),
    st.integers(1, 100_000).map(lambda n: b"[" * n),
)


@contextmanager
def folder(content: bytes) -> Iterator[Path]:
    """A folder with this manifest, in a folder of its own."""
    with tempfile.TemporaryDirectory() as home:
        made = Path(home, "out")
        made.mkdir()
        (made / MANIFEST).write_bytes(content)
        yield made


def read(place: Path) -> tuple[list[manifest.ManifestEntry], str]:
    """The kernels of a manifest, or none and the fault."""
    try:
        return list(manifest.read(place)), ""
    except CkrulesError as error:
        return [], str(error)


@PROFILE
@given(st.lists(LINES, min_size=1, max_size=3))
def test_what_is_read_is_of_its_grammar(lines: list[bytes]) -> None:
    with folder(b"\n".join(lines)) as made:
        entries, fault = read(made / MANIFEST)
        assert not fault or re.match(rf"{re.escape(str(made / MANIFEST))}:\d+: ", fault)
        for entry in entries:
            recipe = Recipe(entry.ck, entry.arch, entry.defines)
            for artifact in Artifact:
                for path in (entry.source(artifact), entry.result(artifact)):
                    assert path.parent == made == path.resolve().parent
                for words in commands(recipe, artifact, entry.name, TOOLS):
                    assert not any(w.startswith("@") or "\0" in w for w in words)


@PROFILE
@given(st.lists(LINES, min_size=1, max_size=2), st.sampled_from(["build", "validate", "run"]))
def test_commands_end_in_lines(lines: list[bytes], command: str) -> None:
    more = {"run": ["--problem", "N=1,C=8,K=8,W=9,X=3"], "build": ["-j", "1"]}.get(command, [])
    with folder(b"\n".join(lines)) as made:
        before = {p: p.stat().st_mtime_ns for p in made.parent.iterdir() if p != made}
        done = run(command, str(made), *more)
        assert done.exit_code in (2, 3)
        assert "internal error" not in done.stderr
        assert done.stderr.replace("\n", "").isprintable()
        assert {p: p.stat().st_mtime_ns for p in made.parent.iterdir() if p != made} == before
        assert {p.name for p in made.iterdir()} <= {MANIFEST, FILE, ".ckrules-tmp"}


@PROFILE
@given(st.one_of(st.binary(max_size=200), st.binary(max_size=200).map(lambda b: MAGIC + b)))
def test_databases_are_read_as_they_are(content: bytes) -> None:
    with folder(b"") as made:
        (made / FILE).write_bytes(content)
        for more in ((), ("--runs",)):
            done = run("results", str(made), *more)
            assert done.exit_code == 2
            assert done.stderr.startswith(f"error: {made / FILE}: ")
            assert done.stderr.count("\n") == 1
        assert (made / FILE).read_bytes() == content
        assert sorted(p.name for p in made.iterdir()) == [MANIFEST, FILE]


MAGIC = b"SQLite format 3\0\x10\0\x01\x01\0\x40\x20\x20"


def test_a_good_line_is_read() -> None:
    with folder(json.dumps(GOOD).encode()) as made:
        (entry,) = manifest.read(made / MANIFEST)
    assert entry.name == GOOD["name"]
