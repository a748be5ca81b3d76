"""Headers that units share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckrules.compiling import toolchain
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.compile_commands import Recipe
from ckrules.compiling.precompiled import Precompiled, SharedHeaders, head_of
from ckrules.compiling.tasks import Task, is_runtime_header
from tests.compiling.kernels import SetHeaders
from tests.compiling.test_parts import tools
from tests.helpers.toolchain import require_toolchain

pytestmark = pytest.mark.whole

UNIT = """// a comment
#define CKRULES_TYPES_ONLY 1
#include "runtime/ckrules_device.h"

#include "kernel.hpp"

namespace k = kernel;
#include "runtime/late.hpp"
"""
HEADER = """#pragma once

#include <vector>
#include "ck_tile/core.hpp"
namespace kernel {}
#define LATER
"""
SOURCES = {
    "kernel.device.cpp": UNIT,
    "kernel.hpp": HEADER,
    "runtime/ckrules_device.h": "",
    "runtime/ckrules_exports.map": "",
}


def task(unit: str = UNIT, flags: tuple[str, ...] = ()) -> Task:
    """A device unit and its header."""
    sources = SOURCES | {"kernel.device.cpp": unit}
    return Task("kernel", Artifact.DEVICE, Recipe("2025.11", "gfx942", (), flags=flags), sources)


def test_the_head_is_what_every_such_unit_begins_with() -> None:
    assert head_of(task()) == "\n".join(
        [
            "#define CKRULES_TYPES_ONLY 1",
            '#include "runtime/ckrules_device.h"',
            "#include <vector>",
            '#include "ck_tile/core.hpp"',
        ]
    )


def test_a_unit_without_the_kernels_header_has_none() -> None:
    assert head_of(task(UNIT.replace('#include "kernel.hpp"', ""))) is None
    assert head_of(task("int x;\n" + UNIT)) is None


def test_only_headers_are_taken_from_elsewhere() -> None:
    found = [path for path in task().sources if is_runtime_header(path)]
    assert found == ["runtime/ckrules_device.h"]


def test_units_of_other_flags_have_other_headers(tmp_path: Path) -> None:
    shared, compiler = SharedHeaders(), tools(tmp_path)
    for each in (task(), task(), task(flags=("-O1",)), task(flags=("-O1",))):
        assert shared.flags(each, compiler) == ()  # not worth it yet
    assert len(shared._known) == 2


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The headers that are said to be compiled, each to one flag; no compiler runs."""
    found: list[str] = []

    def compiled(self: Precompiled, head: str) -> tuple[str, ...]:
        found.append(head)
        return ("-flag",)

    monkeypatch.setattr(Precompiled, "_compiled", compiled)
    return found


def test_headers_are_compiled_at_once_for_enough_units(tmp_path: Path, made: list[str]) -> None:
    """A build knows how many there are; else the first ones say so."""
    shared, compiler = SharedHeaders(), tools(tmp_path)
    assert shared.flags(task(), compiler, coming=2) == ()
    assert shared.flags(task(flags=("-O1",)), compiler, coming=3) == ("-flag",)
    assert shared.flags(task(flags=("-O1",)), compiler, coming=3) == ("-flag",)
    assert len(made) == 1


def test_kernels_of_several_folders_share_headers(tmp_path: Path, made: list[str]) -> None:
    """Each is built by a session of its own; three of a GPU pay for the headers at the first."""
    compiler = tools(tmp_path)
    few = SetHeaders([{"arch": "gfx942"}] * 3)
    assert few.flags(task(), compiler) == few.flags(task(), compiler) == ("-flag",)
    assert len(made) == 1
    assert SetHeaders([{"arch": "gfx90a"}] * 3).flags(task(), compiler) == ()


@pytest.mark.toolchain
@pytest.mark.parametrize("artifact", [Artifact.DEVICE, Artifact.HOST])
@pytest.mark.parametrize(
    "compiler", ["clang-19", pytest.param("clang-22", marks=pytest.mark.certify)]
)
def test_compilers_read_the_headers_that_they_wrote(compiler: str, artifact: Artifact) -> None:
    """clang 19 took functions of HIP for host and device for two of one module.

    `make certify` asks clang 22, too.
    """
    require_toolchain()
    shared, tool = SharedHeaders(), toolchain.require("2025.11", compiler, None, "gfx942")
    asked = replace(task(), artifact=artifact, sources=SOURCES | {"kernel.host.cpp": UNIT})
    assert shared.flags(asked, tool) == shared.flags(asked, tool) == ()
    assert "-include-pch" in shared.flags(asked, tool)
