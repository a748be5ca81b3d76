"""Reports on files of many names do not depend on what was compiled and kept on the way."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ckrules.checking import reports
from ckrules.engine.rules import batch, book
from tests.cli.run import run

pytestmark = pytest.mark.whole

HEAD = "grouped_conv_{}_fp16_nhwgc_2d_{}_{}_intrawave_{}x{}x{}_{}x2x1_{}"
TAIL = ("", "_vec{0}_{1}_8", "_vec{1}_{0}_{0}_gm{1}", "_dsb", "_wg1", "_pad010", "_vec4_8_8")


def names(number: int, seed: int) -> list[str]:
    """Lines of a file: legal, illegal and malformed names, some of them with comments."""
    draw = random.Random(seed)
    lines = []
    for _ in range(number):
        line = HEAD.format(
            draw.choice(("fwd", "bwd_data", "bwd_weight")),
            draw.choice(("compv3", "compv4", "mem", "basic_v1", "compv9")),
            draw.choice(("cshuffle", "default")),
            *(draw.choice((16, 32, 64, 96, 100, 128, 1_000_000)) for _ in range(3)),
            draw.choice((1, 2, 3, 4)),
            draw.choice(("32x32x8", "16x16x16", "16x16x32", "8x32x8")),
        ) + draw.choice(TAIL).format(draw.choice((1, 2, 4, 8, 16)), draw.choice((1, 4, 8, 32)))
        if draw.random() < 0.05:
            at = draw.randrange(len(line))
            line = line[:at] + draw.choice("x_09é \x1b") + line[at + 1 :]
        if draw.random() < 0.05:
            line = f"  out/dispatcher_wrapper_{line}.hpp"
        if draw.random() < 0.05:
            line += "  # ckrules: ignore[TILE001, VEC003] measured"
        lines.append(line)
        if draw.random() < 0.03:
            lines.append("# ckrules: ignore[LDS001]")
    return [*lines, *lines[:20]]


@pytest.mark.slow
@pytest.mark.parametrize("form", reports.available())
def test_reports_are_the_same(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the form that says most of many names, in the others of fewer."""
    number = 100 if form == "jsonl" else 40
    (tmp_path / "a.names").write_text("\n".join(names(number, seed=7)), encoding="utf-8")
    words = ("check", "--isolated", "--arch", "gfx942", "--format", form, str(tmp_path / "a.names"))
    plain = run(*words)
    assert plain.exit_code == 2  # some cannot be read
    assert len(plain.stdout) > 10 * number * (1 if form == "summary" else 10)
    monkeypatch.setattr(batch, "_MANY", 1)
    monkeypatch.setattr(book, "_FEW", 0)
    assert run(*words).stdout == plain.stdout
    monkeypatch.setattr(book, "_FEW", 10**9)  # each name alone, by the rules as they are
    assert run(*words).stdout == plain.stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--select", "VEC,TILE", "--ignore", "VEC003", "--extend-select", "CFG003"],
        ["--verdicts", "--resources"],
        ["--ck", "2025.11"],
        ["--diff", "--unsafe-fixes"],
        ["--baseline", "known.json"],
    ],
)
def test_options_too(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [n for n in names(100, seed=8) if "compv9" not in n and n.isascii() and n.isprintable()]
    path = tmp_path / "a.names"
    path.write_text("\n".join(lines))
    words = ["check", "--isolated", "--arch", "gfx942", *options, "a.names"]
    if "--baseline" in options:
        path.write_text("\n".join(lines[::2]))
        run(*words, "--write-baseline")
        path.write_text("\n".join(lines))
    plain = run(*words)
    monkeypatch.setattr(batch, "_MANY", 1)
    monkeypatch.setattr(book, "_FEW", 0)
    found = run(*words)
    assert (found.stdout, found.stderr) == (plain.stdout, plain.stderr)
    assert plain.stdout
