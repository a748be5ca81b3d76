"""A plug-in of families that is at fault is named in one line, with what is wrong."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckrules.kernels.families import families, named
from ckrules.support.errors import CkrulesError, RuleBookError
from tests.cli.run import run

FAMILY = """from ckrules.kernels.family import Family
class Faulty(Family):
    {body}
FAMILY = Faulty()
"""
WHOLE = "name, title, variants = 'faulty', 'faulty', ('faulty',)"
OWN = "vocabulary = rules = lambda self, *asked: []"
SAID = {
    "pass": "name is None, expected a word",
    "name = 5": "name is 5, expected a word",
    "name = 'faulty'": "title is None, expected a word",
    "name = title = 'faulty'": "variants is None, expected a tuple of words",
    "name = title = variants = 'faulty'": "variants is 'faulty', expected a tuple of words",
    "name = title = 'faulty'; variants = (1,)": "variants is (1,), expected a tuple of words",
    f"{WHOLE}; rank = 'x'": "rank is 'x', expected a number",
    WHOLE: "the family faulty has no module vocabulary beside its own",
    f"{WHOLE}; {OWN}; name = 'conv'": "the family conv is called as another one",
    f"{WHOLE}; {OWN}; variants = ('forward',)": (
        "the family faulty has the variant 'forward' of conv"
    ),
}


@pytest.fixture
def plug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Installs a plug-in whose family has a body."""
    info = tmp_path / "faulty-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ckrules.families]\nfaulty = faulty_family:FAMILY\n")

    def install(body: str) -> None:
        (tmp_path / "faulty_family.py").write_text(FAMILY.format(body=body))
        monkeypatch.syspath_prepend(str(tmp_path))
        families.cache_clear()

    yield install
    monkeypatch.undo()
    sys.modules.pop("faulty_family", None)
    families.cache_clear()


@pytest.mark.parametrize("body", SAID)
def test_a_family_without_what_every_family_has(body: str, plug: Callable[[str], None]) -> None:
    plug(body)
    said = f"the plug-in faulty_family:FAMILY (ckrules.families): {SAID[body]}"
    with pytest.raises(RuleBookError, match=f"^{re.escape(said)}$"):
        families()
    done = run("count", "--variant", "bwd_weight", "--arch", "gfx942", "--dtype", "fp16")
    assert (done.exit_code, done.stderr) == (2, f"error: {said}\n")
    assert run("archs").exit_code == 0


@pytest.mark.parametrize("place", ["no_such_module:NAMING", "ckrules.kernels.family:NAMING"])
def test_a_part_that_is_nowhere(place: str, plug: Callable[[str], None]) -> None:
    plug(f"{WHOLE}; {OWN}; parts = {{'naming': {place!r}}}")
    said = re.escape(f"the part naming of the family faulty ({place}) cannot be loaded: ")
    with pytest.raises(CkrulesError, match=f"^{said}"):
        _ = named("faulty").naming


WORDS = """
    def vocabulary(self, ck, gpus):
        from ckrules import Enum, Vocabulary
        return Vocabulary([Enum("variant", ["faulty"]), Enum("arch", ["gfx942"])])
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("; vocabulary = lambda self, ck, gpus: 1 // 0; rules = lambda self: []", "zero"),
        (f"{WORDS}    rules = lambda self: 1 // 0", "zero"),
        (f"{WORDS}    rules = lambda self: None", "'NoneType' object is not iterable"),
        (f"{WORDS}    rules = lambda self: [5]", "5 is not a rule"),
    ],
)
def test_a_family_that_raises_when_it_is_asked(
    body: str, said: str, plug: Callable[[str], None]
) -> None:
    plug(WHOLE + body)
    done = run("count", "--variant", "faulty")
    place = "error: the plug-in faulty_family:Faulty (ckrules.families): the family faulty: "
    assert done.exit_code == 2
    assert done.stderr.startswith(place)
    assert done.stderr.endswith(f"{said}\n")


def test_a_vocabulary_without_a_baseline_is_explained(plug: Callable[[str], None]) -> None:
    words = WORDS.replace("])]", "]), Enum('odd', ['x'])]")
    plug(f"{WHOLE}{words}    rules = lambda self: []")
    done = run("explain", "odd")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("# odd")
