"""`ckrules build` of what is declared: generated first, and nothing is built if it is at fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckrules.compiling.folder import manifests
from tests.cli.run import run

LEGAL = "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x64_2x2x1_16x16x16"
SET = """
DECL_KERNEL_SET(mine,
    .add(Signature().dtype("fp16").layout("rcr"),
         Algorithm().tile(32, 32, 32).wave(1, 2, 1).warp(16, 16, 16).pipeline("%s")
             .scheduler("%s").epilogue("default")%s))
"""
TABLE = f"""
[[kernels]]
name = "{LEGAL}"
arch = "gfx942"
"""


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def declared(
    pipeline: str = "basic_v1", scheduler: str = "default", gpu: str = ', "gfx942"'
) -> str:
    Path("kernels.hpp").write_text(SET % (pipeline, scheduler, gpu))
    return "kernels.hpp"


def built(*words: str) -> tuple[int, str]:
    """The exit code and what was said; the compiler does not exist, so that nothing is built."""
    done = run("build", *words, "--compiler", "nobody", "-j", "1")
    return done.exit_code, done.stderr


def test_what_is_declared_is_generated_first() -> None:
    code, said = built(declared(), "-o", "out", "--ck", "2025.11")
    (kernel,) = manifests(Path("out"))
    assert (kernel.arch, kernel.config["pipeline"], kernel.ck) == ("gfx942", "basic_v1", "2025.11")
    assert "1 kernel; " in said
    assert code == 2  # the compiler was asked for
    assert "nobody" in said


def test_tables_are_read() -> None:
    Path("kernels.toml").write_text(TABLE)
    built("kernels.toml", "-o", "out", "--ck", "2025.11")
    (kernel,) = manifests(Path("out"))
    assert (kernel.name, kernel.arch) == (LEGAL, "gfx942")


def test_names_and_gpus_without_one() -> None:
    code, said = built(LEGAL, "-o", "out", "--ck", "2025.11")
    assert (code, said) == (
        2, f"{LEGAL}: error: no GPU: the configuration has no field arch, so give --arch\n"
    )  # fmt: skip
    assert not Path("out").exists()
    built(LEGAL, "-o", "out", "--ck", "2025.11", "--arch", "gfx942,gfx90a")
    assert {p.name for p in Path("out").iterdir()} >= {"gfx942", "gfx90a"}


def test_places_of_what_is_at_fault() -> None:
    code, said = built(declared(gpu=""), "-o", "out", "--ck", "2025.11")
    assert code == 2
    assert said.startswith("kernels.hpp:3:6: error: no GPU: ")
    code, said = built(declared(scheduler="intrawave"), "-o", "out", "--ck", "2025.11")
    assert code == 1
    assert said.startswith("kernels.hpp:3:6: gemm_fp16_rcr_basic_v1_default_intrawave_")
    assert "GEMM029 basic_v1 with intrawave" in said
    assert "compiler" not in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("kernels.hpp",),
            "kernels.hpp is not a folder: give one that ckrules generate wrote, or -o",
        ),
        (("outt", "--library"), "outt is not a folder"),
        ((".", "kernels.hpp"), ". is a folder: it is built alone"),
        (("",), "'': an empty argument, expected a folder or kernels"),
        ((".", "--ck", "2025.11"), ". is a folder: -o, --arch, --ck, --profile and --arch-file"),
        ((".", "-o", "out"), ". is a folder: -o"),
        ((".", "--arch", "gfx942"), ". is a folder: -o"),
    ],
)
def test_what_makes_no_sense(words: tuple[str, ...], says: str) -> None:
    declared()
    code, said = built(*words)
    assert code == 2
    assert said.startswith(f"error: {says}")
    assert said.count("\n") == 1


def test_the_help_of_library_names_what_it_has() -> None:
    from ckrules.kernels.families import families

    said = " ".join(run("build", "--help").stdout.split())
    line = said.partition("Also build a C library: ")[2].partition(".")[0]
    have = {f.name.partition("_")[0] for f in families().values() if f.library is not None}
    assert {w.replace("attention", "fmha") for w in line.split(", ")} == have
