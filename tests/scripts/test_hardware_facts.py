"""The facts of every GPU are what LLVM's assembler and back end say, and a wrong one is found."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import pytest

from ckrules.arch import Gpu, known, load
from scripts import hardware_facts


@pytest.fixture(autouse=True)
def _llvm() -> None:
    lacking = [p for p in ("llvm-mc-22", "llc-22") if shutil.which(p) is None]
    if lacking and os.environ.get("CKRULES_REQUIRE_TOOLCHAIN") == "1":
        pytest.fail(f"CKRULES_REQUIRE_TOOLCHAIN=1, but there is no {lacking[0]}")
    if lacking:
        pytest.skip(f"no {lacking[0]}: make toolchain")


def differences(gpu: Gpu) -> list[str]:
    return [str(a) for a in hardware_facts.answers(gpu) if not a.agrees]


@pytest.mark.toolchain
@pytest.mark.parametrize("name", known())
def test_files_say_what_llvm_says(name: str) -> None:
    gpu = load(name)
    found = hardware_facts.answers(gpu)
    assert [str(a) for a in found if not a.agrees] == []
    assert len(found) == len(gpu.tiles) + 6


@pytest.mark.toolchain
def test_wrong_facts_are_found() -> None:
    gpu = load("gfx942")
    wide = next(t for t in gpu.tiles if t.a == "fp16" and t.shape == (32, 32, 16))
    assert wide.kind == "iterated"
    others = tuple(t for t in gpu.tiles if t is not wide)
    wrong = replace(
        gpu,
        tiles=(*others, replace(wide, kind="native")),
        lds_bytes=163840,
        vgprs_per_wave=256,
        direct_to_lds_bytes=(4, 16),
        features=gpu.features | {"lds_transpose_load", "tdm"},
        global_load_bytes=(4,),
    )
    assert differences(wrong) == [
        "gfx942: fp16 fp16 32x32x16 is one instruction: True, but LLVM says False",
        "gfx942: bytes of a global load: (4,), but LLVM says (1, 2, 4, 8, 12, 16)",
        "gfx942: bytes of a load to LDS: (4, 16), but LLVM says (4,)",
        "gfx942: LDS reads that transpose: True, but LLVM says False",
        "gfx942: a tensor data mover: True, but LLVM says False",
        "gfx942: vector registers of a lane: 256, but LLVM says 512",
        "gfx942: bytes of LDS: 163840, but LLVM says fits, and with 16 more: [False, False]",
    ]
    native = next(t for t in gpu.tiles if t.kind == "native")
    assert len(differences(replace(gpu, tiles=(replace(native, kind="iterated"),)))) == 1
    assert len(differences(replace(gpu, lds_bytes=32768))) == 1


@pytest.mark.toolchain
def test_instructions_that_tell_gpus_apart() -> None:
    """xf32 left with gfx942, scaled products of fp6 and fp4 came with gfx950."""
    lines = [
        "v_mfma_f32_16x16x8_xf32 v[0:3], v[4:5], v[6:7], v[0:3]",
        "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:9], v[12:17], v[0:3] cbsz:2 blgp:2",
        "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:11], v[0:3], v12, v13 cbsz:4 blgp:4",
        "v_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], v[0:3]",
        "v_mfma_i32_16x16x64_i8 v[0:3], v[4:7], v[8:11], v[0:3]",
    ]
    assert hardware_facts.accepted("gfx942", lines) == [True, False, False, False, False]
    assert hardware_facts.accepted("gfx950", lines) == [False, True, True, True, True]


@pytest.mark.toolchain
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert hardware_facts.main(["gfx950", "-v"]) == 0
    shown = capsys.readouterr()
    assert "gfx950: bytes of LDS: 163840\n" in shown.out
    assert "gfx950: bytes of a load to LDS: (4, 12, 16)\n" in shown.out
    assert shown.err.endswith(" facts, 0 differ\n")
