"""int4 operands: their order in memory against the headers', references and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.constraints.gemm.device.int4 import in_eights
from ckrules.constraints.gemm.device.tensors import GemmTensors
from ckrules.constraints.gemm.problem import MatrixProduct, parse
from ckrules.constraints.gemm.problems import GemmProblems
from ckrules.constraints.gemm.vocabulary import BASELINE
from ckrules.constraints.quant.device.tensors import QuantTensors
from ckrules.constraints.quant.vocabulary import BASELINE as QUANT
from ckrules.device.tensors import expected, from_memory, inputs, samples, size, to_memory
from ckrules.device.tolerance import thresholds
from ckrules.kernels import problem_books
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name
from ckrules.kernels.parts import Tensor

NARROW: dict[str, Any] = {**BASELINE, "dtype": "fp16_i4", "layout": "rcr"}
WEIGHTS: dict[str, Any] = {
    **NARROW, "variant": "preshuffle", "pipeline": "preshufflev2", "double_smem_buffer": True,
    "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 32,
}  # fmt: skip
#: The half bytes of a word, lowest first, that i4_to_half4 (of it and of it >> 8),
#: i4_to_bhalf4, amd_assembly_i4_to_fp8x8 and amd_assembly_i4_to_bf8x8 make elements 0 to 7 of.
WIDENED = (0, 4, 1, 5, 2, 6, 3, 7)


def on_the_host(values: Any) -> Any:
    """As CK's host has them (pk_int4_t_to_fp32x2_t): value + 8, the first element on top."""
    codes = (np.asarray(values).reshape(-1, 2) + 8).astype(np.uint8)
    return codes[:, 0] << 4 | codes[:, 1]


def permuted(host: Any) -> Any:
    """``permute_vectors_i4x4_b``, as its text says: nibble by nibble, 4 bytes at a time."""
    out = np.zeros_like(host)
    for at in range(0, len(host), 4):
        word = [nibble for byte in host[at : at + 4] for nibble in (byte >> 4, byte & 15)]
        for place, (high, low) in enumerate(((2, 0), (6, 4), (3, 1), (7, 5))):
            out[at + place] = word[high] << 4 | word[low]
    return out


def widened(memory: Any) -> Any:
    """What ``PassThroughPack8`` makes of bytes in memory, eight elements for each four."""
    words = np.ascontiguousarray(memory).ravel().view(np.uint32)
    return np.array([(int(w) >> 4 * at & 15) - 8 for w in words for at in WIDENED], np.float32)


rows = st.integers(1, 5)
eights = st.integers(1, 6)


def drawn(rows: int, eights: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(-8, 8, (rows, 8 * eights)).astype(np.float32)


@given(rows=rows, eights=eights, seed=st.integers(0, 99), turned=st.booleans())
def test_memory_is_that_of_the_headers(rows: int, eights: int, seed: int, turned: bool) -> None:
    """What the kernels' functions widen is what was meant, in rows and in columns."""
    values = drawn(rows, eights, seed)
    given = values.T if turned else values
    plain = Tensor("b", "in", given.shape, "int4", (1, 0) if turned else (0, 1))
    tensor = in_eights(plain)
    memory = to_memory(tensor, given.reshape(tensor.shape))
    assert memory.dtype == np.uint8
    assert memory.nbytes == size(tensor) == size(plain) == rows * eights * 4
    assert memory.ravel().tolist() == permuted(on_the_host(values)).tolist()
    assert (widened(memory) == values.ravel()).all()
    assert (from_memory(tensor, memory.tobytes()).reshape(given.shape) == given).all()


@pytest.mark.parametrize("permute", [False, True])
def test_shuffled_weights_are_shuffled_first(permute: bool) -> None:
    """The eights of a lane stay together: shuffle_b, then permute_vectors_i4x4_b."""
    config = {**WEIGHTS, "permute_n": permute, "tile_n": 128, "wave_n": 2}
    tensors = GemmTensors(MatrixProduct(16, 128, 128), config)
    b = tensors.all[1]
    values = drawn(128, 16, 1)
    memory = to_memory(b, values.reshape(b.shape))
    divided = values.reshape(8, 16, 4, 4, 8).transpose(0, 2, 3, 1, 4)
    if permute:
        divided = values.reshape(1, 2, 16, 4, 4, 4, 8).transpose(0, 3, 1, 4, 5, 2, 6)
    assert (widened(memory).reshape(divided.shape) == divided).all()


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (NARROW, "M=5,N=16,K=40"),
        (WEIGHTS, "M=5,N=32,K=64"),
        ({**NARROW, "variant": "batched"}, "M=5,N=3,K=16,batch=3"),
        ({**NARROW, "layout": "ccr"}, "M=5,N=16,K=40"),
        ({**NARROW, "variant": "grouped"}, "M=5+2,N=3+7,K=24"),
        ({**NARROW, "variant": "multi_d", "layout": "rcrr", "num_d": 1,
          "elementwise_op": "add"}, "M=5,N=16,K=40"),
    ],
)  # fmt: skip
def test_references_widen_what_lies_in_memory(config: dict[str, Any], text: str) -> None:
    """From the bytes of B as the headers read them, product by product."""
    problem = parse(text)
    tensors = GemmTensors(problem, config)
    data = samples(tensors)
    (found,) = expected(tensors, data)
    b = tensors.all[1]
    elements = np.prod(b.shape)
    weights = widened(to_memory(b, data["b"]))
    assert len(weights) == elements
    if config is WEIGHTS:  # (N / 16, K / 32, 4, 16, 8)
        weights = weights.reshape(2, 2, 4, 16, 8).transpose(0, 3, 1, 2, 4)
    weights, flat, wanted = weights.ravel(), data["a"].ravel(), []
    for m, n in problem.groups * problem.batch:
        a, flat = flat[: m * problem.k], flat[m * problem.k :]
        own, weights = weights[: n * problem.k], weights[n * problem.k :]
        c = a.reshape(m, -1).astype(float) @ own.reshape(n, -1).astype(float).T
        wanted.append((c + data["d0"] if "d0" in data else c).ravel())
    exact = tensors.reference(data)["c"].ravel()
    np.testing.assert_allclose(exact, np.concatenate(wanted), rtol=1e-12, atol=1e-12)
    last = np.unravel_index(exact.size - 1, found.values.shape)
    sums = tensors.products("c", data, tuple(map(int, last))).sum()
    np.testing.assert_allclose(sums + (data["d0"][last] if "d0" in data else 0), exact[-1])


@pytest.mark.parametrize("narrow", ["a", "b"])
@pytest.mark.parametrize("letter", ["r", "c"])
def test_quantised_operands(narrow: str, letter: str) -> None:
    config = {
        **QUANT, "variant": "rowcol_quant", "group_k": 1, "layout": f"{letter}cr",
        "dtype": "i4_fp8" if narrow == "a" else "fp8_i4",
    }  # fmt: skip
    tensors = QuantTensors(MatrixProduct(16, 24, 40), config)
    types = {t.name: t.dtype for t in tensors.all}
    assert [types[narrow], *(types[s] for s in "ab" if s != narrow)] == ["int4", "fp8_fnuz"]
    data = samples(tensors)
    found = tensors.reference(data)["c"]
    a, b = data["a"].reshape(16, 40).astype(float), data["b"].reshape(24, 40).astype(float)
    wanted = (a * data["aq"]) @ (b * data["bq"]).T
    np.testing.assert_allclose(found, wanted)
    tensor = next(t for t in tensors.all if t.name == narrow)
    shape = (16, 40) if narrow == "a" else (24, 40)
    turned = narrow == "a" and letter == "c"
    stored = data[narrow].reshape(shape).T if turned else data[narrow].reshape(shape)
    assert (widened(to_memory(tensor, data[narrow])) == stored.ravel()).all()
    terms = tensors.products("c", data, (3, 5))
    assert np.isclose(terms.sum(), found[3, 5])


def test_what_eights_do_not_divide_stays_as_it_is() -> None:
    plain = Tensor("b", "in", (8, 12), "int4", (0, 1))
    assert in_eights(plain) is plain
    wide = Tensor("b", "in", (8, 16), "fp8", (0, 1))
    assert in_eights(wide) is wide


def test_tolerances_are_those_of_the_type_that_is_multiplied() -> None:
    """CK's threshold for 4 bits as compute type is 0; their own step would hide every fault."""
    wide = GemmTensors(MatrixProduct(16, 16, 64), {**NARROW, "dtype": "fp16"})
    narrow = GemmTensors(MatrixProduct(16, 16, 64), NARROW)
    assert thresholds(narrow, "c", 8.0) == thresholds(wide, "c", 8.0)


def test_samples_have_every_value() -> None:
    tensors = GemmTensors(MatrixProduct(16, 64, 64), NARROW)
    found = samples(tensors)["b"]
    assert sorted(np.unique(found)) == list(range(-8, 8))
    assert [t.name for t in inputs(tensors)] == ["a", "b"]


GEMM_16 = "_False_False_False_False_32x32x64_1x1x1_16x16x"


@pytest.mark.parametrize(
    ("arch", "name", "codes"),
    [
        ("gfx942", f"gemm_fp16_i4_rcr_compv3_default_intrawave{GEMM_16}32", []),
        ("gfx942", f"gemm_fp16_i4_rcr_compv3_default_intrawave{GEMM_16}16", ["GEMM036"]),
        ("gfx942", f"gemm_bf16_i4_ccr_compv3_default_intrawave{GEMM_16}32", []),
        ("gfx950", f"gemm_bf16_i4_ccr_compv3_default_intrawave{GEMM_16}32", ["GEMM036"]),
        ("gfx950", f"gemm_bf16_i4_rcr_compv3_default_intrawave{GEMM_16}32", []),
        ("gfx1201", f"gemm_fp16_i4_rcr_compv3_default_intrawave{GEMM_16}16", []),
        ("gfx942", f"gemm_fp16_i4_rcr_compv3_cshuffle_intrawave{GEMM_16}32_streamk",
         ["GEMM037"]),
    ],
)  # fmt: skip
def test_which_kernels_widen_neighbours(arch: str, name: str, codes: list[str]) -> None:
    point = config_from_name(name, Books("2025.11"), arch=arch).point
    found = Books("2025.11").of(str(point["variant"])).violations(point)
    assert [v.code for v in found] == codes


@pytest.mark.parametrize(
    ("more", "text", "codes"),
    [
        ({}, "M=32,N=32,K=136", []),
        ({}, "M=32,N=32,K=132", ["GPROB040"]),
        ({"epilogue": "cshuffle"}, "M=32,N=32,K=128,k_batch=2", ["GPROB041"]),
        ({}, "M=32,N=32,K=128,stride_b=136", ["GPROB014"]),
        ({}, "M=32,N=32,K=128,stride_a=136", []),
        ({"variant": "batched"}, "M=32,N=32,K=128,batch=2", ["GPROB041"]),
        ({"variant": "grouped"}, "M=32+64,N=32+128,K=128", []),
    ],
)
def test_problems_that_kernels_take(more: dict[str, Any], text: str, codes: list[str]) -> None:
    """Of a kernel that loads two elements of B at once, and M side by side of A."""
    name = (
        "gemm_fp16_i4_ccr_compv3_default_intrawave_False_False_True_False_16x16x32_1x1x1_16x16x32"
    )
    point = {**config_from_name(name, Books("2025.11"), arch="gfx942").point, **more}
    values = GemmProblems().values(parse(text))
    rules = problem_books.book(str(point["variant"]), ck="2025.11")
    assert [v.code for v in rules.violations({**point, **values})] == codes


def test_mem_counts_half_bytes() -> None:
    """Its stages were those of elements of a byte, so that legal kernels did not compile."""
    small = {"pipeline": "mem", "tile_m": 16, "tile_n": 16, "tile_k": 128, "wave_m": 1,
             "wave_n": 1, "warp_tile_m": 16, "warp_tile_n": 16}  # fmt: skip
    book = Books("2025.11").of("aquant")
    stages = {
        dtype: book.resources({**QUANT, **small, "dtype": dtype}, ["mem_stages"])["mem_stages"]
        for dtype in ("i4_fp8", "fp8")
    }
    # 32768 bytes over 4 blocks of one wave, by (16 / 2 + 16) and (16 + 16) times 128
    assert stages == {"i4_fp8": 3, "fp8": 2}
