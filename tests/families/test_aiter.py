"""aiter's kernels: every production configuration of August 2026, judged, and its names."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ckrules.constraints.scaled.names import NAMING, STYLES
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping
from ckrules.kernels.families import named
from ckrules.kernels.family import Family
from ckrules.kernels.library import book
from ckrules.kernels.name_grammar import KernelNameError
from ckrules.kernels.names import format_name, parse_name, styled_name
from ckrules.kernels.reader_tables import RecordTable
from ckrules.readers import Context, Entry, InputReading

DATA = Path(__file__).parent.parent / "data" / "aiter"
ROWS = [json.loads(line) for line in (DATA / "configurations.jsonl").read_text().splitlines()]
FAMILY: Family = named("scaled")


def point_of(row: dict[str, Any], gpu: str) -> dict[str, Any]:
    table: RecordTable = next(
        t for t in FAMILY.readers["python"] if all(n in row["fields"] for n in t.needed)
    )
    said = table.of_list(row["list"])
    given = {**table.fixed, "dtype": "fp8", **said}
    for key, value in row["fields"].items():
        if key in table.fields:
            given[table.fields[key]] = table.word(table.fields[key], value)
    table.finish(given)
    return dict(config_from_mapping({**given, "arch": gpu}, Books()).point)


def gpus_of(row: dict[str, Any]) -> list[str]:
    return [g if g.startswith("gfx9") else "gfx942" for g in row["gpus"]]


def test_all_of_them_are_legal_with_the_headers_of_june_2026() -> None:
    rules = book("flatmm")
    broken = Counter(
        v.code for row in ROWS for g in gpus_of(row) for v in rules.violations(point_of(row, g))
    )
    assert not broken
    assert len(ROWS) == 328


def test_older_headers_store_odd_numbers_of_rows_wrong() -> None:
    """flatmm with 48, 80 or 112 rows, as the CShuffle of November 2025 splits them."""
    rules = book("flatmm", ck="2025.11")
    rows = [r for r in ROWS if r["family"] == "a8w8_bpreshuffle"]
    odd = [p for r in rows for p in [point_of(r, r["gpus"][0])] if rules.violations(p)]
    assert {c for p in odd for c in (v.code for v in rules.violations(p))} == {"EPI002"}
    assert {p["tile_m"] for p in odd} == {48, 80, 112}
    assert (len(odd), len(rows)) == (51, 283)


def test_names_both_ways() -> None:
    for row in ROWS:
        parsed = parse_name(row["name"])
        point = point_of(row, gpus_of(row)[0])
        for key, value in parsed.point.items():
            assert key in parsed.taken or point[key] == value, (row["name"], key)
        assert styled_name(point, "aiter") == row["name"]
        assert NAMING.format(parsed.point, parsed.spelling) == row["name"]
        usual = format_name(point)
        assert {**parse_name(usual).point, "arch": point["arch"]} == point


def test_tuned_tables_are_read() -> None:
    found = list(InputReading(str(DATA / "tuned_names.csv"), Context(Books(), "gfx942")))
    entries = [i for i in found if isinstance(i, Entry)]
    lines = (DATA / "tuned_names.csv").read_text().splitlines()[1:]
    readable = [x for x in lines if ",a8w8_" in x or ",moe_cktile2stages" in x]
    assert len(entries) == len(readable) > 100
    rules = book("flatmm")
    assert not [e for e in entries if rules.violations(e.config.point)]
    assert all(r.code == "CFG010" for e in entries for r in e.remarks)


def test_names_of_2025_say_that_lds_has_one_buffer() -> None:
    name = "a8w8_blockscale_cktile_64x128x128_2x2x1_32x32x16_intrawave_0x1x{}0_2"
    older = parse_name(name.format("0x"))
    assert older.point == parse_name(name.format("")).point
    assert older.point["transpose_c"]
    assert older.point["k_block_per_cu"] == 2
    with pytest.raises(KernelNameError):
        parse_name(name.format("1x"))


_MOE = "moe_cktile2stages_gemm1_512x32x128x128_1x4_16x16x128_1perCU_per_tensor_silu"
_SPARSE = "a8w8_bpreshuffle_cktile_0x1x8x4x1x0x0x0x0x1_128x128x128_1x4x1_16x16x64_default"
_CUT = "a8w8_blockscale_cktile_128x128x128_1x4x1_16x16x64_default_0x1x0_1_aq"
FAULTS = [(_MOE, 25, "256 threads"), (_SPARSE, 27, "sparse"), (_CUT, 66, "_aqrm")]


@pytest.mark.parametrize(("name", "column", "said"), FAULTS)
def test_faulty_names(name: str, column: int, said: str) -> None:
    with pytest.raises(KernelNameError, match=said) as caught:
        parse_name(name)
    assert caught.value.column == column


def test_aiter_has_no_name_for_other_kernels() -> None:
    point = point_of(ROWS[0], "gfx942")
    with pytest.raises(Exception, match="aiter has no kernel of flatmm with scales = per_tensor"):
        STYLES["aiter"].format({**point, "scales": "per_tensor"})
