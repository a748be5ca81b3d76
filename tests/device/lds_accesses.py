"""Accesses of kernels to LDS on the device ``cpu``, compared with the way that is drawn."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ckrules.arch import load
from ckrules.arch.banks import Turns
from ckrules.device.cpu import CpuPlugin
from ckrules.device.execute import Runner
from ckrules.device.jobs import Job
from ckrules.kernels.books import Books
from ckrules.kernels.config import Config
from ckrules.kernels.families import problems_of
from ckrules.kernels.lds_map import LdsMap


def held(config: Config, folder: Path, problem: str) -> None:
    """Asserts that each kind of access happens so often a block tile.

    The epilogue's accesses come on top; those of the main loop all happen equally often.

    Args:
        config: The kernel.
        folder: Where it was built.
        problem: One that it computes.
    """
    words = Books("2025.11").of(config.variant).vocabulary
    found = config.family.lds_map(config.point, words, load(str(config.point["arch"])))
    assert isinstance(found, LdsMap), found
    tile: Counter[tuple[bool, int, Turns]] = Counter()
    for operand in found.operands:
        for writes in (True, False):
            for (size, turns), n in found.counted(operand, writes=writes).items():
                tile[writes, size, turns] += n
    device = CpuPlugin().open(0, {"order": "forward", "jobs": "1", "banks": "1"})
    assert config.name is not None
    job = Job(folder, config.name, problems_of(config.variant).parse(problem), 0, 0)
    outcome = Runner(device).run(job)
    assert outcome.status == "ok"
    assert "bank cycles" in outcome.detail
    seen = {(a.writes, a.size, a.turns): n for a, n in device.accesses.items()}
    times = [seen.get(kind, 0) / n for kind, n in tile.items()]
    assert min(times) == int(min(times)) >= 1
    if config.point["epilogue"] == "default":  # an epilogue without LDS
        assert set(times) == {min(times)}
        assert set(seen) == set(tile)
