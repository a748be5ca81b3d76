"""No option that selects is dropped: each changes a command's answer, or is refused in one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest

from ckrules import kernel_space
from ckrules.cli.group import cli
from ckrules.constraints.catalogs import STAGES
from ckrules.support.errors import UsageError
from tests.cli.run import SMALL, run, write

pytestmark = pytest.mark.whole

STORY = ("--arch", "gfx1201", "--variant", "bwd_weight", "--dtype", "fp16", "--ndim", "2")
TINY = ("--catalog", "tiny", "--variant", "forward", "--dtype", "fp16", "--ndim", "2")


def _space_commands() -> list[str]:
    context = cli.make_context("ckrules", [], resilient_parsing=True)
    found = {n: cli.get_command(context, n) for n in cli.list_commands(context)}
    taking = [n for n, c in found.items() if c and any(p.name == "catalog" for p in c.params)]
    return [n for n in taking if n not in (*RANKING, *SERVING)]


#: Nothing is known of the times of depthwise kernels: these have a test of their own.
RANKING = ("rank", "search")
#: Goes on until it is ended: tests/explore holds its options.
SERVING = ("explore",)
#: A command's words besides the selection. A new command that selects needs a line here.
WORDS = {
    "count": ("--by", "tile_h"),
    "cover": ("--problems", "PROBLEMS"),
    "diff": ("filter=3", "filter=5"),
    "enumerate": ("--format", "names"),
    "lint": ("--select", "LINT002,LINT003", "--timeout", "5", "--format", "json"),
    "portable": ("--limit", "9999"),
    "report": ("space", "-o", "-"),
    "sample": ("--format", "names", "--seed", "3", "-n", "20"),
    "why": (),
}
BASE = {
    "--variant": "forward_depthwise",
    "--arch": "gfx942,gfx950",
    "--dtype": "fp16",
    "--set": "nbatch=1 stride_h=1 stride_w=1 pad_h=1 pad_w=1",
    "--where": "tile_h <= 8",
}
#: One change for each option; where it makes no sense beside the others, it must be refused.
CHANGES: dict[str, dict[str, str]] = {
    "--family": {"--family": "conv"},
    "--variant": {"--variant": "forward"},
    "--arch": {"--arch": "gfx90a,gfx1250"},
    "--dtype": {"--dtype": "fp16,fp32"},
    "--ndim": {"--ndim": "3"},
    "--layout": {"--layout": "nhwgc"},
    "--set": {"--set": "nbatch=2 stride_h=2 stride_w=2 pad_h=0 pad_w=0"},
    "--where": {"--where": "tile_h <= 1"},
    "--catalog": {"--catalog": "full"},
    "--stage": {"--catalog": "default", "--stage": "legal"},
    "--ck": {"--ck": "2025.11"},
    "--profile": {"--profile": "dispatcher"},
    "--distinct": {"--distinct": ""},
}

#: Where a report says what was asked for, and not what came out.
_REQUEST = re.compile(r"<(title|h1|pre)\b.*?</\1>", re.DOTALL)


def _words(command: str, options: dict[str, str], folder: Path) -> list[str]:
    out = [command, *WORDS[command]]
    out = [str(folder / "problems.csv") if w == "PROBLEMS" else w for w in out]
    for option, value in options.items():
        values = value.split() if option == "--set" else [value]
        out += [w for v in values for w in (option, v) if w]  # a flag has no value
    return out


def _answer(words: list[str]) -> tuple[int, str, str]:
    result = run(*words)
    assert result.exit_code in (0, 1, 2, 3), result.stderr
    assert "internal error" not in result.stderr
    answer = _REQUEST.sub("", result.stdout)
    return result.exit_code, answer, result.stderr


@pytest.mark.parametrize("command", _space_commands())
def test_every_option_counts_or_is_refused(command: str, tmp_path: Path) -> None:
    write(tmp_path, "problems.csv", "N,C,K,H,W,Y,X,G\n1,8,8,9,9,3,3,8\n")
    base = dict(BASE)
    if command == "diff":
        base["--arch"] = "gfx942"
    code, plain, _ = _answer(_words(command, base, tmp_path))
    assert code in (0, 1)
    for option, change in CHANGES.items():
        changed = {**base, **change}
        if command == "diff" and option == "--arch":
            changed["--arch"] = "gfx942,gfx950"
        code, answer, said = _answer(_words(command, changed, tmp_path))
        assert code == 2 or answer != plain, f"{command} drops {option}"
        assert code != 2 or said.count("error: ") == 1, said


@pytest.mark.parametrize("command", RANKING)
def test_options_count_where_kernels_are_ranked(command: str) -> None:
    problem = "N=2,C=64,K=64,H=14,W=14,Y=3,X=3,pad=1"
    own = [command, "--problem", problem, "--draw", "300", "-n", "5", "--format", "names"]
    base = {"--variant": "forward", "--arch": "gfx950", "--dtype": "bf16",
            "--where": "tile_m <= 64 & pipeline == 'compv3'"}  # fmt: skip
    changes = {
        "--family": "depthwise", "--variant": "bwd_data", "--arch": "gfx942", "--dtype": "fp16",
        "--ndim": "3", "--layout": "nhwg", "--set": "tile_m=64", "--where": "tile_m <= 32",
        "--catalog": "full", "--ck": "2025.11", "--profile": "dispatcher",
    }  # fmt: skip

    def answer(options: dict[str, str]) -> tuple[int, str, str]:
        return _answer([*own, *(w for pair in options.items() for w in pair)])

    code, plain, said = answer(base)
    assert code == 0, said
    for option, value in changes.items():
        code, found, said = answer({**base, option: value})
        assert code in (2, 3) or found != plain, f"{command} drops {option}"
        assert code != 2 or said.count("error: ") == 1, said


def test_every_selecting_option_has_a_change() -> None:
    context = cli.make_context("ckrules", [], resilient_parsing=True)
    command = cli.get_command(context, "count")
    assert command is not None
    options = {p.opts[0] for p in command.params if isinstance(p, click.Option)}
    own = {"--by", "--shard", "--format", "-o", "--color", "--debug", "--arch-file"}
    assert options - own == set(CHANGES)


@pytest.mark.parametrize(("stage", "code"), [("listed", 0), ("generated", 1), ("legal", 1)])
def test_why_tells_what_each_stage_leaves(stage: str, code: int) -> None:
    result = run("why", "--catalog", "full", "--stage", stage, *STORY, "--format", "json")
    assert result.exit_code == code
    answer = json.loads(result.stdout)
    for name in STAGES:
        counted = run("count", "--catalog", "full", "--stage", name, *STORY)
        assert answer["stages"][name]["count"] == int(counted.stdout)
    assert answer["stages"]["listed"]["count"] == 756
    assert answer["stages"]["generated"]["removed"] == {"DISP003": 756, "DISP004": 514}
    assert answer["stages"]["legal"]["count"] == 0
    assert answer["stages"]["legal"]["removed"]["WARP002"] == 756


def test_why_names_the_option_that_empties_a_list() -> None:
    result = run("why", *TINY, "--arch", "gfx942", "--set", "tile_m=512")
    assert result.exit_code == 1
    assert "without --set tile_m=512: 10 listed" in result.stdout
    assert result.stdout.count("without ") == 1


@pytest.mark.parametrize("stage", ["listed", "legal"])
def test_portable_and_diff_stay_in_the_catalog(stage: str) -> None:
    words = (*TINY, "--stage", stage, "--where", "tile_k > 0")  # without depthwise kernels
    gpus = ("gfx942", "gfx950")
    listed = {}
    for gpu in gpus:
        found = run("enumerate", *words, "--arch", gpu, "--format", "jsonl", "-q")
        rows = [json.loads(line) for line in found.stdout.splitlines()]
        listed[gpu] = {tuple(v for k, v in r.items() if k != "arch") for r in rows}
    both = len(listed["gfx942"] & listed["gfx950"])
    assert both
    portable = run("portable", *words, "--arch", ",".join(gpus))
    assert int(portable.stdout) == both
    answer = json.loads(run("diff", *gpus, *words, "--format", "json").stdout)
    assert answer["both"] == both
    only = [answer[k]["count"] for k in ("only_a", "only_b")]
    assert only == [len(listed[g]) - both for g in gpus]


def test_diff_compares_stages_of_a_catalog() -> None:
    result = run("diff", "listed", "legal", "--catalog", "full", *STORY)
    assert result.exit_code == 1
    assert result.stdout.startswith("only listed: 756\nboth: 0\nonly legal: 0\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["why", "NAME", "--catalog", "tiny"], "--catalog does not go with a configuration"),
        (["why", "NAME", "--where", "ndim == 2"], "--where does not go with a configuration"),
        (["why", "NAME", "--set", "tile_m=64"], "--set tile_m does not go with a configuration"),
        (["why", "--deep", "--arch", "gfx942"], "--deep needs a configuration"),
        (["cover", "NAME", "--catalog", "tiny", "--symbolic", "N == 1"], "--catalog does not go"),
        (["diff", "gfx942", "gfx950", "--arch", "gfx90a"], "both say the arch"),
        (["diff", "2025.11", "2026.06", "--ck", "2025.11"], "both say the ck"),
        (["diff", "tiny", "full", "--catalog", "full"], "both say the catalog"),
        (["diff", "gfx942,gfx950", "gfx950"], "arch is given twice in the side gfx942,gfx950"),
        (["diff", "gfx942", "2025.11,ck=2026.06"], "ck is given twice in the side 2025.11,ck=2026"),
        (["diff", "dtype=fp16,dtype=bf16", "dtype=fp16"], "dtype is given twice"),
        (
            ["fix", "NAME", "--arch", "gfx942", "--weight", "tile_m=1", "--weight", "tile_m=9"],
            "--weight: tile_m is given twice",
        ),
        (["fix", "NAME", "NAME", "--arch", "gfx942"], "one configuration is needed, or FILE POINT"),
        (["fix", "NAME", "--arch", "gfx942", "--keep", "tile_m", "--free", "tile_m"], "both say"),
        (
            [
                "cover",
                "NAME",
                "--arch",
                "gfx942",
                "--symbolic",
                "C == 8",
                "--range",
                "C=8..8",
                "--range",
                "C=9",
            ],
            "--range: C is given twice",
        ),
        (["cover", "NAME", "--problems", "x.csv", "--range", "C=8"], "--range goes with --symbol"),
        (["portable", "--arch", "gfx942,gfx950", "--seed", "3"], "--seed goes with --sample"),
        (["graph", "space.json", "--variant", "forward"], "--variant does not go with a file"),
        (["count", "--set", "tile_m=128,tile_n=128"], "sets two fields: repeat --set"),
        (["count", "--arch", "gfx942", "--arch", "gfx950"], "--arch is given twice"),
        (["check", "NAME", "--format", "json", "--format", "sarif"], "--format is given twice"),
        (
            ["rank", "foo", "--problem", "M=1,N=1,K=1", "--variant", "gemm"],
            "--variant does not go with kernels by name ('foo'): leave out one or the other",
        ),
        (["count", "--family", "depthwise", "--variant", "forward"], "not a variant of the family"),
        (
            ["count", "--catalog", "full", "--family", "depthwise", "--variant", "forward"],
            "not a variant of the family",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(words: list[str], said: str) -> None:
    name = "grouped_conv_fwd_fp16_nhwgc_2d_mem_cshuffle_intrawave_64x64x64_2x2x1_32x32x8_vec8_8_8"
    result = run(*(name if w == "NAME" else w for w in words))
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_small_part_is_the_same_by_fields_and_by_conditions() -> None:
    by_set = run("count", *SMALL).stdout
    fields = [w for w in SMALL if "=" in w]
    where = [w for f in fields for w in ("--where", f.replace("=", " == "))]
    plain = [w for w in SMALL if w not in ("--set", *fields)]
    assert run("count", *plain, *where).stdout == by_set


FORWARD = ("--variant", "forward", "--arch", "gfx942", "--dtype", "fp16")


@pytest.mark.parametrize("command", ["count", "enumerate", "sample"])
def test_a_value_that_no_kernel_has_is_an_error(command: str) -> None:
    """Not a silent 0."""
    refused = run(command, *FORWARD, "--set", "tile_m=64,77")
    assert (refused.exit_code, refused.stderr) == (2, "error: tile_m is never 77; nearest 80\n")


def test_diff_says_what_to_do_with_a_file_of_a_space(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text('{"variables": [{"name": "a", "values": [1, 2]}], "constraints": ["a > 1"]}')
    done = run("diff", str(file), str(file))
    assert done.exit_code == 2
    assert "describes a space cannot be a side of diff: ckrules count or enumerate" in done.stderr


def test_why_explains_a_value_that_no_kernel_has() -> None:
    """Values between the candidates may be asked for."""
    with pytest.raises(UsageError, match="tile_m is never 77; nearest 80"):
        kernel_space(variant="forward", arch="gfx942", dtype="fp16", tile_m=77).count()
    few = ("--ndim", "2", "--set", "pipeline=compv3", "--set", "epilogue=cshuffle")
    assert "tile_m = 77 cannot hold" in run("why", *FORWARD, *few, "--set", "tile_m=77").stdout
    assert int(run("count", *FORWARD, "--set", "tile_m=144").stdout) > 0
