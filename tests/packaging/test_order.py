"""The plugin that begins with what takes long, and what xdist makes of it."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.small_runs import run_tests

HEAD = "import pathlib, pytest\nlog = pathlib.Path(__file__).with_name('log')\n"
TEST = "{mark}def test_{n}():\n    with log.open('a') as f: f.write('{name} ')\n"
FILES = {"many": ("", 6), "few": ("", 1), "slow": ("slow", 2), "compiles": ("toolchain", 1)}


def test_what_takes_long_comes_first(tmp_path: Path) -> None:
    """Of xdist 3.8, which sorts files by their tests, it came last."""
    for name, (mark, count) in FILES.items():
        marked = f"@pytest.mark.{mark}\n" if mark else ""
        tests = [TEST.format(mark=marked if not n else "", n=n, name=name) for n in range(count)]
        (tmp_path / f"test_{name}.py").write_text(HEAD + "".join(tests))
    done = run_tests(tmp_path, "-p", "tests.plugins.order", "-n", "1", "--dist", "loadfile")
    assert done.returncode == 0, done.stdout
    ran = list(dict.fromkeys((tmp_path / "log").read_text().split()))
    assert ran == ["compiles", "slow", "many", "few"]
