"""Speeds of GPUs: peaks as the vendor states them, products, and faults of their tables."""

from __future__ import annotations

import pytest

from ckrules.arch import load, load_all
from ckrules.arch.loader import read_gpu
from ckrules.support.document import TomlFileError
from ckrules.support.errors import UnknownNameError, UsageError
from tests.arch.test_loader import MINIMAL

SPEEDS = """
[performance]
simds = 4
waves_per_simd = 8
lds_bytes_per_clock = 128
l2_bytes = 4096
l2_bytes_per_clock = 64
last_level_bytes = 0
chiplets = 1
matrix_flops = { fp16 = 1024 }
source = "a test"

[[performance.product]]
name = "A Card"
compute_units = 10
clock_mhz = 1000
memory_gbs = 100
"""


@pytest.mark.parametrize(
    ("arch", "product", "dtype", "tflops"),
    [
        ("gfx908", "MI100", "fp16", 184.6),
        ("gfx90a", "MI210", "bf16", 181.0),
        ("gfx942", "MI300X", "fp16", 1307.4),
        ("gfx942", "MI300X", "fp8", 2614.9),
        ("gfx950", "MI355X", "bf16", 2516.6),
        ("gfx1100", "RX 7900 XTX", "fp16", 122.8),
        ("gfx1201", "RX 9070 XT", "fp16", 194.6),
    ],
)
def test_peaks_are_those_of_the_products(
    arch: str, product: str, dtype: str, tflops: float
) -> None:
    """The vendor's dense peaks in TFLOPS, computed from units, clock and rate."""
    speeds = load(arch).performance
    assert speeds is not None
    p = speeds.product(product)
    peak = p.compute_units * p.clock_mhz * 1e6 * dict(speeds.matrix_flops)[dtype] / 1e12
    assert peak == pytest.approx(tflops, rel=2e-3)


def test_every_product_of_a_gpu_has_speeds() -> None:
    for gpu in load_all():
        names = {p.name for p in gpu.performance.products} if gpu.performance else set()
        assert names == set(gpu.products), gpu.name


def test_unknown_products_and_rates_are_errors() -> None:
    speeds = load("gfx942").performance
    assert speeds is not None
    with pytest.raises(UnknownNameError, match="MI300X"):
        speeds.product("MI300Z")
    with pytest.raises(UsageError, match="int4"):
        speeds.rate("int4", (32, 32, 8))


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("simds = 4", "simd = 4", "unknown key 'simd'"),
        ("simds = 4", "simds = 1", "has no place"),
        ('name = "A Card"', 'name = "Another"', "is not among the products"),
        ("{ fp16 = 1024 }", "{ fp61 = 1024 }", "unknown key 'fp61'"),
        ("compute_units = 10", "compute_units = 0", "compute_units"),
    ],
)
def test_faults_have_places(old: str, new: str, what: str) -> None:
    import re

    products = re.sub(r"products = \[.*?\]", 'products = ["A Card"]', MINIMAL)
    assert read_gpu("a.toml", (products + SPEEDS).encode()).performance is not None
    with pytest.raises(TomlFileError, match=re.escape(what)):
        read_gpu("a.toml", (products + SPEEDS.replace(old, new, 1)).encode())
