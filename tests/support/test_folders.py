"""The one rule for the folder in the user's cache, and everything that follows it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from ckrules.compiling import toolchain
from ckrules.engine.diagram import cache
from ckrules.support import folders

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "toolchain.sh"
PLACES = [
    ({"CKRULES_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b"}, "/a/ckrules"),
    ({"XDG_CACHE_HOME": "/b"}, "/b/ckrules"),
    ({"CKRULES_CACHE_DIR": "", "XDG_CACHE_HOME": "/b"}, "/b/ckrules"),
    ({}, "/home/me/.cache/ckrules"),
]


@pytest.mark.parametrize(("variables", "place"), PLACES)
def test_everything_is_in_one_folder(
    variables: dict[str, str], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CKRULES_CACHE_DIR", "XDG_CACHE_HOME", "CKRULES_TOOLCHAIN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/me", **variables}.items():
        monkeypatch.setenv(name, value)
    assert folders.cache() == Path(place)
    assert toolchain.root() == Path(place, "toolchain")
    off = variables.get("CKRULES_CACHE_DIR") == ""
    assert cache.directory() == (None if off else Path(place, "spaces"))
    rule = re.findall(r"^(?:cache|root)=.*$", SCRIPT.read_text(), re.MULTILINE)
    program = "\n".join([*rule, 'printf %s "$root"'])
    done = subprocess.run(
        ["bash", "-euc", program], env=dict(os.environ), capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{place}/toolchain"
