"""Sightings take little memory, also while their tables grow."""

from __future__ import annotations

import tracemalloc

from ckrules.checking.first_seen import Sightings


def test_a_table_grows_without_a_copy_of_its_entries() -> None:
    seen, entries = Sightings(), 20_000
    tracemalloc.start()
    try:
        for i in range(entries):
            assert seen.first(hash(f"kernel {i}"), i) == i
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(seen) == entries
    assert kept < 64 * entries
    assert most < 2.5 * kept
    assert [seen.first(hash(f"kernel {i}"), -1) for i in range(entries)] == list(range(entries))
