"""Tolerances, and what wrong results have in common."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ckrules.cli.commands import validate
from ckrules.constraints.conv.device.tensors import ConvTensors
from ckrules.constraints.conv.problem import parse
from ckrules.constraints.depthwise.device.tensors import DepthwiseTensors
from ckrules.constraints.gemm.device.smoke import smoke
from ckrules.constraints.gemm.device.tensors import GemmTensors
from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.device.dtypes import rounded
from ckrules.device.jobs import RunOutcome, RunStatus
from ckrules.device.patterns import ErrorPattern, classify
from ckrules.device.tensors import expected, samples
from ckrules.device.tolerance import Tolerance, compare, thresholds

CONFIG: dict[str, Any] = {
    "tile_m": 64,
    "tile_n": 32,
    "tile_k": 32,
    "wave_m": 2,
    "wave_n": 1,
    "wave_k": 1,
    "warp_tile_m": 16,
    "warp_tile_n": 8,
    "warp_tile_k": 16,
    "variant": "forward",
}
PROBLEM = "N=2,G=2,C=64,K=96,H=11,W=12,Y=3,X=3,pad=1"


class Case:
    """A right result to spoil."""

    def __init__(self, variant: str, problem: str = PROBLEM, dtype: str = "fp16") -> None:
        config = {**CONFIG, "variant": variant, "dtype": dtype}
        self.tensors, self.dtype = ConvTensors(parse(problem), config), dtype
        self.data = samples(self.tensors)
        (self.expected,) = expected(self.tensors, self.data)
        self.reference = self.expected.values
        self.found = self.reference.copy()
        largest = float(np.abs(self.reference).max())
        self.tolerance = thresholds(self.tensors, self.expected.name, largest)

    def computed(self, **changed: Any) -> Any:
        """The result of other data."""
        values = self.tensors.reference({**self.data, **changed})[self.expected.name]
        return rounded(values, self.dtype)

    def gemm(self) -> Any:
        """A view of the result as (group, M..., N), to spoil parts of it."""
        if self.tensors.result == "weight":
            return np.moveaxis(self.found, 2, -1)
        return np.moveaxis(np.moveaxis(self.found, 1, 0), 2, -1)

    def pattern(self, unwritten: Any = None) -> ErrorPattern:
        result = compare(self.found, self.reference, self.tolerance)
        assert not result.passed
        return classify(self.tensors, self.expected, result, self.found, unwritten)

    def spoil_rows(self, rows: Any, value: float = 0.0) -> None:
        view = self.gemm()
        rank = (view.shape[0], view.shape[1], -1)
        if self.tensors.result != "weight":
            rank = (view.shape[0], -1, view.shape[-1])
        flat = view.reshape(rank).copy()
        flat[:, rows] = value
        view[...] = flat.reshape(view.shape)

    def without(self, taps: Any) -> None:
        """Leaves some terms out of the forward result's sum."""
        order = np.moveaxis(self.data["weight"], 2, -1).copy()
        shape = order.shape
        flat = order.reshape(*shape[:2], -1)
        flat[:, :, taps] = 0
        self.found = self.computed(weight=np.moveaxis(flat.reshape(shape), -1, 2))


def test_a_right_result_passes() -> None:
    case = Case("forward")
    result = compare(case.found, case.reference, case.tolerance)
    assert result.passed
    assert (result.max_abs, result.max_rel, result.not_finite) == (0, 0, 0)


def test_thresholds_are_those_of_check_err() -> None:
    problem = parse("N=8,C=64,K=64,H=56,W=56,Y=3,X=3,pad=1,split_k=4")
    tensors = ConvTensors(problem, {"variant": "bwd_weight", "dtype": "bf16"})
    terms = 8 * 56 * 56 // 4
    found = thresholds(tensors, "weight", 100.0)
    assert found.rtol == max(2**-24 * terms, 2**-8, 2**-8 * 4)
    assert found.atol == max(25 * max(2**-24 * terms, 2**-8), 100 * 2**-8 * 4)
    forward = ConvTensors(problem, {"variant": "forward", "dtype": "fp32"})
    assert thresholds(forward, "output", 100.0).rtol == 2**-24 * 576


def test_the_limit_itself_is_right() -> None:
    ref = np.array([2.0, 2.0, 0.0])
    out = np.array([2.25, 2.2500001, 0.05])
    result = compare(out, ref, Tolerance(rtol=0.1, atol=0.05))
    assert result.mask.tolist() == [False, True, False]
    assert result.max_abs == pytest.approx(0.25, abs=1e-6)


def test_infinity_and_nan() -> None:
    ref = np.array([np.inf, np.inf, 1.0, 1.0])
    out = np.array([np.inf, -np.inf, np.nan, 1.0])
    result = compare(out, ref, Tolerance(0.1, 0.1))
    assert result.mask.tolist() == [False, True, True, False]
    assert (result.not_finite, result.nan, result.max_abs) == (3, 1, None)
    out[3] = 2.0
    assert compare(out, ref, Tolerance(0.1, 0.1)).max_abs == 1.0


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"nan": 400, "not_finite": 400}, "no finite error: 400 NaN"),
        ({"nan": 1, "not_finite": 3}, "no finite error: 1 NaN, 2 infinite"),
        (
            {"nan": 1, "not_finite": 1, "max_abs": 0.5},
            "largest error 0.5 (allowed 0.1 + 0.2 relative), 1 NaN",
        ),
        (
            {"nan": 0, "not_finite": 0, "max_abs": 0.5},
            "largest error 0.5 (allowed 0.1 + 0.2 relative)",
        ),
    ],
)
def test_how_far_a_result_is_off_is_said(counts: dict[str, Any], said: str) -> None:
    """Where every wrong element was NaN, `ckrules validate` said that the largest error was 0."""
    outcome = RunOutcome(RunStatus.WRONG, wrong=400, elements=400, atol=0.1, rtol=0.2, **counts)
    assert validate._error(outcome) == said


@pytest.mark.parametrize("variant", ["forward", "bwd_data", "bwd_weight"])
def test_the_last_tile(variant: str) -> None:
    case = Case(variant, PROBLEM.replace("K=96", "K=160"))
    m = case.tensors.problem.gemm(variant)[0]
    start = (math.ceil(m / 64) - 1) * 64
    case.spoil_rows(slice(start, None))
    assert case.pattern() == ErrorPattern("zeros", "all zeros: last M tile", case.pattern().first)


def test_waves_and_warp_tiles() -> None:
    case = Case("forward")
    rows = np.arange(2 * 11 * 12)
    case.spoil_rows(rows % 64 // 16 % 2 == 1, 3.25)
    assert case.pattern().text.startswith("wave 1 of 2 along M")
    case = Case("forward")
    case.gemm()[..., np.arange(48) % 32 // 8 % 2 == 1] += 9.0
    assert case.pattern().kind == "warp tile"
    assert case.pattern().text == "every second warp tile along N"


def test_nan_in_one_image_of_one_group() -> None:
    case = Case("forward")
    case.found[1, 0] = np.nan
    assert case.pattern().kind == "nan"
    assert case.pattern().text == "NaN: group 0 of 2, image 1 of 2"
    case.found[1, 0, 0] = 77.0
    assert case.pattern().text.startswith("NaN in ")


def test_what_was_never_written() -> None:
    case = Case("forward")
    case.found[...] = np.nan
    mask = np.ones(case.found.shape, bool)
    assert case.pattern(mask) == ErrorPattern(
        "not written", "not written: everywhere", (0, 0, 0, 0, 0)
    )


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_a_missing_k_tile_is_found(dtype: str) -> None:
    case = Case("forward", dtype=dtype)
    case.without(slice(5 * 32, 6 * 32))
    assert case.pattern().kind == "k slice"
    assert case.pattern().text.startswith("K tile 5 of 9 missing: everywhere")
    case.without(slice(8 * 32, None))
    assert case.pattern().text.startswith("last K tile missing")


def test_several_missing_k_tiles() -> None:
    case = Case("forward", dtype="fp32")
    case.without(np.arange(288) // 32 % 2 == 1)
    assert case.pattern().text.startswith("K tiles 1, 3, 5, 7 of 9 missing")


def test_a_split_part_that_was_lost() -> None:
    case = Case("bwd_weight", PROBLEM + ",split_k=3", "fp32")
    part = math.ceil(264 / (3 * 32)) * 32
    flat = np.moveaxis(case.data["output"], 0, 2).copy()
    cut = flat.reshape(*flat.shape[:2], -1)
    cut[:, :, part : 2 * part] = 0
    case.found = case.computed(output=np.moveaxis(cut.reshape(flat.shape), 2, 0))
    assert case.pattern().text.startswith("split-K part 1 of 3 missing")
    case.found = 2 * case.reference - case.found
    assert case.pattern().text.startswith("split-K part 1 of 3 added twice")


def test_k_slices_of_backward_data_with_strides() -> None:
    case = Case("bwd_data", "N=2,C=64,K=96,H=12,W=12,Y=3,X=3,stride=2,pad=1", "fp32")
    cut = case.data["weight"].copy()
    cut[:, 64:96] = 0
    case.found = case.computed(weight=cut)
    assert case.pattern().kind == "k slice"


def test_a_sum_that_was_added_twice() -> None:
    case = Case("forward")
    case.found = 2 * case.reference
    assert case.pattern().text.startswith("2 times the reference: everywhere")


def test_single_elements_are_scattered() -> None:
    case = Case("forward")
    rng = np.random.default_rng(3)
    flat = case.found.reshape(-1)
    flat[rng.choice(flat.size, 40, replace=False)] += 50
    assert case.pattern().kind == "scattered"
    assert "40 of" in case.pattern().text


def test_one_range_that_no_division_explains() -> None:
    case = Case("forward")
    case.gemm()[..., 3:6] += 40
    assert case.pattern().text.startswith("N 3–5 of 48")


def test_depthwise_tiles() -> None:
    config = {"variant": "forward_depthwise", "tile_h": 8, "tile_w": 8, "sub_h": 2, "sub_w": 4}
    config |= {"out_vec": 2, "dtype": "fp16"}
    tensors = DepthwiseTensors(parse("N=2,G=5,C=5,K=5,H=20,W=24,Y=3,X=3,pad=1"), config)
    (right,) = expected(tensors, samples(tensors))
    found = right.values.copy()
    found[..., 16:, :] = 0
    result = compare(found, right.values, thresholds(tensors, "output", 9.0))
    pattern = classify(tensors, right, result, found)
    assert (pattern.kind, pattern.text) == ("zeros", "all zeros: last H tile")


def test_what_is_beyond_a_type_of_8_bits_may_saturate_or_not() -> None:
    nan, inf = math.nan, math.inf
    reference = np.array([240.0, -240.0, 240.0, -240.0, 232.0 - 8, 1.0])
    exact = Tolerance(0.0, 0.0)
    found = np.array([nan, -inf, 240.0, inf, nan, nan])
    seen = compare(found, reference, exact, edge=240.0)
    assert seen.mask.tolist() == [False, False, False, True, True, True]
    assert seen.beyond == 2
    assert compare(found, reference, exact).wrong == 5


_WARP_TILE = {"warp_tile_n": 16, "warp_tile_k": 16}


def test_blocks_of_stream_k_add_a_step_each_at_most() -> None:
    point = {"variant": "stream_k", "streamk": "atomic", "dtype": "bf16", "dtype_c": "bf16",
             "layout": "rcr", "arch": "gfx942", "num_d": 0, "tile_k": 16, **_WARP_TILE}  # fmt: skip
    tensors = GemmTensors(MatrixProduct(32, 32, 64), point)
    assert thresholds(tensors, "c", 8.0).atol == 8 * 2**-8 * 4
    assert thresholds(tensors, "c", 8.0, blocks=2).atol == 8 * 2**-8 * 2
    shared = GemmTensors(MatrixProduct(32, 32, 64), {**point, "streamk": "linear"})
    assert thresholds(shared, "c", 8.0, blocks=2).atol == 8 * 2**-8


def test_sums_that_meet_d_in_lds_are_rounded_twice() -> None:
    point = {"variant": "multi_d", "dtype": "fp32", "dtype_c": "bf16", "layout": "rcrr",
             "arch": "gfx942", "num_d": 2, "elementwise_op": "multiply", **_WARP_TILE}  # fmt: skip
    once, twice = (
        thresholds(GemmTensors(MatrixProduct(16, 16, 16), {**point, "epilogue": e}), "c", 1.0)
        for e in ("default", "cshuffle")
    )
    assert (twice.rtol, twice.atol) == (2 * once.rtol, 2 * once.atol)


def test_integers_of_fractional_sums_may_be_off_by_one_beside_integral_d() -> None:
    point = {"variant": "multi_d", "dtype": "fp16", "dtype_c": "int8", "layout": "rcrr",
             "arch": "gfx942", "num_d": 1, "elementwise_op": "add_scale", **_WARP_TILE}  # fmt: skip
    assert thresholds(GemmTensors(MatrixProduct(16, 16, 16), point), "c", 0.0).atol == 1.0
    whole = GemmTensors(MatrixProduct(16, 16, 16), {**point, "dtype": "int8"})
    assert thresholds(whole, "c", 0.0).atol == 0.0


def test_built_in_products_of_the_smallest_tiles_have_sizes() -> None:
    point = {"variant": "standard", "tile_m": 4, "tile_n": 4, "tile_k": 4, "dtype": "fp16"}
    assert all(min(p.m, p.n, p.k) >= 1 for p in smoke(point))


@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 0, 4), (4, 5, 6), (2, 3, 4, 5)])
@pytest.mark.parametrize("edge", [None, 448.0])
def test_parts_of_any_size_say_the_same(
    shape: tuple[int, ...], edge: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(3)
    reference = np.asarray(chance.normal(size=shape) * 300, np.float32)
    found = np.array(reference + chance.normal(size=shape), np.float32, order="F")
    special = np.asarray([np.nan, np.inf, -np.inf, 0.0], np.float32)
    for values in (found, reference):
        values[...] = np.where(chance.random(shape) < 0.2, chance.choice(special, shape), values)
    tolerance = Tolerance(1e-3, 1.0)
    whole = compare(found, reference, tolerance, edge)
    assert whole.mask.shape == shape
    for size in (1, 7, 40):
        monkeypatch.setattr("ckrules.device.tolerance._TOGETHER", size)
        parts = compare(found, reference, tolerance, edge)
        assert (parts.mask == whole.mask).all()
        assert replace(parts, mask=whole.mask) == whole
