"""Tensors on the device and of frameworks: nothing is copied that need not be."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.runtime.padding import corner, embedded, runs
from ckrules.support.errors import UsageError
from tests.runtime.capsules import FakeTensor, on_device
from tests.runtime.doubles import CONV, GEMM, AnyDevice, StreamingDevice, folder
from tests.runtime.test_dispatcher import CONV_TEXT, arrays, dispatcher, expected

ODD_TEXT = "N=2,G=2,C=10,K=6,H=7,W=6,Y=3,X=3,pad=1"


@pytest.mark.parametrize("text", [CONV_TEXT, ODD_TEXT])
@pytest.mark.parametrize("variant", ["forward", "bwd_data", "bwd_weight"])
@pytest.mark.parametrize("kind", [StreamingDevice, AnyDevice])
def test_tensors_on_the_device_stay_there(
    tmp_path: Path, text: str, variant: str, kind: type[AnyDevice]
) -> None:
    """Padded ones too: rows are copied on the device."""
    device = kind()
    d = dispatcher(folder(tmp_path, k={**CONV, "variant": variant}), device)
    choice = d.select(text)
    given = arrays(choice)
    tensors = [on_device(device, a) for a in given]
    found = d.run(text, *tensors)
    assert isinstance(found, FakeTensor)
    assert found.bits().tolist() == expected(choice, given).view(np.uint16).tolist()
    out = tensors[0].new_empty(found.shape)
    if kind is StreamingDevice:
        before = device.waits, device.reads
        assert d.run(text, *tensors, out=out, stream=77) is out
        assert (device.waits, device.reads) == before
        assert device.streams[-1] == 77
        assert out.bits().tolist() == found.bits().tolist()
    assert {a for t in tensors for a in t.asked} == {-1}


def test_pytorchs_stream_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for torch: its current stream of the tensor's device."""
    device = StreamingDevice()
    cuda = SimpleNamespace(current_stream=lambda where: SimpleNamespace(cuda_stream=1234))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=FakeTensor, cuda=cuda))  # type: ignore[arg-type]
    d = dispatcher(folder(tmp_path, k=CONV), device)
    given = arrays(d.select(CONV_TEXT))
    d.run(CONV_TEXT, *(on_device(device, a) for a in given))
    assert set(device.streams) == {1234}
    d.run(CONV_TEXT, *given)
    assert device.streams[-1] == 0


def test_host_and_device_can_be_mixed(tmp_path: Path) -> None:
    device = StreamingDevice()
    d = dispatcher(folder(tmp_path, k=CONV), device)
    choice = d.select(ODD_TEXT)
    given = arrays(choice)
    out = np.zeros((2, 7, 6, 2, 3), np.float16)
    d.run(ODD_TEXT, on_device(device, given[0]), given[1], out=out)
    assert out.tolist() == expected(choice, given).tolist()


def test_host_tensors_of_frameworks_are_taken(tmp_path: Path) -> None:
    """bf16, which numpy does not have, and strides."""
    d = dispatcher(folder(tmp_path, k={**CONV, "dtype": "bf16"}))
    choice = d.select(CONV_TEXT)
    x, w = arrays(choice)
    spread = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), np.uint16)
    spread[..., ::2] = x
    strides = tuple(s // 2 for s in spread[..., ::2].strides)
    given = FakeTensor(x.shape, "bf16", spread.ctypes.data, kind=1, strides=strides)
    out = np.zeros((2, 7, 6, 32), np.uint16)
    kept = FakeTensor(out.shape, "bf16", out.ctypes.data, kind=1)
    assert d.run(CONV_TEXT, given, w, out=kept) is kept
    assert out.reshape(2, 7, 6, 2, 16).tolist() == expected(choice, [x, w]).tolist()
    assert given.asked == [None]


def test_host_tensors_that_run_backwards_are_refused(tmp_path: Path) -> None:
    """Their address is that of their last element, and what lies before it is not theirs."""
    d = dispatcher(folder(tmp_path, k=CONV))
    x, w = arrays(d.select(CONV_TEXT))
    for axis in (0, x.ndim - 1):
        turned = np.flip(x, axis)
        strides = tuple(s // x.itemsize for s in turned.strides)
        given = FakeTensor(x.shape, "fp16", turned.ctypes.data, kind=1, strides=strides)
        with pytest.raises(UsageError, match="input: an axis runs backwards in memory"):
            d.run(CONV_TEXT, given, w)


def test_tensors_elsewhere_are_refused(tmp_path: Path) -> None:
    device = StreamingDevice()
    d = dispatcher(folder(tmp_path, k=CONV), device)
    x, w = arrays(d.select(CONV_TEXT))
    shape: Any = x.shape
    for tensor, words in (
        (FakeTensor(shape, "fp32", 1 << 40), "input: fp32, expected fp16"),
        (FakeTensor(shape, "int64", 1 << 40), "no kernel has elements of DLPack's type 0 with 64"),
        (FakeTensor(shape, "fp16", 1 << 40, kind=2), "DLPack's kind 2, not ROCm's"),
        (FakeTensor(shape, "fp16", 1 << 40, index=1), "on GPU 1, the kernels run on GPU 0"),
        (FakeTensor((2, 8, 7, 6), "fp16", 1 << 40), "2x8x7x6, expected 2x7x6x2x8"),
        (
            FakeTensor((2, 7, 6, 16), "fp16", 1 << 40, strides=(672, 1, 7, 42)),
            "has gaps or another",
        ),
    ):
        with pytest.raises(UsageError, match=words):
            d.run(CONV_TEXT, tensor, w)
    tensor = on_device(device, x)
    tensor.new_empty = None  # type: ignore[assignment, method-assign]
    with pytest.raises(UsageError, match="the inputs are on the GPU: give out"):
        d.run(CONV_TEXT, tensor, w)


def test_tensors_on_the_gpu_lie_as_the_problem_says(tmp_path: Path) -> None:
    """A view of a larger tensor, where it is; packed ones and other steps are refused."""
    device = StreamingDevice()
    d = dispatcher(folder(tmp_path, k=GEMM), device)
    text = "M=64,N=64,K=64,stride_a=72"
    choice = d.select(text)
    a, b = arrays(choice)
    wide = np.full((64, 72), np.nan, np.float16)
    wide[:, :64] = a
    whole = on_device(device, wide)
    view = FakeTensor((64, 64), "fp16", whole.address, strides=(72, 1), device=device)
    found = d.run(text, view, on_device(device, b))
    right = expected(d.select("M=64,N=64,K=64"), [a, b])
    assert found.bits().tolist() == right.view(np.uint16).tolist()
    with pytest.raises(UsageError, match="a: strides 64, 1, expected 72, 1"):
        d.run(text, on_device(device, a), on_device(device, b))
    with pytest.raises(UsageError, match="give out, where the result goes"):
        d.run("M=64,N=64,K=64,stride_c=72", *(on_device(device, x) for x in (a, b)))


def test_a_worker_sees_no_addresses(tmp_path: Path, double: Any) -> None:
    d = dispatcher(folder(tmp_path, k=CONV), double(), isolated=True)
    x, w = arrays(d.select(CONV_TEXT))
    with d:
        with pytest.raises(UsageError, match="input: on the GPU of this process"):
            d.run(
                CONV_TEXT,
                FakeTensor(x.shape, "fp16", 1 << 40),
                w,
                out=np.zeros((2, 7, 6, 32), np.float16),
            )
        with pytest.raises(UsageError, match="a worker has streams of its own"):
            d.run(CONV_TEXT, x, w, stream=3)


def test_products_with_rows_of_c_contiguous_the_other_way(tmp_path: Path) -> None:
    device = StreamingDevice()
    d = dispatcher(folder(tmp_path, k={**GEMM, "layout": "ccc"}), device)
    choice = d.select("M=5,N=9,K=11")
    given = arrays(choice)
    found = d.run("M=5,N=9,K=11", *(on_device(device, a) for a in given))
    assert found.bits().tolist() == expected(choice, given).view(np.uint16).tolist()


SHAPES = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 2)), min_size=1, max_size=5)


@given(sizes=SHAPES)
def test_rows_make_up_the_corner(sizes: list[tuple[int, int]]) -> None:
    small = tuple(n for n, _ in sizes)
    large = tuple(n + more for n, more in sizes)
    array = np.arange(np.prod(small)).reshape(small)
    wanted = embedded(array, large).ravel()
    found = np.zeros_like(wanted)
    flat = array.ravel()
    copied = 0
    for from_, to, gap, pitch, length, rows in runs(small, large):
        for row in range(rows):
            at = to + row * pitch
            start = from_ + row * gap
            found[at : at + length] = flat[start : start + length]
            copied += length
    assert found.tolist() == wanted.tolist()
    assert copied == array.size
    assert corner(wanted.reshape(large), small).tolist() == array.tolist()
