"""Matrix products: their text, what kernels refuse of them, and the tensors of each kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ckrules.constraints.gemm.device.tensors import GemmTensors
from ckrules.constraints.gemm.problem import Product, pack, parse
from ckrules.device.tensors import samples, to_memory
from ckrules.kernels import problem_books
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name
from ckrules.support.errors import CkrulesError

PLAIN = "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_64x64x32_2x2x1_16x16x16"
DEFAULT = PLAIN.replace("cshuffle", "default")
WEIGHTS = (
    "gemm_fp8_rcr_preshufflev2_cshuffle_default_False_False_False_False"
    "_64x64x64_1x4x1_16x16x32_preshuffle"
)
WITH_D = (
    "gemm_fp16_ccrr_compv4_default_intrawave_False_False_False_True"
    "_64x64x32_2x2x1_32x32x8_multid_MultiDAdd_d2"
)


def _point(name: str, arch: str = "gfx942") -> dict[str, Any]:
    return dict(config_from_name(name, Books("2025.11"), arch=arch).point)


@pytest.mark.parametrize(
    ("name", "problem", "codes"),
    [
        (PLAIN, "M=77,N=64,K=64", []),
        (PLAIN, "M=64,N=72,K=64", ["GPROB003"]),
        (PLAIN, "M=64,N=64,K=40", ["GPROB001"]),
        (PLAIN, "M=64,N=60,K=36", ["GPROB001", "GPROB003", "GPROB004", "GPROB005", "GPROB006"]),
        (PLAIN, "M=64,N=64,K=128,k_batch=2", []),
        (PLAIN, "M=64,N=64,K=96,k_batch=2", ["GPROB001"]),
        (DEFAULT, "M=64,N=64,K=128,k_batch=2", ["GPROB008", "GPROB009"]),
        (WITH_D, "M=64,N=64,K=128,k_batch=2", ["GPROB008"]),
        (WITH_D, "M=60,N=64,K=64", ["GPROB002", "GPROB004"]),
        (WEIGHTS, "M=1,N=128,K=128", []),
        (WEIGHTS, "M=64,N=64,K=128,k_batch=2", ["GPROB009", "GPROB022"]),
    ],
)
def test_what_kernels_take(name: str, problem: str, codes: list[str]) -> None:
    rules = problem_books.book("standard", ck="2025.11")
    point = _point(name)
    product = parse(problem)
    values = {"M": product.m, "N": product.n, "K": product.k, "k_batch": product.k_batch}
    assert [v.code for v in rules.violations({**point, **values})] == codes


@pytest.mark.parametrize(
    "text",
    ["M=1,N=2", "M=1,N=2,K=0", "M=1,N=2,K=3,L=4", "M=1,M=2,N=2,K=3", "M=1;N=2", "K=x,M=1,N=1"],
)
def test_what_is_no_product(text: str) -> None:
    with pytest.raises(CkrulesError):
        parse(text)


def test_bytes_are_those_of_the_header() -> None:
    found = np.frombuffer(pack(Product(1, 2, 3, 4)), np.int64)
    assert found.tolist() == [1, 2, 3, 4]


def test_weights_are_uploaded_in_shuffled_order() -> None:
    """The shuffle of ``tensor_shuffle_utils.hpp`` for 16-wide tiles: (N/16, 16, K/32, 4, 8)."""
    tensors = GemmTensors(Product(64, 128, 64), _point(WEIGHTS))
    b = tensors.all[1]
    n, k = np.meshgrid(np.arange(128), np.arange(64), indexing="ij")
    value = (n * 64 + k) % 7.0
    stored = to_memory(b, value.reshape(b.shape).astype(np.float32)).ravel()
    plain = to_memory(
        tensors.all[1].__class__("b", "in", (128, 64), b.dtype, (0, 1)), value.astype(np.float32)
    )
    expected = plain.reshape(8, 16, 2, 4, 8).transpose(0, 2, 3, 1, 4).ravel()
    assert (stored == expected).all()


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_8_bit_floats_have_the_encoding_of_the_gpu(arch: str) -> None:
    tensors = GemmTensors(Product(64, 64, 64), _point(WEIGHTS, arch))
    assert tensors.all[0].dtype == ("fp8" if arch == "gfx950" else "fp8_fnuz")


def test_references() -> None:
    for name in (PLAIN, WITH_D, WEIGHTS):
        tensors = GemmTensors(Product(64, 64, 64), _point(name))
        data = samples(tensors)
        found = tensors.reference(data)["c"]
        wanted = data["a"].astype(float) @ data["b"].reshape(64, 64).astype(float).T
        for d in range(int(tensors.config["num_d"])):
            wanted = wanted + data[f"d{d}"]
        assert np.allclose(found, wanted)
        row = tensors.products("c", data, (3, 5)).sum()
        assert np.isclose(row + sum(data[k][3, 5] for k in data if k[0] == "d"), found[3, 5])
