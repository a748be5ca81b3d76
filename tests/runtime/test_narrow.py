"""int4 operands at run time: bytes of two elements, as the host packs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckrules.device.tensors import to_memory
from ckrules.runtime import NoKernelError
from ckrules.support.errors import UsageError
from tests.runtime.capsules import FakeTensor
from tests.runtime.doubles import GEMM, AnyDevice, StreamingDevice, folder
from tests.runtime.test_dispatcher import dispatcher

NARROW = {**GEMM, "dtype": "fp16_i4"}
SHUFFLED = {
    **NARROW, "variant": "preshuffle", "pipeline": "preshufflev2", "double_smem_buffer": True,
    "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 32,
}  # fmt: skip


def weights(n: int, k: int) -> Any:
    return np.random.default_rng(7).integers(-8, 8, (n, k))


@pytest.mark.parametrize(
    ("config", "text"),
    [(NARROW, "M=9,N=16,K=24"), (NARROW, "M=9,N=13,K=24"), (SHUFFLED, "M=9,N=32,K=64")],
)
def test_packed_weights_are_multiplied(tmp_path: Path, config: dict[str, Any], text: str) -> None:
    """As they are, with columns padded, and shuffled beforehand."""
    with dispatcher(folder(tmp_path, k=config)) as d:
        choice = d.select(text)
        _, b, _ = choice.tensors
        p: Any = choice.problem
        assert choice.padded == (p.n == 13)
        a = np.random.default_rng(1).integers(-3, 4, (p.m, p.k)).astype(np.float16)
        values = weights(p.n, p.k)
        packed = to_memory(b, values.reshape(b.shape))
        assert (packed.dtype, packed.nbytes) == (np.uint8, p.n * p.k // 2)
        found = d.run(text, a, packed)
        assert found.tolist() == (a.astype(float) @ values.T).astype(np.float16).tolist()
        flat = packed.reshape(-1) if config is SHUFFLED else packed.reshape(p.n, p.k // 2)
        assert d.run(text, a, flat).tolist() == found.tolist()


@pytest.mark.parametrize("kind", [AnyDevice, StreamingDevice])
def test_padded_weights_stay_on_the_device(tmp_path: Path, kind: type[AnyDevice]) -> None:
    device = kind()
    d = dispatcher(folder(tmp_path, k=NARROW), device)
    text = "M=9,N=13,K=24"
    b = d.select(text).tensors[1]
    a, values = np.ones((9, 24), np.float16), weights(13, 24)
    packed = to_memory(b, values.reshape(b.shape))
    places = []
    for array, dtype in ((a, "fp16"), (packed, "uint8")):
        address = device.allocate(array.nbytes)
        device.write(address, array.tobytes())
        places.append(FakeTensor(array.shape, dtype, address, device=device))
    found = d.run(text, *places)
    assert found.bits().view(np.float16).tolist() == (a.astype(float) @ values.T).tolist()


@pytest.mark.parametrize(
    ("shape", "dtype", "said"),
    [
        ((16, 24), np.int8, "^b: int8, expected uint8 for int4, two elements to a byte$"),
        ((16, 24), np.uint8, "^b: 16x24, expected 16x3x2x2 "),
    ],
)
def test_other_arrays_are_refused(
    tmp_path: Path, shape: tuple[int, int], dtype: Any, said: str
) -> None:
    d = dispatcher(folder(tmp_path, k=NARROW))
    with pytest.raises(UsageError, match=said):
        d.run("M=9,N=16,K=24", np.ones((9, 24), np.float16), np.zeros(shape, dtype))


def test_sums_of_partial_words_have_no_kernel(tmp_path: Path) -> None:
    """Zeros cannot be put behind elements that lie in another order."""
    d = dispatcher(folder(tmp_path, k={**NARROW, "pad_k": True}))
    with pytest.raises(NoKernelError):
        d.select("M=9,N=16,K=20")
