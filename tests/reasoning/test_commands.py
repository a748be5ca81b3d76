"""The reasoning commands: answers, formats and exit codes."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ckrules.cli.group import cli
from ckrules.reasoning import nearest
from tests.cli.run import legal

NAME = "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_96x128x64_2x2x1_32x32x16_vec8_8_8"
PART = ("--variant", "forward", "--dtype", "fp16", "--ndim", "2")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


class TestWhy:
    def test_configuration(self) -> None:
        """The violated rule, the conflict and the source are named."""
        result = run("why", "--arch", "gfx942", NAME)
        assert result.exit_code == 1
        assert "TILE001 [compile] the waves do not cover the tile along M: tile_m" in result.output
        assert (
            "tile_m = 96 and wave_m = 2 and warp_tile_m = 32 and pipeline = 'compv3' cannot"
            in result.output
        )
        assert "source: ops/gemm" in result.output

    def test_warning(self) -> None:
        """What breaks rules of severity warning alone is legal, as check says."""
        merged = legal(variant="bwd_data", vector_b=1, num_groups_to_merge=64)
        result = run("why", json.dumps(merged))
        assert result.exit_code == 0
        assert "  legal: only rules of severity warning are broken\n  OP004 [" in result.output
        found = json.loads(run("why", json.dumps(merged), "--format", "json").stdout)
        assert found["legal"]
        verdict = json.loads(run("check", "--isolated", "--verdicts", json.dumps(merged)).stdout)
        assert verdict["legal"]
        assert [v["code"] for v in found["violations"]] == ["OP004"]

    def test_warnings_of_check(self) -> None:
        """`check` warned of a rule, and `why` said that none was broken."""
        spills = legal(tile_m=512, tile_n=512, tile_k=16, wave_m=1, wave_n=1)
        assert "HW002" in run("check", json.dumps(spills)).output
        result = run("why", json.dumps(spills))
        assert result.exit_code == 0
        assert "  legal: only rules of severity warning are broken\n  HW002 [" in result.output

    def test_the_core_is_what_makes_it_illegal(self) -> None:
        """A warning about fewer values was shown as the core."""
        point = legal(tile_m=320, tile_n=320, tile_k=48, wave_m=1, wave_n=1, pipeline="mem")
        point |= {"vector_a": 1, "vector_b": 1}
        answer = json.loads(run("why", json.dumps(point), "--format", "json").output)
        assert "HW002" in [v["code"] for v in answer["violations"]]
        assert not answer["legal"]
        assert "HW002" not in [r["code"] for r in answer["core"]["rules"]]

    def test_region(self) -> None:
        """An empty region is explained, another one has a witness."""
        result = run("why", "--where", "pipeline == 'comp_async' & arch == 'gfx1201'")
        assert result.exit_code == 1
        assert "PIPE005: comp_async does not run on gfx1201, only gfx950" in result.output
        other = run(
            "why", "--where", "pipeline == 'compv4' & arch == 'gfx1201'", "--format", "json"
        )
        assert other.exit_code == 0
        assert json.loads(other.stdout)["witness"]["pipeline"] == "compv4"

    def test_region_has_numbers(self) -> None:
        """Of a limit the least is told, with the fields that it comes from."""
        held = ("tile_m=128", "pipeline=compv4", "tile_k=128")
        sets = [word for h in held for word in ("--set", h)]
        result = run("why", "--arch", "gfx1201", *sets, "--format", "json")
        numbers = json.loads(result.stdout)["numbers"]
        assert len(numbers) == 1
        assert numbers[0].startswith("LDS001: even at the least, LDS: 2 * (tile_m * tile_k")
        assert numbers[0].endswith("= 73728 bytes, more than the 65536 of gfx1201")

    @pytest.mark.whole
    def test_examples_lie_in_the_region(self) -> None:
        """Numbers are those of kernels that were asked for, and that break no other rule."""
        sizes = "tile_m == 512 & tile_n == 512 & tile_k == 512"
        asked = ("--variant", "forward", "--arch", "gfx942", "--dtype", "fp16")
        (line,) = json.loads(run("why", *asked, "--where", sizes, "--format", "json").stdout)[
            "numbers"
        ]
        assert (
            "= 512 * 512 * 2 + 512 * 512 * 2 = 1048576 bytes, more than the 65536 of gfx942" in line
        )
        large = ("--arch", "gfx1201", "--where", "lds_bytes > 65536", "--format", "json")
        (line,) = json.loads(run("why", *PART[:4], *large).stdout)["numbers"]
        assert line.endswith("bytes, more than the 65536 of gfx1201")
        assert "warp_tile_m" not in line  # 4, with 27 waves: on no kernel of gfx1201

    def test_nothing_asked(self) -> None:
        """Without a configuration or region there is nothing to explain."""
        assert run("why").exit_code == 2

    def test_broken_json(self) -> None:
        """JSON that cannot be read is bad input."""
        assert run("why", '{"variant": ').exit_code == 2


class TestFix:
    def test_nearest(self) -> None:
        """The fixes come as JSON with their changes."""
        result = run("fix", "--arch", "gfx942", NAME, "-n", "2", "--format", "json")
        fixes = json.loads(result.stdout)["fixes"]
        assert [f["changes"]["wave_m"]["to"] for f in fixes] == [1, 1]
        assert [f["cost"] for f in fixes] == sorted(f["cost"] for f in fixes)
        assert result.exit_code == 0

    def test_several_configurations(self, tmp_path: Path) -> None:
        """What is said helps, whatever the format and however they became several."""
        path = tmp_path / "names.txt"
        path.write_text(f"{NAME}\n{NAME.replace('96x', '64x')}\n", encoding="utf-8")
        said = run("fix", "--arch", "gfx942", str(path)).stderr
        assert "one configuration is needed, not 2: its name says which" in said
        said = run("fix", "--arch", "gfx942,gfx950", NAME).stderr
        assert "one configuration is needed, not 2: give one GPU" in said

    def test_nothing_keeps_the_fields(self) -> None:
        """What makes a fix impossible is named."""
        point = '{"variant": "forward", "arch": "gfx1201", "dtype": "fp32", "ndim": 2, '
        point += '"tile_m": 64, "tile_n": 64, "tile_k": 32, "wave_m": 2, "wave_n": 2, '
        point += '"wave_k": 1, "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16, '
        point += '"pipeline": "mem", "scheduler": "intrawave", "epilogue": "cshuffle", '
        point += '"vector_a": 4, "vector_b": 4, "vector_c": 4}'
        result = run("fix", point)
        assert result.exit_code == 1
        assert "arch = 'gfx1201' and dtype = 'fp32' cannot hold together" in result.output

    def test_fields_that_only_a_warning_refuses(self) -> None:
        """The configuration itself is legal: nothing legal was said to keep its fields."""
        point = legal(variant="bwd_data", vector_b=1, num_groups_to_merge=64)
        held = ("variant", "vector_b", "num_groups_to_merge")
        result = run("fix", json.dumps(point), "--keep", ",".join(held))
        assert result.exit_code == 1
        assert "  nothing legal without a warning keeps variant, arch, " in result.output

    def test_what_was_found_in_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Fixes that are known when the time is over are shown, and that there may be more."""
        listed = nearest._listed
        monkeypatch.setattr(nearest, "_listed", lambda *given: listed(*given[:3], 1, inf))
        words = ("fix", "--arch", "gfx942", NAME, "-n", "200", "--timeout", "1e-6")
        result = run(*words)
        assert result.exit_code == 4
        assert result.stdout.splitlines()[1].startswith("  1. ")
        said = "not known within 1e-06 s"
        assert result.stdout.endswith(f"\n  undecided whether there are more: {said}\n")
        assert json.loads(run(*words, "--format", "json").stdout)["undecided"] == said
        monkeypatch.setattr(nearest, "_listed", lambda *given: ([], -1, False))
        assert (run(*words).exit_code, run(*words).stdout) == (4, "")

    @pytest.mark.parametrize("option", [("--keep", "tile"), ("--weight", "tile_m=x")])
    def test_bad_options(self, option: tuple[str, str]) -> None:
        """Misspelt fields and weights are refused."""
        assert run("fix", "--arch", "gfx942", NAME, *option).exit_code == 2


class TestDiff:
    def test_equal(self) -> None:
        """Equal sides exit with 0."""
        result = run("diff", "gfx1200", "gfx1201", *PART)
        assert result.exit_code == 0
        assert "equal" in result.output

    def test_catalogs(self) -> None:
        """Two catalogs are compared like rule books."""
        result = run("diff", "tiny", "full", *PART, "--arch", "gfx942", "--format", "json")
        answer = json.loads(result.stdout)
        assert (answer["only_a"]["count"], answer["both"]) == (0, 8)
        assert result.exit_code == 1

    def test_unknown_side(self) -> None:
        """A misspelt side has near matches."""
        result = run("diff", "gfx94", "gfx950")
        assert result.exit_code == 2

    def test_own_books(self, tmp_path: Path) -> None:
        """A user's rule books are Python files."""
        text = (
            "from ckrules import Int, RuleBook, Vocabulary\n"
            "from ckrules.engine.rules import Rule\n"
            "words = Vocabulary([Int('m', range(10))])\n"
            "def book():\n"
            "    return RuleBook('mine', words,\n"
            "        [Rule('MY001', 'too-big', 'compile', words.m < {})], check=False)\n"
        )
        files = [tmp_path / f"rules{k}.py" for k in (0, 1)]
        for k, file in enumerate(files):
            file.write_text(text.format(4 + k))
        sides = [f"{file}:book" for file in files]
        result = run("diff", *sides, "--format", "json")
        answer = json.loads(result.stdout)
        assert (answer["both"], answer["only_b"]["count"]) == (4, 1)
        assert answer["only_b"]["rejected_by"][0]["code"] == "MY001"


def test_portable_counts_and_samples() -> None:
    """Points have every field but arch, and lines of JSON the CK version, which `check` takes."""
    words = ("portable", "--arch", "gfx90a,gfx942", *PART, "--sample", "2", "--format")
    answer = json.loads(run(*words, "json").stdout)
    assert answer["count"] > 0
    assert len(answer["points"]) == 2
    assert "arch" not in answer["points"][0]
    lines = run(*words, "jsonl", "--ck", "2025.11").stdout.splitlines()
    assert [json.loads(line)["ck"] for line in lines] == ["2025.11"] * 2


def test_portable_counts_one(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text(NAME, encoding="utf-8")
    said = run("portable", "--arch", "gfx90a,gfx942", "--catalog", str(path)).stderr
    assert said == "1 configuration is in catalog names.txt on all of gfx90a, gfx942\n"


def test_lint_finds_upstreams_contradictions() -> None:
    """The dispatcher removes all that the catalog lists for RDNA and for backward data."""
    result = run("lint", "--profile", "dispatcher", "--select", "LINT001", "--format", "json")
    found = {f["subject"]: set(f["rules"]) for f in json.loads(result.stdout)["findings"]}
    assert result.exit_code == 1
    assert found["variant = 'bwd_data'"] == {"CAT004", "DISP004"}
    rdna = next(rules for subject, rules in found.items() if "gfx1201" in subject)
    assert {"BLDR003", "DISP003"} <= rdna


class TestCover:
    def test_listed_problems(self, tmp_path: Path) -> None:
        """Problems come as CSV or as lines of text."""
        table = tmp_path / "p.csv"
        table.write_text("N,C,K,H,W,Y,X\n32,64,64,28,28,3,3\n")
        where = ("--catalog", "tiny", *PART, "--arch", "gfx942")
        result = run("cover", *where, "--problems", str(table))
        assert result.exit_code == 0
        assert "1 of 1 problem is covered" in result.output

    def test_symbolic(self) -> None:
        """One kernel covers what its vectors divide; a smallest counterexample shows the rest."""
        kernel = NAME.replace("96x128", "64x128")
        words = ("cover", kernel, "--arch", "gfx942", "--symbolic")
        one = ("--range", "G=1..1")
        assert run(*words, "group_c % 8 == 0 & group_k % 8 == 0", *one).exit_code == 0
        result = run(*words, "group_c % 8 == 0", *one, "--format", "json")
        problem = json.loads(result.stdout)["counterexample"]["problem"]
        assert result.exit_code == 1
        assert (problem["C"], problem["K"]) == (8, 1)

    @pytest.mark.parametrize(
        ("field", "said"),
        [("group_c", "--range group_c: not a field, expected"), ("grups", "unknown problem field")],
    )
    def test_ranges_are_of_fields(self, field: str, said: str) -> None:
        """What follows from fields is named in --symbolic, as the help says."""
        words = ("--symbolic", "group_c % 8 == 0", "--range", f"{field}=8..16")
        result = run("cover", "--catalog", "tiny", *PART, "--arch", "gfx942", *words)
        assert result.exit_code == 2
        assert said in result.stderr

    @pytest.mark.slow
    def test_a_whole_space(self) -> None:
        """Millions of kernels are counted, not listed."""
        part = ("cover", "--variant", "bwd_data", "--arch", "gfx942", "--dtype", "fp32")
        where = "tile_m >= 256 & pipeline == 'compv3'"
        words = (*part, "--ndim", "2", "--where", where, "--format", "json")
        few = ("--symbolic", "group_c % 8 == 0", "--range", "G=1..1", "--timeout", "30")
        answer = json.loads(run(*words, *few).stdout)
        count = json.loads(run("count", *words[1:]).stdout)["count"]
        assert answer["kernels"] == count > 2_000_000
        assert answer["covered"] in (True, False)


@pytest.mark.parametrize(
    ("form", "start"), [("mermaid", "graph LR"), ("dot", "graph rules"), ("svg", "<svg")]
)
def test_graph_formats(form: str, start: str) -> None:
    """Each drawing is text of its language, the same every time."""
    first, second = (run("graph", "--format", form).output for _ in range(2))
    assert first.startswith(start)
    assert first == second


def test_graph_text_names_the_width() -> None:
    """Without a format the graph is summarised."""
    assert "elimination order, width" in run("graph").output
