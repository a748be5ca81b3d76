"""What commands import: a hook that runs on every commit must start quickly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import ILLEGAL, legal, write

HEAVY = ("z3", "numpy", "networkx", "rich", "pyarrow", "jinja2", "pathspec", "packaging")
PROBE = (
    "import json, sys; from ckrules.cli import main\n"
    "for words in json.loads(sys.argv[1]): main(words)\n"
    "print('\\n' + json.dumps([m for m in sys.modules if '.' not in m]), file=sys.stderr)"
)


def imported(*commands: list[str]) -> set[str]:
    """The top-level modules that commands load, one after the other in one process."""
    command = [sys.executable, "-c", PROBE, json.dumps(commands)]
    done = subprocess.run(command, capture_output=True, text=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


LIGHT = [
    ["check", "--arch", "gfx942", ILLEGAL],
    ["check", "--arch", "gfx942", "--verdicts", "--resources", ILLEGAL],
    ["rules"],
    ["rules", "--format", "json"],
    ["explain", "TILE001"],
    ["explain", "lds_bytes"],
    ["archs"],
    ["archs", "gfx1201"],
    ["--help"],
    ["enumerate", "--help"],
    ["count", "--arch", "gfx1202"],
]


def test_light_commands_stay_light() -> None:
    """All in one process: what any of them loads is there at the end."""
    assert not imported(*LIGHT) & set(HEAVY)


def test_check_of_a_file_stays_light(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", [legal(), legal(tile_m=96), {"oops": 1}] * 20)
    assert not imported(["check", path]) & set(HEAVY)


def test_the_package_imports_nothing() -> None:
    code = "import sys, ckrules; print([m for m in sys.modules if m.startswith('ckrules.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_the_package_has_what_it_names() -> None:
    import ckrules

    for name in ckrules.__all__:
        assert getattr(ckrules, name) is not None
    assert set(ckrules.__all__) <= set(dir(ckrules))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ckrules.nonsense  # noqa: B018
