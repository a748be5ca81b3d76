"""What all tests share."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from ckrules.compiling import toolchain
from tests.helpers import native_code

# The same examples in every run, so that a failure is somebody's change and not luck.
settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", parent=settings.get_profile("ci"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


_SPACES = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep what tests compile out of the user's cache; workers inherit the folder.

    The toolchain stays where it is. What started the tests may be deaf to signals (a shell's
    background to Ctrl-C, nohup to a hang-up), and processes that tests start would inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    gc.set_threshold(100_000, 20, 20)
    for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(threads, "1")  # the cores are busy: threads would wait for each other
    if hasattr(config, "workerinput"):
        config.option.whole = config.workerinput["whole"]
    else:
        named = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
        # Who names files, tests or markers gets all of them.
        config.option.whole |= named or bool(config.option.keyword or config.option.markexpr)
        os.environ.setdefault("CKRULES_TOOLCHAIN", str(toolchain.root()))
        config.stash[_SPACES] = os.environ["CKRULES_CACHE_DIR"] = tempfile.mkdtemp()
        os.environ["CKRULES_DATA_DIR"] = config.stash[_SPACES]
        native_code.take(Path(config.stash[_SPACES]))
        _let_processes_keep_bytecode(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a worker of pytest-xdist what it cannot see: whether files or tests were named."""
    node.workerinput["whole"] = node.config.option.whole


def _let_processes_keep_bytecode(config: pytest.Config) -> None:
    """Where none may stand beside the sources, workers and commands share a folder of it.

    Each start of the command would else compile all that it imports, which takes longer than most
    commands. The next run finds it again.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        assert config.cache
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(config.cache.mkdir("bytecode")))


def pytest_unconfigure(config: pytest.Config) -> None:
    if _SPACES in config.stash:
        native_code.keep(Path(config.stash[_SPACES]))
        shutil.rmtree(config.stash[_SPACES], ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the files of tests/golden again"
    )
    parser.addoption(
        "--certify", action="store_true", help="run what is marked certify, too (make certify)"
    )
    parser.addoption(
        "--whole", action="store_true", help="run what is marked whole, too, as CI does"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the rest of the compiler's proof to `make certify`, and what takes long to CI."""
    for marker in ("certify", "whole"):
        if not config.getoption(f"--{marker}"):
            rest = [item for item in items if item.get_closest_marker(marker)]
            config.hook.pytest_deselected(items=rest)
            items[:] = [item for item in items if not item.get_closest_marker(marker)]


def pytest_collection_finish() -> None:
    """Leaves the tests themselves, and the books, out of each later collection of garbage.

    What they take would be gone through again and again, a twelfth of all the time.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with a file of tests/golden, or writes it with --update-golden."""

    def compare(name: str, text: str) -> None:
        path = Path(__file__).parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{name} is missing: run pytest --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the test's own for the user's data, so that evidence kept there stays there."""
    from ckrules.kernels import evidence

    monkeypatch.setenv("CKRULES_DATA_DIR", str(tmp_path / "data"))
    caches = (evidence.evidence, evidence.kernels_run)
    for cached in caches:
        cached.cache_clear()
    yield tmp_path / "data"
    for cached in caches:
        cached.cache_clear()
