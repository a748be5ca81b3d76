"""`ckrules report`: what its pages say, checked against the commands that say the same."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ckrules.compiling.database import FILE
from ckrules.compiling.folder import ManifestEntry
from ckrules.compiling.results import Result, Results
from ckrules.constraints.conv.problem import parse
from ckrules.device.jobs import RunOutcome, RunStatus
from ckrules.device.store import Runs, StoredRun
from ckrules.kernels.books import Books
from ckrules.kernels.names import format_name
from ckrules.kernels.selection import select
from ckrules.readers.space_file import read_space
from tests.cli.run import run

pytestmark = pytest.mark.whole

pytest.importorskip("matplotlib")

SMALL = (
    *("--variant", "forward", "--arch", "gfx942", "--dtype", "fp16", "--ndim", "2"),
    *("--set", "tile_k=32", "--set", "tile_m=64,128", "--where", "pipeline == 'compv3'"),
)
SPACE = str(Path(__file__).parents[1] / "data" / "spaces" / "gemm.json")
HOSTILE = "</td><script>alert(1)</script>\x1b[31m\u202e"
#: Elements that have no end.
_VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """A page's elements, and whether every one of them that begins also ends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: dict[str, list[str]] = {}
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and self.open:
            self.words.setdefault(self.open[-1], []).append(data.strip())

    def facts(self) -> dict[str, str]:
        """What stands at the top."""
        return dict(zip(self.words["dt"], self.words["dd"], strict=True))


def report(tmp_path: Path, *words: str) -> tuple[Page, str]:
    """The page of a report, and its text; whatever it is of, it asks for nothing."""
    file = tmp_path / "report.html"
    done = run("report", *words, "-o", str(file))
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    assert done.stderr.startswith(f"{file}: ")
    text = file.read_text(encoding="utf-8")
    page = Page(text)
    assert "script" not in {tag for tag, _, _ in page.attributes} | set(page.words)
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), (tag, name)
        if name in ("src", "href", "xlink:href", "action", "srcset"):
            assert value.startswith(("#", "data:image/png")), (tag, name, value[:80])
    assert "url(" not in re.sub(r"url\(#", "", text)
    assert "@import" not in text
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = {v[1:] for _, n, v in page.attributes if n == "href" and v.startswith("#")}
    assert links <= set(ids)
    return page, text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the small space's report, which says where it was written."""
    return tmp_path_factory.mktemp("small")


@pytest.fixture(scope="module")
def small(place: Path) -> tuple[Page, str]:
    """The report of the small space."""
    return report(place, "space", *SMALL)


def test_space(place: Path, small: tuple[Page, str]) -> None:
    page, text = small
    given = {"variant": "forward", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "tile_k": 32,
             "tile_m": [64, 128]}  # fmt: skip
    space = select(Books(), given, ["pipeline == 'compv3'"]).space
    assert page.facts()["configurations"] == f"{space.count():,}"
    for n in (
        *space.counts_by("epilogue").values(),
        *space.counts_by("tile_m", "tile_n").values(),
    ):
        assert f"<td>{n:,}</td>" in text or not n
    drawn = "ckrules report space --variant forward --arch gfx942"
    assert page.words["code"][0].startswith(drawn)
    for title in ("Roofline", "Predicted fastest", "Rules that take most"):
        assert title in page.words["h2"]
    assert "Nothing to show" not in text
    assert text == report(place, "space", *SMALL)[1]


@pytest.mark.parametrize(
    ("words", "results"),
    [
        (SMALL, ["C"]),
        (("--variant", "fmha_bwd", "--arch", "gfx942", "--ck", "2025.11", "--set", "hdim=64"),
         ["S", "dV", "dP", "dK", "dQ"]),
    ],
)  # fmt: skip
def test_block_tiles_are_drawn(
    tmp_path: Path, small: tuple[Page, str], words: tuple[str, ...], results: list[str]
) -> None:
    """Of the kernel predicted fastest; of attention backward, which has no times, of the first."""
    page, text = small if words == SMALL else report(tmp_path, "space", *words)
    assert page.words["h2"][-1] == "Block tiles"
    (named,) = (w for w in page.words["p"] if w.startswith("Which wave computes which"))
    name = named.removesuffix(".").rpartition(": ")[2]
    assert text.count(name) >= 2
    drawn = {t.partition(":")[0] for t in page.words["title"] if ": wave " in t}
    assert drawn == set(results)


def test_a_space_of_a_file(tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    found = run("report", "space", SPACE, "--where", "MWG < 128", "-o", str(out))
    assert found.exit_code == 0, found.stderr
    said = out.read_text()
    count = read_space(SPACE).where("MWG < 128").count()
    assert "Space: gemm.json, MWG &lt; 128" in said
    assert f"{count:,}" in said
    assert "<svg" in said


def test_space_of_several_kinds(tmp_path: Path) -> None:
    """What cannot be predicted says why."""
    words = ("--variant", "forward_depthwise", "--arch", "gfx942")
    page, _ = report(tmp_path, "space", *words)
    said = " ".join(page.words["p"])
    assert "Nothing to show: nothing is known of the times of forward_depthwise kernels" in said
    page, _ = report(tmp_path, "space", "--where", "tile_m < 0", *SMALL)
    assert page.facts()["configurations"] == "0"


def test_catalog(tmp_path: Path) -> None:
    page, text = report(tmp_path, "catalog", "tiny", "--arch", "gfx950")
    answer = json.loads(
        run("why", "--catalog", "tiny", "--arch", "gfx950", "--format", "json").stdout
    )
    for stage, found in answer["stages"].items():
        assert re.search(rf"<td>{stage}</td><td class=\"number\">{found['count']}</td>", text)
        for code, n in found["removed"].items():
            row = rf"<td>{stage}</td><td>{code}</td><td class=\"number\">{n}</td>"
            assert re.search(row, text)
    assert "no pipeline" in page.words["td"]  # depthwise kernels
    assert "-" not in page.words["td"]
    same = report(tmp_path, "space", "--catalog", "tiny", "--arch", "gfx950")[0]
    assert same.words["h2"] == page.words["h2"]


def test_difference(tmp_path: Path) -> None:
    page, text = report(tmp_path, "diff", "gfx942", "gfx950", *SMALL[:2], *SMALL[4:])
    found = json.loads(
        run("diff", "gfx942", "gfx950", *SMALL[:2], *SMALL[4:], "--format", "json").stdout
    )
    facts = page.facts()
    assert facts["both"] == f"{found['both']:,}"
    for part in (found["only_a"], found["only_b"]):
        assert facts[f"only {part['side']}"] == f"{part['count']:,}"
        for rule in part["rejected_by"]:
            assert f'<td>{rule["code"]}</td><td class="number">{rule["count"]:,}</td>' in text
    page, _ = report(tmp_path, "diff", "gfx942", "gfx942", *SMALL[:2], *SMALL[4:])
    assert "Both sides accept the same" in " ".join(page.words["p"])
    assert next(h for h in page.words["h2"] if ": by " in h).startswith("Both: by ")
    assert len(page.words["h2"]) == len(set(page.words["h2"]))  # no picture twice


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A database with builds and runs, among them what somebody means ill with."""
    points = select(
        Books(), {"variant": "forward", "arch": "gfx942", "dtype": "fp16", "ndim": 2}
    ).space.sample(3, 1)
    nothing = dict.fromkeys(Result.__dataclass_fields__)
    same = {"arch": "gfx942", "artifact": "device", "ck": "2026.06", "legal": True, "key": "k"}
    with Results(tmp_path / FILE) as builds, Runs(tmp_path / FILE) as runs:
        for i, point in enumerate(points):
            name = format_name(point)
            failed = {"status": "failed", "error_class": HOSTILE, "finding": HOSTILE}
            row = {"status": "ok", "name": name} if i else {**failed, "name": HOSTILE}
            builds.put(Result(**{**nothing, **same, **row}))  # type: ignore[arg-type]
            entry = ManifestEntry(
                tmp_path, name, "2026.06", "gfx942", (), "r", True, None, {**point}
            )
            outcome = RunOutcome(RunStatus.OK, "", time_ms=0.01 * (i + 1), tflops=2.0)
            problem = parse("N=1,C=64,K=64,H=9,W=9,Y=3,X=3,pad=1")
            runs.put(StoredRun(entry, problem, outcome, HOSTILE, None, True, None, 1, 1))
    return tmp_path


def test_results(results: Path, tmp_path: Path) -> None:
    page, text = report(tmp_path, "results", str(results), "--model", "none")
    facts = page.facts()
    assert (facts["builds"], facts["runs"], facts["contradict the rules"]) == ("3", "3", "1")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    captions = " ".join(page.words["figcaption"])
    assert "3 times, half of them within" in captions
    for us in ("10.0", "20.0", "30.0"):
        assert us in page.words["td"]


def test_results_of_builds_alone(tmp_path: Path) -> None:
    nothing = dict.fromkeys(Result.__dataclass_fields__)
    row = {"name": "a", "arch": "gfx942", "artifact": "device", "ck": "2025.11", "legal": True,
           "status": "ok", "key": "k"}  # fmt: skip
    with Results(tmp_path / FILE) as builds:
        builds.put(Result(**{**nothing, **row}))  # type: ignore[arg-type]
    page, _ = report(tmp_path, "results", str(tmp_path))
    assert "Nothing to show: no kernel was run" in page.words["p"]


def test_certification(tmp_path: Path) -> None:
    record = Path(__file__).parents[2] / "constraints" / "conv" / "evidence.toml"
    page, text = report(tmp_path, "certification", str(record))
    from ckrules.kernels.evidence import read

    runs = read(record)
    assert page.facts()["runs"] == f"{len(runs):,}"
    confirmed = sum(r.rules["TILE001"][0].confirmed for r in runs if "TILE001" in r.rules)
    assert f'<td>TILE001</td><td class="number">{confirmed:,}</td>' in text
    found = {
        "recall": 0.5, "precision": 1.0, "rules": {"TILE001": [3, 2, 1], "VEC001": [0, 0, 0]},
        "cases": [{"config": {"tile_m": HOSTILE}, "predicted": False, "ok": True, "error": None}],
    }  # fmt: skip
    file = tmp_path / "c.json"
    file.write_text(json.dumps(found), encoding="utf-8")
    page, text = report(tmp_path, "certification", str(file))
    assert page.facts()["recall"] == "50.00%"
    assert '<td>TILE001</td><td class="number">3</td>' in text
    assert "illegal" in page.words["td"]
    assert "VEC001" in page.words["p"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("spce",), "unknown report 'spce': did you mean 'space'?"),
        (("diff", "gfx942"), "report diff takes two words, not 1"),
        (("space", "gfx942", "gfx950"), "report space takes no other word or one word, not 2"),
        (("space", SPACE, "--arch", "gfx942"), "--arch does not go with a file that"),
        (("space", SPACE, "--problem", "N=1"), "--problem does not go with a file that"),
        (("space", "no.json"), "no.json: No such file"),
        (("results", "nowhere"), "nowhere: there are no results"),
        (("certification", "nowhere.json"), "nowhere.json: No such file or directory"),
        (("certification", "{}"), "not what ckrules certify --format json writes"),
        (("results", ".", "--arch", "gfx942"), "--arch does not go with a report of results"),
        (("catalog", "tinny"), "tiny"),
        (("space", *SMALL, "--problem", "N=1,C=0"), "C = 0 is not"),
    ],
)
def test_what_there_is_no_report_of(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if words[-1] == "{}":
        Path("{}").write_text("{}")
    done = run("report", *words, "-o", "x.html")
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert "internal" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert not Path("x.html").exists()


def test_no_other_form_is_written(tmp_path: Path) -> None:
    path = tmp_path / "r.pdf"
    done = run("report", "catalog", "tiny", "--arch", "gfx950", "-o", str(path))
    text = f"error: -o {path}: known suffixes are .html, .htm\n"
    assert (done.exit_code, done.stderr, path.exists()) == (2, text, False)


def test_standard_output() -> None:
    done = run("report", "catalog", "tiny", "--arch", "gfx950", "--variant", "bwd_data", "-o", "-")
    assert done.exit_code == 0
    assert done.stdout.startswith("<!DOCTYPE html>\n")
