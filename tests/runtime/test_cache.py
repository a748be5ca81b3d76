"""Kernels built in the background: once by all processes, found by content, limited in size."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ckrules.compiling import executors
from ckrules.constraints import book
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.runtime import Dispatcher, NoKernelError
from ckrules.runtime.cache import BuildError, KernelCache
from ckrules.runtime.pending import start
from ckrules.support.errors import UnknownNameError, UsageError
from tests.compiling import fake
from tests.helpers.forking import in_child
from tests.helpers.waiting import until
from tests.runtime import building
from tests.runtime.building import NOTES, SECONDS, cache, wanted
from tests.runtime.doubles import CONV, folder
from tests.runtime.test_dispatcher import dispatcher

_SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A toolchain that compiles nothing, and the folder of what was compiled."""
    fake.install(tmp_path / "rocm", monkeypatch)
    place = tmp_path / "notes"
    place.mkdir()
    monkeypatch.setenv(NOTES, str(place))
    return place


def test_two_processes_build_a_kernel_once(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECONDS, "0.5")
    place = tmp_path / "cache"
    pipes = [_SPAWN.Pipe() for _ in range(2)]
    children = [_SPAWN.Process(target=building.build, args=(place, p)) for _, p in pipes]
    for child in children:
        child.start()
    for ours, _ in pipes:
        assert ours.poll(120)
        assert ours.recv() == "ready"
    for ours, _ in pipes:
        ours.send("go")
    assert all(ours.poll(120) for ours, _ in pipes)
    found = [ours.recv() for ours, _ in pipes]
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert found[0] == found[1]
    assert sorted(n.name.split(".")[1] for n in notes.iterdir()) == ["device", "host"]


def test_a_cache_stays_where_it_was_named(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = cache(Path("cache"))
    (one,) = wanted(made, 128)
    monkeypatch.chdir(notes)
    made.build(one)
    assert len(list((tmp_path / "cache").iterdir())) == 2
    assert not (notes / "cache").exists()


def test_an_entry_is_found_by_what_it_is_made_of(tmp_path: Path, notes: Path) -> None:
    made = cache(tmp_path / "cache")
    one, other = wanted(made, 128, 64)
    assert one.key != other.key
    assert made.find(one) is None
    built = made.build(one)
    assert made.find(one) == built == made.build(one)
    assert len(list(notes.iterdir())) == 2
    (again,) = wanted(made, 128)
    assert again.key == one.key
    os.environ["FAKE_VERSION"] = "fake compiler 2.0"
    try:
        from ckrules.compiling import toolchain

        toolchain.compiler_version.cache_clear()
        assert wanted(made, 128)[0].key != one.key
    finally:
        del os.environ["FAKE_VERSION"]
        toolchain.compiler_version.cache_clear()


def test_what_is_damaged_is_built_again(tmp_path: Path, notes: Path) -> None:
    made = cache(tmp_path / "cache")
    (one,) = wanted(made, 128)
    built = made.build(one)
    built.result(one.tasks[0].artifact).unlink()
    assert made.find(one) is None
    assert not made.build(one).missing
    (made.place / one.key / "ckrules-kernels.jsonl").write_text("{}")
    assert not made.build(one).missing
    for file in ("*.hsaco", "*.host.so", "digest"):  # as a power cut leaves them
        (place,) = (made.place / one.key).glob(file)
        os.truncate(place, 5)
        assert made.find(one) is None
        assert made.build(one) == made.find(one)
    assert len(list(notes.iterdir())) == 12


def test_the_oldest_entries_go_first(tmp_path: Path, notes: Path) -> None:
    made = cache(tmp_path / "cache")
    first, second, third = wanted(made, 64, 128, 256)
    for each in (first, second):
        made.build(each)
    for i, each in enumerate((second, first)):  # the first was used later
        os.utime(made.place / each.key, (i, i))
    size = sum(p.stat().st_size for p in (made.place / first.key).iterdir())
    small = cache(made.place, limit=int(2.5 * size))
    small.build(third)
    assert {e.name for e in small.entries()} == {first.key, third.key}
    assert not [p for p in made.place.iterdir() if p.name.endswith(".part")]


def test_what_is_kept_is_shown_and_cleared(tmp_path: Path, notes: Path) -> None:
    """By the command, too; a damaged entry is not shown, and cleared all the same."""
    made = cache(tmp_path / "ckrules" / "kernels")
    (one,) = wanted(made, 64)
    made.build(one)
    (made.place / ("0" * 32)).mkdir()
    (kept,) = made.kept()
    assert (kept.name, kept.arch) == (one.name, "gfx942")
    assert kept.bytes > 0
    command = [sys.executable, "-m", "ckrules", "cache", "--format", "json"]
    env = {**os.environ, "CKRULES_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert [k["name"] for k in json.loads(done.stdout)["kernels"]] == [one.name]
    assert made.clear() == 2
    assert made.entries() == []
    assert not [p for p in made.place.iterdir() if p.is_dir()]


def test_kernels_come_one_by_one(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECONDS, "0.5")
    made = cache(tmp_path / "cache")
    told: list[str] = []
    both = wanted(made, 64, 128)
    made.build(both[0])
    with ThreadPoolExecutor(2) as pool:
        pending = start(pool, made, both, lambda entry: told.append(entry.name))
        assert told == pending.ready == [both[0].name]
        assert not pending.done
        assert pending.wait().done
    assert sorted(pending.ready) == sorted(told) == sorted(w.name for w in both)
    assert pending.failed == {}


def plant_link(made: KernelCache, key: str) -> None:
    entry = (made.place / key).rename(made.place.parent / "elsewhere")
    (made.place / key).symlink_to(entry)


def plant_file_link(made: KernelCache, key: str) -> None:
    path = next((made.place / key).glob("*.hsaco"))
    path.symlink_to(path.rename(made.place.parent / "elsewhere"))


PLANTED: dict[str, Callable[[KernelCache, str], object]] = {
    "folder": lambda made, key: (made.place / key).chmod(0o777),
    "file": lambda made, key: next((made.place / key).glob("*.so")).chmod(0o666),
    "link": plant_link,
    "link of a file": plant_file_link,
}


@pytest.mark.parametrize("change", PLANTED)
def test_what_others_may_have_put_there_is_not_loaded(
    tmp_path: Path, notes: Path, change: str
) -> None:
    """It would be executed; it is neither found nor shown, and built again."""
    made = cache(tmp_path / "cache")
    (one,) = wanted(made, 128)
    made.build(one)
    modes = {stat.S_IMODE(p.stat().st_mode) for p in (made.place / one.key).iterdir()}
    assert modes == {0o600}
    PLANTED[change](made, one.key)
    assert made.find(one) is None
    assert made.kept() == []
    if change != "link":  # which is in the way
        made.build(one)
        assert made.find(one) is not None


def test_a_cache_of_somebody_else_is_refused(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = cache(tmp_path / "cache")
    (one,) = wanted(made, 128)
    made.build(one)
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert made.find(one) is None
        with pytest.raises(BuildError, match="cannot keep kernels: not this user's own"):
            made.build(one)
    made.place.chmod(0o777)
    assert made.find(one) is None
    with pytest.raises(BuildError, match="cannot keep kernels: not this user's own"):
        wanted(made, 128)


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path, notes: Path) -> None:
    made = cache(tmp_path / "cache")
    (one,) = wanted(made, 128)
    target = tmp_path / "target"
    target.write_text("precious")
    lock = made.place / f"{one.key}.lock"
    lock.symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        made.build(one)
    assert target.read_text() == "precious"
    lock.unlink()
    lock.write_text("kept")
    made.build(one)
    assert lock.read_text() == "kept"


def test_who_waits_goes_on_when_the_dispatcher_is_closed(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECONDS, "0.5")
    monkeypatch.setattr(executors, "default_jobs", lambda: 1)
    base = dict(book("forward").vocabulary.baseline)
    d = Dispatcher(None, arch="gfx942", cache=cache(tmp_path / "cache"))
    with ThreadPoolExecutor(1) as pool:
        pending = d.declare([{**base, "tile_n": n} for n in (64, 128, 256)], ck="2025.11")
        until(lambda: any(notes.iterdir()))
        waiting = pool.submit(pending.wait, 30)
        d.close()
        assert waiting.result() is pending
    assert (pending.ready, pending.done) == ([], True)
    first, *others = pending.failed.values()
    assert "no host library" in first  # it was begun; the double cannot be loaded
    assert others == ["not built: the dispatcher was closed"] * 2


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_does_not_wait_for_threads_of_its_parent(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECONDS, "1")
    made = cache(tmp_path / "cache")
    (one,) = wanted(made, 128)
    with ThreadPoolExecutor(1) as pool:
        pending = start(pool, made, [one], lambda _: None)
        until(lambda: any(notes.iterdir()))

        def child() -> tuple[dict[str, str], bool, list[str]]:
            with ThreadPoolExecutor(1) as own:
                again = start(own, made, [one], lambda _: None).wait()
            return pending.wait().failed, pending.done, again.ready

        said, done, again = in_child(child)
        assert pending.wait(30).ready == again == [one.name]
    text = "not built: this process was forked meanwhile: declare it again"
    assert (said, done) == ({one.name: text}, True)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_keeps_no_lock_of_its_parent(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the lock's file open, too, for as long as it lives."""
    monkeypatch.setenv(SECONDS, "1")
    made = cache(tmp_path / "cache")
    (one,) = wanted(made, 128)
    (notes / "fail").touch()

    def again() -> str:
        try:
            return str(made.build(one).name)
        except BuildError as error:
            return str(error)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(again)
        until(lambda: len(list(notes.iterdir())) > 1)
        assert in_child(again, first.result) == f"{one.name} (device): wrong!"


def test_a_dispatcher_that_is_closed_meanwhile_builds_nothing(tmp_path: Path, notes: Path) -> None:
    """Another thread may close it between the question for compilers and their work."""
    made = cache(tmp_path / "cache")
    (one,) = wanted(made, 128)
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    pending = start(pool, made, [one], lambda _: None).wait(30)
    assert (pending.ready, pending.done) == ([], True)
    assert pending.failed == {one.name: "not built: the dispatcher was closed"}
    assert list(notes.iterdir()) == []


def test_what_is_there_and_cannot_be_loaded_has_failed(tmp_path: Path, notes: Path) -> None:
    made = cache(tmp_path / "cache")
    base = dict(book("forward").vocabulary.baseline)
    with Dispatcher(None, arch="gfx942", cache=made) as d:
        (built,) = d.declare(base, ck="2025.11").wait(30).failed.values()
        (again,) = d.declare(base, ck="2025.11").failed.values()
        assert d.kernels == ()
    (entry,) = made.entries()
    assert again == f"{built}; remove {entry} to have it built again"


def test_failures_are_told(tmp_path: Path, notes: Path) -> None:
    made = cache(tmp_path / "cache")
    (notes / "fail").touch()
    (one,) = wanted(made, 128)
    with ThreadPoolExecutor(1) as pool:
        pending = start(pool, made, [one], lambda _: None).wait()
    assert pending.failed == {one.name: f"{one.name} (device): wrong!"}
    assert pending.ready == []
    assert made.entries() == []
    point = {**book("forward").vocabulary.baseline, "tile_m": 64, "wave_m": 4}
    with pytest.raises(BuildError, match="breaks rules: "):
        made.wanted([Config(point)], Books("2025.11"))


def test_what_is_asked_wrong_is_said_before_anything_is_built(tmp_path: Path) -> None:
    text = "N=1,C=7,K=8,H=9,W=9,Y=3,X=3"
    with pytest.raises(UsageError, match="without a folder of kernels, give arch"):
        Dispatcher(None)
    with pytest.raises(UnknownNameError, match="did you mean 'gfx942'"):
        Dispatcher(None, arch="gfx943")
    with dispatcher(folder(tmp_path, k=CONV)) as d:
        assert d.ensure(text.replace("C=7", "C=8")).done  # a kernel takes it
        with pytest.raises(UsageError, match="give variant"):
            d.ensure(text)
        with pytest.raises(UsageError, match=r"give dtype: .*fp16"):
            d.ensure(text, "forward", where=("tile_m == 64 & tile_n == 64 & tile_k == 32",))
        assert d.declare([]).done
        name = "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_16x16x16"
        config = Config({**book("forward").vocabulary.baseline, "arch": "gfx950"})
        with pytest.raises(UsageError, match="for gfx950, and the dispatcher for gfx942"):
            d.declare([config])
        with pytest.raises(UsageError, match="compv33"):
            d.declare([name.replace("compv3", "compv33")])


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ({"variant": "forward", "dtype": "fp16"}, "N=1,C=64,K=64,H=28,W=28,Y=3,X=3,pad=1"),
        ({"variant": "standard", "dtype": "fp16", "dtype_c": "fp16", "layout": "rcr"},
         "M=512,N=512,K=512"),
    ],
)  # fmt: skip
def test_kernels_for_a_problem_come_from_the_whole_space(
    tmp_path: Path, notes: Path, wanted: dict[str, str], text: str
) -> None:
    """Legal ones that take it, with the dimensions that it says; the double cannot be loaded."""
    made = cache(tmp_path / "cache")
    where = ("tile_m == 64 & tile_n == 64 & pipeline == 'compv3'",)
    with Dispatcher(None, arch="gfx942", cache=made) as d:
        pending = d.ensure(text, count=2, where=where, ck="2025.11", **wanted).wait()
        assert len(pending.futures) == 2
        assert all("64x64x" in name for name in pending.futures)
        assert pending.ready == []
        assert all("no host library" in said for said in pending.failed.values())
        assert len(made.entries()) == 2
        with pytest.raises(NoKernelError, match=r"no legal kernel of .* takes"):
            d.ensure(text, where=("tile_m == 64 & tile_m == 32",), ck="2025.11", **wanted)


def test_what_a_killed_process_left_half_filled_goes(tmp_path: Path) -> None:
    kept = KernelCache(tmp_path)
    old, new = tmp_path / "tmpold.part", tmp_path / "tmpnew.part"
    for path in (old, new):
        path.mkdir()
        (path / "kernel.hsaco").write_bytes(b"half")
    os.utime(old, (0, 0))
    assert kept.clear() == 0
    assert not old.exists()
    assert new.exists()
