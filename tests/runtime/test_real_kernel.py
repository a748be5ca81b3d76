"""A kernel that was compiled, on the device `cpu`: padded, recorded, from a worker."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ckrules.compiling import folder, toolchain
from ckrules.runtime import Dispatcher, Source
from ckrules.runtime.cache import KernelCache
from tests.device import whole_path
from tests.runtime.test_dispatcher import arrays, expected

pytestmark = [pytest.mark.toolchain, pytest.mark.slow]

FORWARD = {"order": "forward", "jobs": "1"}


@pytest.fixture(scope="module")
def built() -> Path:
    return whole_path.built()


@pytest.mark.parametrize("channels", [(5, 4), (8, 3), (7, 9)])
@pytest.mark.parametrize("isolated", [False, True])
def test_a_compiled_kernel_computes_odd_channels(
    built: Path, tmp_path: Path, channels: tuple[int, int], isolated: bool
) -> None:
    c, k = channels
    text = f"N=1,G=2,C={2 * c},K={2 * k},H=5,W=6,Y=3,X=3,pad=1"
    results = tmp_path / "times.sqlite"
    with Dispatcher(
        built, device="cpu", options=FORWARD, isolated=isolated, results=results, record=True
    ) as d:
        choice = d.select(text)
        assert choice.padded
        assert choice.source is Source.ESTIMATE
        given = arrays(choice)
        found = d.run(text, *given)
        right = expected(choice, given)
        assert np.array_equal(found, right)
    assert not results.exists()  # the device has no clock


def test_a_declared_kernel_is_built_and_run(built: Path, tmp_path: Path) -> None:
    """In a cache beside the CK trees, so that a second run compiles nothing."""
    (known,) = folder.manifests(built)
    cache = KernelCache(toolchain.root() / "tests" / "runtime-2025.11")
    text = "N=1,C=8,K=8,H=4,W=5,Y=3,X=3"
    with Dispatcher(
        None, arch=known.arch, device="cpu", options=FORWARD, cache=cache,
        results=tmp_path / "none.sqlite",
    ) as d:  # fmt: skip
        pending = d.declare([known.config], ck="2025.11").wait()
        assert (pending.ready, pending.failed) == ([known.name], {})
        assert d.kernels == (known.name,)
        choice = d.select(text)
        given = arrays(choice)
        assert np.array_equal(d.run(text, *given), expected(choice, given))
        assert d.declare([known.name], ck="2025.11").done  # found, not built
