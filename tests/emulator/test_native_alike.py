"""The comparison that `conftest.py` makes of numpy and native code sees what differs."""

from __future__ import annotations

import pytest

from ckrules.emulator.native.library import compiler
from tests.helpers import isa, native_alike
from tests.helpers.isa import Bench

pytestmark = pytest.mark.skipif(compiler() is None, reason="native code needs clang")


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_what_native_code_does_otherwise_is_named(arch: str) -> None:
    assert isa.RUNS is not None
    text = "v_add_u32 v2, v0, v1" if arch == "gfx942" else "v_add_nc_u32 v2, v0, v1"
    Bench(text, arch).v(0, range(1, 65)[: 64 if arch == "gfx942" else 32]).run()
    (ran,) = isa.RUNS[-1:]
    assert native_alike.compare([ran]) > 0
    right = ran.after.registers[0, "v", 2]
    ran.after.registers[0, "v", 2] = right[:-1] + b"\1"
    with pytest.raises(AssertionError, match=r"v2, v0, v1.*: registers .*'v', 2.* differ"):
        native_alike.compare([ran])
    ran.after.registers[0, "v", 2] = right
