"""The rooms import one way, no modules import each other, and the drawing shows it."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.helpers.scripts import load


@pytest.fixture(scope="module")
def architecture() -> ModuleType:
    return load("architecture")


def test_the_tree_is_in_order(architecture: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert architecture.main(["--check"]) == 0, capsys.readouterr().out


def test_every_module_has_a_room(architecture: ModuleType) -> None:
    rooms = {r for row in architecture.LAYERS for r in row}
    found = {architecture.room(m) for m in architecture.modules()}
    assert found - {""} == rooms
    assert sorted(m for m in architecture.modules() if not architecture.room(m)) == [
        "ckrules", "ckrules.__main__",
    ]  # fmt: skip


def test_what_goes_up_or_round_is_found(architecture: ModuleType) -> None:
    graph = {
        "ckrules.engine.space": frozenset({"ckrules.kernels.books"}),
        "ckrules.kernels.books": frozenset({"ckrules.engine.space"}),
        "ckrules.device.pool": frozenset({"ckrules.certify.oracle"}),
        "ckrules.certify.oracle": frozenset(),
    }
    assert architecture.rising(graph) == [
        ("ckrules.engine.space", "ckrules.kernels.books"),
        ("ckrules.device.pool", "ckrules.certify.oracle"),
    ]
    assert architecture.circles(graph) == [["ckrules.engine.space", "ckrules.kernels.books"]]


def test_the_engine_knows_nothing_of_gpus(architecture: ModuleType) -> None:
    """Nor of kernels: it could be taken out and used for anything."""
    graph = architecture.imports(architecture.modules())
    engine = (m for m in graph if architecture.room(m) in ("engine", "reasoning"))
    reached = {architecture.room(t) for m in engine for t in graph[m]}
    assert reached == {"engine", "reasoning", "support"}
