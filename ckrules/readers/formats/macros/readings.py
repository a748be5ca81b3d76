"""The ways in which upstream's tools read ``.tile(a, b, c)``."""

from __future__ import annotations

READINGS = {"gmn": "(groups, tile_m, tile_n), tile_k filled in", "mnk": "(tile_m, tile_n, tile_k)"}
