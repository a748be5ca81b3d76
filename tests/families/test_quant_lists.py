"""Files of tile_engine of 2026 for quantised GEMMs: what they list, and what reads them."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ckrules.kernels.books import Books
from ckrules.readers.catalogs import load_catalog
from ckrules.readers.sweeps import table_of
from tests.cli.run import run

DATA = Path(__file__).parent.parent / "data" / "tile_engine_2026"
FOLDERS = {
    "aquant": "gemm_aquant", "bquant": "gemm_bquant", "rowcol_quant": "gemm_rowcolquant",
    "tensor_quant": "gemm_tensor_quant",
}  # fmt: skip
MAPS = {"gfx942": ((1, 4, 1), (2, 2, 1), (4, 1, 1)), "gfx950": ((1, 4, 1), (2, 2, 1), (4, 1, 1))}
SHAPES = {"gfx942": ((32, 32, 16), (32, 32, 32), (16, 16, 32), (16, 16, 64))}
SHAPES["gfx950"] = (*SHAPES["gfx942"], (16, 16, 128), (32, 32, 64))


def _path(variant: str) -> str:
    return str(DATA / FOLDERS[variant] / "configs" / "own.json")


def _values(given: dict[str, Any]) -> list[Any]:
    found: list[Any] = given.get("values") or list(
        range(given["min"], given["max"] + 1, given["step"])
    )
    return found


def _width(rows: int, depth: int, x: int, block: int) -> int:
    each = rows * depth / block
    return next((w for w in (16, 8) if x % w == 0 and each % w == 0), 1)


def _covers(x: int, y: int, width: int, waves: int) -> bool:
    if x % width:
        return False
    most = x * y / (waves * 64)
    across = x / min(width, most)
    return across * (64 // across) == 64


def _tile_passes(
    variant: str, gpu: str, layout: str, tile: Any, wave: Any, shape: Any, group: int
) -> bool:
    """Upstream's checks of a tile in plain numbers, as they stand in its Python."""
    waves = wave[0] * wave[1] * wave[2]
    if wave not in MAPS[gpu] or any(t % (w * s) for t, w, s in zip(tile, wave, shape, strict=True)):
        return False
    if (tile[0] + tile[1]) * tile[2] > (163840 if gpu == "gfx950" else 65536):
        return False
    for rows, turned in ((tile[0], layout[0] == "c"), (tile[1], layout[1] == "r")):
        width = _width(rows, tile[2], rows if turned else tile[2], waves * 64)
        if not _covers(tile[2], rows, width, waves):
            return False
        if turned and not _covers(rows, tile[2], width, waves):
            return False
    stored = min(8, max(1, tile[1] * (tile[0] // wave[0]) // (waves * 64)))
    across = min(64, tile[1] // stored)
    if across * (64 // across) != 64 or shape not in SHAPES[gpu]:
        return False
    if variant == "tensor_quant":
        return True
    if variant in ("aquant", "bquant") and (tile[2] % group or group % shape[2]):
        return False
    deep = (32 if shape[0] == 32 else 64) * (2 if gpu == "gfx950" else 1)
    return bool(shape[0] == shape[1] and shape[2] == deep)


def _traits_pass(variant: str, layout: str, pipeline: str, epilogue: str, scheduler: str,
                 shuffled: bool) -> bool:  # fmt: skip
    if scheduler != "intrawave":
        return False
    if variant == "aquant":
        return not (pipeline == "mem" and shuffled)
    if variant == "bquant":
        return not (shuffled and layout[1] != "c")
    return variant == "tensor_quant" or epilogue == "cshuffle"


@pytest.mark.parametrize("gpu", sorted(MAPS))
@pytest.mark.parametrize("variant", sorted(FOLDERS))
def test_lists_are_what_the_checks_pass(variant: str, gpu: str) -> None:
    file = json.loads(Path(_path(variant)).read_text())
    tiles, traits = file["tile_config"], file["trait_config"]
    switch = next((k for k in traits if k.endswith("_preshuffle_quant")), "")
    catalog = load_catalog(_path(variant), Books("2026.06"))
    for layout in ("rcr", "rrr", "crr") if variant in ("aquant", "bquant") else ("rcr",):
        expected = set()
        for numbers in product(*(_values(v) for v in tiles.values())):
            tile, wave, shape = numbers[:3], numbers[3:6], numbers[6:]
            if not _tile_passes(
                variant, gpu, layout, tile, wave, shape, file.get("group_size_k", 1)
            ):
                continue
            for p, s, e in product(
                *(traits[k]["values"] for k in ("pipeline", "scheduler", "epilogue"))
            ):
                for shuffled in traits[switch]["values"] if switch else (False,):
                    if _traits_pass(variant, layout, p, e, s, shuffled):
                        expected.add((*numbers, p, e, shuffled))
        keys = [f"{g}_{x}" for g in ("tile", "wave", "warp_tile") for x in "mnk"]
        found = {
            (*(point[k] for k in keys), point["pipeline"], point["epilogue"],
             point["preshuffle_quant"])
            for point in catalog.listed(variant, gpu, layout, "fp8")
        }  # fmt: skip
        assert found == expected
    assert any(catalog.listed(variant, "gfx942", "rcr", "fp8"))


def test_other_variants_are_not_in_a_file() -> None:
    catalog = load_catalog(_path("aquant"), Books("2026.06"))
    assert catalog.listed("bquant", "gfx942", "rcr", "fp8") == []
    point = catalog.listed("aquant", "gfx942", "rcr", "fp8")[0]
    assert point["group_k"] == 64
    assert catalog.book("aquant").violations(point) == []


def test_which_table_reads_a_file() -> None:
    def family(variant: str, path: str = "", asked: str = "") -> str:
        value = json.loads(Path(_path(variant)).read_text())
        found = table_of(value, path, asked)
        assert found is not None
        return f"{found[0]} {', '.join(found[1].purposes)}"

    assert family("aquant") == "quant aquant"
    assert family("bquant") == "quant bquant"
    assert family("rowcol_quant").startswith("gemm ")
    assert family("rowcol_quant", _path("rowcol_quant")) == "quant rowcol_quant"
    assert family("tensor_quant", _path("tensor_quant")) == "quant tensor_quant"
    assert family("tensor_quant", asked="tensor_quant") == "quant tensor_quant"
    assert family("tensor_quant", _path("tensor_quant"), "standard").startswith("gemm ")
    assert family("aquant", "gemm_bquant/configs/x.json") == "quant bquant"


def test_check_says_where() -> None:
    words = ("--ck", "2025.11", "--arch", "gfx942", "--only", "layout=rcr", _path("bquant"))
    result = run("check", *words)
    assert result.exit_code == 1
    said = "own.json:20:46: QUANT033 wrong-result: bquant reads its scales in order"
    assert said in result.stdout
    assert result.stderr.startswith("16 configurations: 8 legal")


def test_check_of_an_unknown_variant(tmp_path: Path) -> None:
    copied = tmp_path / "rows.json"
    copied.write_text(Path(_path("rowcol_quant")).read_text())
    wrong = run("check", "--arch", "gfx942", "--only", "variant=rowcol_qant", str(copied))
    assert wrong.exit_code == 2
    assert "unknown variant 'rowcol_qant': did you mean 'rowcol_quant'?" in wrong.stderr
    right = run("check", "--arch", "gfx942", "--only", "variant=rowcol_quant", str(copied))
    assert right.exit_code == 0, right.stderr
    assert "8 configurations: 8 legal" in right.stderr
