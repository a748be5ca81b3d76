"""Matrix products: their text, what kernels refuse of them, and the tensors of each kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ckrules.constraints.gemm.device.tensors import GemmTensors
from ckrules.constraints.gemm.problem import MatrixProduct, pack, parse
from ckrules.constraints.gemm.problems import GemmProblems
from ckrules.device.tensors import samples, to_memory
from ckrules.kernels import problem_books
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_name
from ckrules.support.errors import CkrulesError

PLAIN = "gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_64x64x32_2x2x1_16x16x16"
PADDED = PLAIN.replace("False_False_False_False", "False_False_True_False")
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
        (PLAIN, "M=64,N=64,K=64,batch=2", ["GPROB010"]),
        (PLAIN + "_batched", "M=64,N=64,K=64,batch=2", []),
        (PLAIN + "_batched", "M=4096,N=4096,K=4096,batch=128", ["GPROB012"]),
        (PLAIN + "_batched", "M=512,N=512,K=512,stride_a=520", ["GPROB014"]),
        (PLAIN, "M=512,N=512,K=512,lda=512,ldb=513,ldc=1024", []),
        (PLAIN, "M=512,N=512,K=512,stride_a=511,stride_c=8", ["GPROB013"]),
        (PLAIN + "_grouped", "M=64+1,N=64+128,K=64", []),
        (PLAIN + "_grouped", "M=64+1,N=64+72,K=64", ["GPROB003"]),
        (PLAIN + "_grouped", "M=" + "+".join(["1"] * 33) + ",N=64,K=64", ["GPROB011"]),
        (PLAIN + "_streamk", "M=64,N=64,K=64", []),
        (PLAIN + "_streamk", "M=64,N=64,K=128,k_batch=2", ["GPROB009"]),
        (PADDED + "_streamk", "M=64,N=64,K=72", ["GPROB023"]),
        (WEIGHTS, "M=64,N=64,K=128,k_batch=2", ["GPROB009", "GPROB022"]),
    ],
)
def test_what_kernels_take(name: str, problem: str, codes: list[str]) -> None:
    rules = problem_books.book("standard", ck="2025.11")
    point = _point(name)
    product = parse(problem)
    values = GemmProblems().values(product)
    assert [v.code for v in rules.violations({**point, **values})] == codes


@pytest.mark.parametrize(
    ("problem", "codes"),
    [
        ("M=64,N=64,K=40,k_batch=2", []),
        ("M=64,N=64,K=72,k_batch=4", []),
        ("M=64,N=64,K=40,k_batch=3", ["GPROB047"]),
        ("M=64,N=64,K=8", ["GPROB047"]),
    ],
)
def test_parts_have_a_warp_tile_since_2026_06(problem: str, codes: list[str]) -> None:
    rules = problem_books.book("standard", ck="2026.06")
    values = GemmProblems().values(parse(problem))
    assert [v.code for v in rules.violations({**_point(PADDED), **values})] == codes


@given(tiles=st.integers(1, 40), rest=st.integers(0, 15), parts=st.integers(1, 9))
def test_warp_tiles_are_dealt_out(tiles: int, rest: int, parts: int) -> None:
    """SplitKBatchOffset since 2026.06, whose first parts have a warp tile more."""
    assume(tiles >= parts)
    own, longer = 16, tiles % parts or parts
    full = -(-tiles // parts) * own
    dealt = [full if part < longer else full - own for part in range(parts)]
    dealt[-1] = own * tiles + rest - sum(dealt[:-1])
    values = GemmProblems().values(MatrixProduct(64, 64, own * tiles + rest, parts))
    words = ["part_length", "short_part", "last_part"]
    rules = problem_books.book("standard", ck="2026.06")
    first, short, last = rules.resources({**_point(PADDED), **values}, words).values()
    assert last == dealt[-1]
    if parts > 1:
        assert (first, short) == (dealt[0], min(dealt[:-1]))


@pytest.mark.parametrize(
    "text",
    ["M=1,N=2", "M=1,N=2,K=0", "M=1,N=2,K=3,L=4", "M=1,M=2,N=2,K=3", "M=1;N=2", "K=x,M=1,N=1"],
)
def test_what_is_no_product(text: str) -> None:
    with pytest.raises(CkrulesError):
        parse(text)


def test_bytes_are_those_of_the_header() -> None:
    found = np.frombuffer(pack(MatrixProduct(1, 2, 3, 4)), np.int64)
    assert found.tolist() == [1, 2, 3, 4, 1, 1, 0, 0, 0]
    found = np.frombuffer(pack(parse("M=1+7,N=2+8,K=3")), np.int64)
    assert found.tolist() == [1, 2, 3, 1, 1, 2, 0, 0, 0, 7, 8]


def test_strides_are_the_pitches_of_the_tensors() -> None:
    product = parse("M=64,N=128,K=32,stride_a=40,ldc=130")
    assert parse(str(product)) == product
    assert product.whole() == product
    assert np.frombuffer(pack(product), np.int64).tolist() == [64, 128, 32, 1, 1, 1, 40, 0, 130]
    assert [t.pitch for t in GemmTensors(product, _point(PLAIN)).all] == [40, 0, 130]


def test_groups_are_written_side_by_side() -> None:
    product = parse("M=64+100+1,N=256,K=32")
    assert product.groups == ((64, 256), (100, 256), (1, 256))
    assert parse(str(product)) == product
    assert product.flops == 2 * 165 * 256 * 32
    assert product.sizes() == {"M": 1, "N": 256, "K": 32, "k_batch": 1, "batch": 1}
    assert str(parse("M=8+8,N=4+2,K=1")) == "M=8+8,N=4+2,K=1"
    with pytest.raises(CkrulesError, match="N has 2 groups, expected 1 or 3"):
        parse("M=1+2+3,N=1+2,K=3")


def test_weights_are_uploaded_in_shuffled_order() -> None:
    """The shuffle of ``tensor_shuffle_utils.hpp`` for 16-wide tiles: (N/16, 16, K/32, 4, 8)."""
    tensors = GemmTensors(MatrixProduct(64, 128, 64), _point(WEIGHTS))
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
    tensors = GemmTensors(MatrixProduct(64, 64, 64), _point(WEIGHTS, arch))
    assert tensors.all[0].dtype == ("fp8" if arch == "gfx950" else "fp8_fnuz")


@pytest.mark.parametrize("layout", ["rcr", "crc", "rrc"])
def test_references_of_several_products(layout: str) -> None:
    """Each product of a batch and each group is computed by itself, in every layout."""
    for kind, text in (("_batched", "M=5,N=3,K=4,batch=3"), ("_grouped", "M=5+2,N=3+7,K=4")):
        point = _point(DEFAULT.replace("rcr", layout) + kind)
        problem = parse(text)
        tensors = GemmTensors(problem, point)
        data = samples(tensors)
        found = tensors.reference(data)["c"]
        rows = {k: to_memory(next(t for t in tensors.all if t.name == k), v).view(np.float16)
                for k, v in data.items()}  # fmt: skip
        wanted, at = [], [0, 0]
        for m, n in problem.groups * problem.batch:
            a = rows["a"].ravel()[at[0] : at[0] + m * 4]
            b = rows["b"].ravel()[at[1] : at[1] + n * 4]
            at = [at[0] + m * 4, at[1] + n * 4]
            a = a.reshape(m, 4) if layout[0] == "r" else a.reshape(4, m).T
            b = b.reshape(4, n) if layout[1] == "r" else b.reshape(n, 4).T
            c = a.astype(float) @ b.astype(float)
            wanted.append((c if layout[2] == "r" else c.T).ravel())
        flat = np.concatenate(wanted)
        order = next(t for t in tensors.all if t.name == "c").order
        assert np.allclose(found.transpose(order).ravel(), flat)
        last = (found.size - 1,) if kind == "_grouped" else tuple(s - 1 for s in found.shape)
        assert np.isclose(tensors.products("c", data, last).sum(), found[last])


def test_references() -> None:
    for name in (PLAIN, WITH_D, WEIGHTS):
        tensors = GemmTensors(MatrixProduct(64, 64, 64), _point(name))
        data = samples(tensors)
        found = tensors.reference(data)["c"]
        wanted = data["a"].astype(float) @ data["b"].reshape(64, 64).astype(float).T
        for d in range(int(tensors.config["num_d"])):
            wanted = wanted + data[f"d{d}"]
        assert np.allclose(found, wanted)
        row = tensors.products("c", data, (3, 5)).sum()
        assert np.isclose(row + sum(data[k][3, 5] for k in data if k[0] == "d"), found[3, 5])


def test_permuted_columns_have_whole_tiles() -> None:
    """A product with a part of a tile along N had no shape that its columns fit into."""
    point = _point(f"{WEIGHTS}_permuteN".replace("64x64x64_1x4x1", "64x128x64_1x2x1"))
    point["pad_n"] = True
    whole, part = MatrixProduct(64, 256, 128), MatrixProduct(64, 192, 128)
    assert GemmTensors(whole, point).all[1].shape == (2, 2, 16, 4, 4, 4, 8)
    tensors = GemmTensors(part, point)
    assert tensors.all[1].shape == (12, 16, 4, 4, 8)
    assert tensors.reference(samples(tensors))["c"].shape == (64, 192)
    rules = problem_books.book("preshuffle", ck="2025.11")
    for problem, codes in ((whole, []), (part, ["GPROB022"])):
        values = {**point, **GemmProblems().values(problem)}
        assert [v.code for v in rules.violations(values)] == codes
