"""The GPU files: every one loads, and its facts are those of the rules and of upstream."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ckrules.arch import CK_VERSIONS, DTYPES, Gpu, WarpTile, features, known, load, load_all
from ckrules.support.errors import UnknownNameError

HERE = Path(__file__).parent
UPSTREAM: dict[str, Any] = json.loads((HERE / "data" / "dispatcher_2026_06.json").read_text())
COMPILED: dict[str, Any] = json.loads((HERE / "data" / "instructions_2025_11.json").read_text())
GFX9 = ("gfx908", "gfx90a", "gfx942", "gfx950")
GFX11 = ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152")
ALL = (*GFX9, *GFX11, "gfx1200", "gfx1201", "gfx1250")


def shapes(name: str, *types: str, ck: str | None = None) -> set[str]:
    tiles = load(name).warp_tiles(*types, ck=ck)  # type: ignore[misc]
    return {"x".join(map(str, tile.shape)) for tile in tiles}


def having(feature: str) -> list[str]:
    return [gpu.name for gpu in load_all() if gpu.has(feature)]


def test_names_and_order() -> None:
    assert known() == ALL
    assert [gpu.name for gpu in load_all()] == list(ALL)
    assert load("gfx942") is load("gfx942")


@pytest.mark.parametrize("name", ALL)
def test_threads_waves_and_memory(name: str) -> None:
    gpu = load(name)
    assert gpu.wave_size == (64 if name in GFX9 else 32)
    assert gpu.max_threads == 1024
    assert gpu.max_waves == 1024 // gpu.wave_size
    assert gpu.lds_bytes == {"gfx950": 163840, "gfx1250": 327680}.get(name, 65536)
    assert gpu.lds_banks == (64 if name in ("gfx950", "gfx1250") else 32)
    assert gpu.smem_capacity == (163840 if name == "gfx950" else 65536)
    assert gpu.vgprs_per_wave == (512 if name in GFX9 else 1024 if name == "gfx1250" else 256)
    assert gpu.matrix_unit == ("mfma" if name in GFX9 else "wmma")
    assert (gpu.isa == "gfx9") == (name in GFX9)
    assert gpu.since == ("2026.06" if name == "gfx1250" else "2025.11")
    assert max(gpu.global_load_bytes) == 16


@pytest.mark.parametrize("name", ALL)
def test_every_section_and_tile_has_a_source(name: str) -> None:
    gpu = load(name)
    sections = {"gpu", "lds", "vgprs", "load", "build"}
    sections |= {"dispatcher"} if gpu.dispatcher is not None else set()
    assert sections <= {section for section, _ in gpu.sources}
    assert all(gpu.source(section) for section in sections)
    assert all(tile.source for tile in gpu.tiles)
    with pytest.raises(UnknownNameError, match="did you mean 'lds'"):
        gpu.source("ldz")


def test_features() -> None:
    assert having("streamk") == ["gfx90a", "gfx942", "gfx950"]
    assert having("async_pipelines") == ["gfx950"]
    assert having("lds_transpose_load") == ["gfx950", "gfx1250"]
    assert having("global_to_lds") == ["gfx942", "gfx950"]
    assert having("direct_to_lds_wide") == ["gfx950", "gfx1250"]
    assert having("ocp_fp8") == ["gfx950", "gfx1200", "gfx1201", "gfx1250"]
    assert having("warp_raked_loads") == having("lds_row_padding") == having("tdm") == ["gfx1250"]
    assert set(features()) == {feature for gpu in load_all() for feature in gpu.features}
    with pytest.raises(UnknownNameError, match="did you mean 'streamk'"):
        load("gfx942").has("stream_k")


def test_gpus_of_one_lineage_differ_in_what_llvm_says_only() -> None:
    """CK gives them one macro; the register file is larger on three."""
    larger = [n for n in GFX11 if load(n).vgprs_per_simd == 1536]
    assert larger == ["gfx1100", "gfx1101", "gfx1151"]
    assert all(load(n).vgprs_per_simd == 1024 for n in GFX11 if n not in larger)
    same = ("isa", "lds_bytes", "lds_banks", "dtypes", "features", "defines", "global_load_bytes")
    for name in GFX11:
        assert [getattr(load(name), k) for k in same] == [getattr(load("gfx1100"), k) for k in same]
        assert load(name).products


def test_the_dispatcher_knows_what_upstreams_table_has() -> None:
    knows = [g.name for g in load_all() if g.dispatcher is not None]
    assert knows == [n for n in ALL if n in UPSTREAM["warp_configs"]]


def test_direct_to_lds_widths() -> None:
    widths = {gpu.name: gpu.direct_to_lds_bytes for gpu in load_all()}
    assert widths["gfx908"] == widths["gfx90a"] == widths["gfx942"] == (4,)
    assert widths["gfx950"] == (4, 12, 16)
    assert widths["gfx1100"] == widths["gfx1200"] == widths["gfx1201"] == ()


def test_transpose_load() -> None:
    tr = load("gfx950").transpose_load
    assert tr is not None
    assert tr.read_bytes == 8
    assert [tr.allows("fp16", k) for k in (16, 32, 64)] == [True, True, False]
    assert [tr.allows("fp8", k) for k in (32, 64, 128)] == [True, True, False]
    assert tr.allows("pk_fp4", 64)
    assert not tr.allows("fp32", 4)
    free = load("gfx1250").transpose_load
    assert free is not None
    assert free.allows("fp16", 1024)
    assert load("gfx942").transpose_load is None


def test_warp_tiles_by_ck_version() -> None:
    old, new = "16x16x4 16x16x16", "16x16x4 16x16x16 16x16x8 32x32x4 32x32x8"
    for name in GFX9:
        assert shapes(name, "fp32", "fp32", "fp32", ck="2025.11") == set(old.split())
        assert shapes(name, "fp32", "fp32", "fp32", ck="2026.06") == set(new.split())
    assert shapes("gfx942", "bf8", "fp8", "fp32", ck="2025.11") == {"32x32x16"}
    assert shapes("gfx942", "bf8", "fp8", "fp32") == {"32x32x16", "16x16x32"}
    assert not load("gfx1250").warp_tiles("fp16", "fp16", "fp32", ck="2025.11")
    assert load("gfx942").warp_tiles("fp16", "fp16", "fp32", ck=CK_VERSIONS[-1]) == load(
        "gfx942"
    ).warp_tiles("fp16", "fp16", "fp32")


def test_no_op_bodies_are_no_warp_tiles() -> None:
    """The header has these entries, the GPU does nothing with them."""
    for name in (*GFX11, "gfx1200", "gfx1201"):
        assert shapes(name, "fp16", "fp16", "fp32") == {"16x16x16"}
        assert shapes(name, "fp32", "fp32", "fp32") == set()
    assert shapes("gfx1100", "fp8", "fp8", "fp32") == set()
    assert shapes("gfx90a", "fp8", "fp8", "fp32") == {"32x32x16", "32x32x32"}
    assert "16x16x128" not in shapes("gfx942", "fp8", "fp8", "fp32")
    assert "16x16x64" not in shapes("gfx942", "int8", "int8", "int32")
    assert "16x16x64" in shapes("gfx950", "int8", "int8", "int32")
    assert shapes("gfx1250", "fp16", "fp16", "fp32") == {"16x16x32"}
    assert shapes("gfx1250", "fp32", "fp32", "fp32") == {"16x16x4"}


def test_kinds_of_warp_tiles() -> None:
    def kinds(name: str, *types: str) -> dict[tuple[int, int, int], str]:
        tiles = load(name).warp_tiles(*types)
        return {tile.shape: tile.kind for tile in tiles}

    assert kinds("gfx942", "fp16", "fp16", "fp32")[32, 32, 16] == "iterated"
    assert kinds("gfx950", "fp16", "fp16", "fp32")[32, 32, 16] == "native"
    assert kinds("gfx908", "bf16", "bf16", "fp32")[32, 32, 8] == "iterated"
    assert kinds("gfx90a", "bf16", "bf16", "fp32")[32, 32, 8] == "native"
    assert kinds("gfx908", "fp8", "fp8", "fp32")[32, 32, 16] == "emulated"
    assert kinds("gfx950", "tf32", "tf32", "fp32")[32, 32, 16] == "emulated"
    assert kinds("gfx1250", "fp8", "fp8", "fp32")[16, 16, 32] == "emulated"
    assert kinds("gfx1250", "pk_fp4", "pk_fp4", "fp32")[32, 32, 128] == "iterated"


def test_warp_tiles_are_sorted_and_reject_strangers() -> None:
    gpu = load("gfx942")
    tiles = gpu.warp_tiles("fp16", "fp16", "fp32")
    assert [tile.shape for tile in tiles] == sorted(tile.shape for tile in tiles)
    assert all(isinstance(tile, WarpTile) and tile.a == "fp16" for tile in tiles)
    assert gpu.warp_tiles("fp16", "fp8", "fp32") == ()
    with pytest.raises(UnknownNameError, match="unknown dtype 'half': known are"):
        gpu.warp_tiles("half", "fp16", "fp32")
    with pytest.raises(UnknownNameError, match=r"unknown CK version '2026\.6': did you mean"):
        gpu.warp_tiles("fp16", "fp16", "fp32", ck="2026.6")


@pytest.mark.parametrize("name", sorted(COMPILED["gpus"]))
def test_warp_tiles_agree_with_the_compiler(name: str) -> None:
    """Each entry of the 2025.11 header, compiled for the GPU, instructions in its body."""
    found = COMPILED["gpus"][name]
    listed = {(t.types, t.shape): t for t in load(name).tiles if t.since == "2025.11"}
    seen = set()
    for entry in COMPILED["entries"]:
        *types, m, n, k = entry
        key = ((types[0], types[1], types[2]), (m, n, k))
        seen.add(key)
        if types[0] == "pk_fp4":  # it takes scales, too, so that the table's probe does not compile
            continue
        count, instruction = found.get(" ".join(map(str, entry)), (0, ""))
        tile = listed.get(key)
        if types[0] == "int8" and instruction.startswith("v_mfma_f32"):
            assert tile is None, "floating-point bits in integer accumulators"
        elif not count:
            assert tile is None, f"{key} does nothing on {name}"
        else:
            assert tile is not None, f"{key} works on {name}"
            widened = types[0] in ("fp8", "bf8") and instruction == "v_mfma_f32_32x32x2f32"
            kind = "emulated" if widened else "native" if count == 1 else "iterated"
            assert tile.kind == kind
    assert set(listed) <= seen


@pytest.mark.parametrize("name", [n for n in ALL if n in UPSTREAM["warp_configs"]])
def test_dispatcher_tables_repeat_upstream(name: str) -> None:
    dispatcher = load(name).dispatcher
    assert dispatcher is not None

    def plain(table: tuple[Any, ...]) -> dict[str, list[list[int]]]:
        june = [(types, tiles) for types, tiles, since in table if since <= "2026.06"]
        return {"_".join(types): [list(tile) for tile in tiles] for types, tiles in june}

    assert dispatcher.family == UPSTREAM["arch_family"][name]
    assert [list(waves) for waves in dispatcher.wave_maps] == UPSTREAM["warp_configs"][name]
    assert plain(dispatcher.warp_tiles) == UPSTREAM["warp_tile_combos"][name]
    preshuffle = UPSTREAM["preshuffle_warp_tile_combos"].get(name, {})
    assert plain(dispatcher.preshuffle_warp_tiles) == preshuffle
    assert dict(dispatcher.lds_limits) == UPSTREAM["lds_capacity_limits_bytes_by_pipeline"]


def test_rows_of_september() -> None:
    dispatcher, eight = load("gfx1250").dispatcher, ("fp8", "fp8", "fp32")
    assert dispatcher is not None
    assert dispatcher.tiles(*eight, ck="2026.06") == ()
    assert dispatcher.tiles(*eight) == ((16, 16, 64), (16, 16, 128))
    assert dispatcher.tiles("fp16", "fp16", "fp32", preshuffle=True) == ((16, 16, 32),)


def test_dispatcher_look_ups() -> None:
    dispatcher = load("gfx942").dispatcher
    assert dispatcher is not None
    assert dispatcher.lds_limit("compv4") == 32768
    assert dispatcher.lds_limit("wavelet") == 65536  # the default row
    assert (4, 64, 16) in dispatcher.tiles("fp16", "fp16", "fp32")
    assert (4, 64, 16) not in dispatcher.tiles("fp16", "fp16", "fp32", preshuffle=True)
    assert dispatcher.tiles("fp64", "fp64", "fp64") == ()
    assert ("fp8", "bf8", "fp32") in dispatcher.types


def test_dtype_sizes_and_accumulators_repeat_upstream() -> None:
    assert {name: DTYPES[name] / 8 for name in UPSTREAM["element_size_bytes"]} == UPSTREAM[
        "element_size_bytes"
    ]
    unknown = [gpu.name for gpu in load_all() if gpu.dispatcher is None]
    assert unknown == ["gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152"]
    for gpu in load_all():
        for a, b, acc in gpu.dispatcher.types if gpu.dispatcher is not None else ():
            assert UPSTREAM["dtype_combinations"][f"{a}_{b}"]["acc"] == acc


def test_a_gpu_is_hashable_and_survives_pickling() -> None:
    for gpu in load_all():
        again: Gpu = pickle.loads(pickle.dumps(gpu))
        assert again == gpu
        assert hash(again) == hash(gpu)


def test_loading_pulls_in_no_heavy_module() -> None:
    code = (
        "import sys, ckrules.arch as a\n"
        "light = 'tomllib' in sys.modules or 'importlib.resources' in sys.modules\n"
        "a.load_all()\n"
        "heavy = {'numpy', 'z3', 'networkx', 'rich', 'click', 'jinja2'} & set(sys.modules)\n"
        "mine = {m for m in sys.modules if m.startswith('ckrules.')}\n"
        "print(light, sorted(heavy), sorted(m for m in mine if not m.startswith("
        "('ckrules.arch', 'ckrules.support'))), 'ckrules.support.locate' in mine)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "[]", "[]", "False"]
