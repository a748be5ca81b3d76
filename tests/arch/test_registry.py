"""Names of GPUs, target features, and files that a user adds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.arch import known, load, load_all, normalize
from ckrules.support.document import TomlFileError
from ckrules.support.errors import UnknownNameError, UsageError

MINIMAL = (Path(__file__).parent / "data" / "minimal.toml").read_text()


@pytest.mark.parametrize(
    ("given_name", "plain"),
    [
        ("gfx942", "gfx942"),
        ("gfx942:sramecc+:xnack-", "gfx942"),
        ("GFX90A:xnack-", "gfx90a"),
        ("  gfx1201 ", "gfx1201"),
        ("anything", "anything"),
    ],
)
def test_target_features_are_dropped(given_name: str, plain: str) -> None:
    assert normalize(given_name) == plain


@pytest.mark.parametrize(
    "name", ["gfx942:", "gfx942:sramecc", "gfx942:x+", "gfx942:sramecc+-", "gfx942::xnack-", ":"]
)
def test_malformed_suffixes(name: str) -> None:
    with pytest.raises(
        UsageError, match=r"is not a target feature, expected :sramecc or :xnack with"
    ):
        normalize(name)
    with pytest.raises(UsageError):
        load(name)


def test_a_feature_stands_once() -> None:
    with pytest.raises(UsageError, match="has a target feature twice"):
        normalize("gfx942:xnack-:xnack+")


def test_no_name_at_all() -> None:
    with pytest.raises(UsageError, match="has no GPU name"):
        normalize(" ")


@given(st.sampled_from(known()), st.sampled_from([[], [":xnack-"], [":sramecc+", ":xnack+"]]))
def test_features_never_change_the_gpu(name: str, suffixes: list[str]) -> None:
    assert load(name.upper() + "".join(suffixes)) is load(name)


def test_unknown_names_offer_near_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown arch 'gfx1202': did you mean .*'gfx1201'"):
        load("gfx1202:xnack-")
    with pytest.raises(UnknownNameError, match="unknown arch 'mi300': known are gfx908, gfx90a"):
        load("mi300")


@pytest.mark.parametrize("name", ["", "../gfx942", "gfx942.toml", "data/gfx942"])
def test_names_are_no_paths(name: str) -> None:
    with pytest.raises((UnknownNameError, UsageError)):
        load(name)


def test_added_files_and_folders(tmp_path: Path) -> None:
    one, more = tmp_path / "one.toml", tmp_path / "more"
    more.mkdir()
    one.write_text(MINIMAL)
    (more / "b.toml").write_text(MINIMAL.replace("gfx999", "gfx1199"))
    (more / "a.toml").write_text(MINIMAL.replace("gfx999", "gfx9f0"))
    (more / "notes.txt").write_text("no GPU")
    extra = [one, more]
    names = known(extra)
    assert names == tuple(
        sorted({*known(), "gfx999", "gfx1199", "gfx9f0"}, key=lambda n: (len(n), n))
    )
    assert known(extra[::-1]) == names
    assert load("GFX999:xnack-", extra=extra).family == "TEST1"
    assert load("gfx942", extra=extra) is load("gfx942")
    assert tuple(gpu.name for gpu in load_all(extra)) == names
    assert known([one, one, tmp_path / "more" / ".." / "one.toml"]) == known([one])
    with pytest.raises(UnknownNameError, match="did you mean 'gfx999'"):
        load("gfx9999", extra=extra)
    with pytest.raises(UnknownNameError):
        load("gfx999")


def test_a_name_comes_once(tmp_path: Path) -> None:
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text(MINIMAL)
    two.write_text(MINIMAL)
    with pytest.raises(UsageError, match=r"two\.toml: GPU 'gfx999' is already in .*one\.toml"):
        known([one, two])
    two.write_text(MINIMAL.replace("gfx999", "gfx942"))
    with pytest.raises(UsageError, match="GPU 'gfx942' is already one of the package's own"):
        load("gfx90a", extra=[two])


def test_added_places_without_a_gpu(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no GPU file"):
        known([tmp_path])
    with pytest.raises(UsageError, match="cannot read the GPU file"):
        known([tmp_path / "none.toml"])
    (tmp_path / "bad.toml").write_text("[gpu]\n")
    with pytest.raises(TomlFileError, match=r"bad\.toml:1:1: the file has no key 'lds'"):
        known([tmp_path])
