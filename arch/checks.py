"""Check the facts of one GPU file against each other; a contradiction is an error with a place."""

from __future__ import annotations

from collections.abc import Iterator

from ckrules.arch.model import CK_VERSIONS, DispatcherTable, Gpu, Shape, Types, WarpTile
from ckrules.arch.performance import Performance
from ckrules.support.document import Section
from ckrules.support.toml_path import TomlPath

Fault = tuple[TomlPath, str]


def check_file(gpu: Gpu, instructions: tuple[tuple[Types, Shape], ...], top: Section) -> None:
    """Raise :class:`~ckrules.support.document.TomlFileError` at the first contradiction."""
    faults = [
        *_threads(gpu),
        *_memory(gpu),
        *_features(gpu),
        *_dtypes(gpu),
        *_tiles(gpu, instructions, top),
        *(_performance(gpu, gpu.performance) if gpu.performance else ()),
        *(_dispatcher(gpu, gpu.dispatcher) if gpu.dispatcher else ()),
    ]
    for path, what in faults:
        raise top.doc.error(path, what)


def _threads(gpu: Gpu) -> Iterator[Fault]:
    if gpu.wave_size not in (32, 64):
        yield ("gpu", "wave_size"), f"wave_size = {gpu.wave_size}, expected 32 or 64"
    if gpu.max_waves * gpu.wave_size != gpu.max_threads:
        threads = gpu.max_waves * gpu.wave_size
        what = f"max_waves * wave_size = {threads}, expected max_threads = {gpu.max_threads}"
        yield ("gpu", "max_waves"), what
    unit = "mfma" if gpu.isa == "gfx9" else "wmma"
    if gpu.matrix_unit != unit:
        yield (
            ("gpu", "matrix_unit"),
            f"matrix_unit is {gpu.matrix_unit!r}, expected {unit!r} for isa {gpu.isa!r}",
        )
    wave = 64 if gpu.matrix_unit == "mfma" else 32
    if gpu.wave_size != wave:
        yield (
            ("gpu", "wave_size"),
            f"wave_size = {gpu.wave_size}, expected {wave} with matrix_unit {gpu.matrix_unit!r}",
        )


def _memory(gpu: Gpu) -> Iterator[Fault]:
    if gpu.smem_capacity > gpu.lds_bytes:
        yield (
            ("lds", "smem_capacity"),
            f"smem_capacity = {gpu.smem_capacity} is more than bytes = {gpu.lds_bytes}",
        )
    if gpu.lds_banks & (gpu.lds_banks - 1):
        yield ("lds", "banks"), f"banks = {gpu.lds_banks} is not a power of two"
    if gpu.vgprs_per_simd is not None and gpu.vgprs_per_simd < gpu.vgprs_per_wave:
        yield (
            ("vgprs", "per_simd"),
            f"per_simd = {gpu.vgprs_per_simd} is less than per_wave = {gpu.vgprs_per_wave}",
        )
    if not gpu.global_load_bytes:
        yield ("load", "global_bytes"), "global_bytes is empty, expected some width"


def _features(gpu: Gpu) -> Iterator[Fault]:
    facts = {
        "direct_to_lds": (bool(gpu.direct_to_lds_bytes), "[load] direct_to_lds_bytes is not empty"),
        "direct_to_lds_wide": (16 in gpu.direct_to_lds_bytes, "direct_to_lds_bytes has 16"),
        "lds_transpose_load": (gpu.transpose_load is not None, "there is a [transpose_load]"),
    }
    for feature, (fact, words) in facts.items():
        if fact != (feature in gpu.features):
            state = "listed" if feature in gpu.features else "missing"
            yield (
                ("gpu", "features"),
                f"feature {feature!r} is {state}, expected it just when {words}",
            )


def _dtypes(gpu: Gpu) -> Iterator[Fault]:
    used = {dtype for tile in gpu.tiles for dtype in (tile.a, tile.b)}
    for i, dtype in enumerate(gpu.dtypes):
        if dtype not in used:
            yield ("gpu", "dtypes", i), f"dtype {dtype!r} is in no warp tile's types"
    for dtype in sorted(used.difference(gpu.dtypes)):
        yield ("gpu", "dtypes"), f"dtype {dtype!r} has warp tiles, expected it in dtypes"
    if gpu.transpose_load:
        for dtype in sorted(gpu.transpose_load.dtypes.difference(gpu.dtypes)):
            yield ("transpose_load", "dtypes"), f"dtype {dtype!r} is not in [gpu] dtypes"


def _tiles(
    gpu: Gpu, instructions: tuple[tuple[Types, Shape], ...], top: Section
) -> Iterator[Fault]:
    place = _Places(top)
    steps: dict[Types, set[Shape]] = {}
    for types, shape in instructions:
        steps.setdefault(types, set()).add(shape)
    for tile in gpu.tiles:
        if tile.kind == "native":
            steps.setdefault(tile.types, set()).add(tile.shape)
    seen: dict[tuple[Types, Shape], WarpTile] = {}
    for tile in gpu.tiles:
        name = f"{_show(tile.shape)} of {', '.join(tile.types)}"
        if earlier := seen.get((tile.types, tile.shape)):
            yield place.of(tile), f"tile {name} is listed twice: {earlier.kind} and {tile.kind}"
        seen[tile.types, tile.shape] = tile
        if CK_VERSIONS.index(tile.since) < CK_VERSIONS.index(gpu.since):
            yield (
                place.of(tile, "since"),
                f"since {tile.since!r} is before the GPU's own {gpu.since!r}",
            )
        if tile.m * tile.n % gpu.wave_size:
            what = f"m * n = {tile.m * tile.n} does not spread over {gpu.wave_size} lanes"
            yield place.of(tile), f"tile {name}: {what}"
        known = steps.get(tile.types, set())
        if tile.kind == "iterated" and not any(_repeats(gpu, tile.shape, s) for s in known):
            there = ", ".join(map(_show, sorted(known))) or "none"
            what = f"expected a native tile or an instruction that it repeats, there are {there}"
            yield place.of(tile), f"tile {name} is iterated, {what}"


def _repeats(gpu: Gpu, shape: Shape, step: Shape) -> bool:
    """Whether ``shape`` is two or more ``step``; CK iterates MFMA along K only."""
    if shape == step or any(s % t for s, t in zip(shape, step, strict=True)):
        return False
    return gpu.matrix_unit == "wmma" or shape[:2] == step[:2]


def _performance(gpu: Gpu, speeds: Performance) -> Iterator[Fault]:
    if not speeds.products:
        yield ("performance", "product"), "no product: speeds are those of a product"
    for i, product in enumerate(speeds.products):
        if product.name not in gpu.products:
            known = ", ".join(gpu.products) or "none"
            what = f"[[performance.product]] {product.name!r} is not among the products of [gpu]"
            yield ("performance", "product", i, "name"), f"{what}: {known}"
    if speeds.waves_per_simd * speeds.simds < gpu.max_waves:
        what = f"a workgroup of {gpu.max_waves} waves has no place on {speeds.simds} SIMDs"
        yield ("performance", "waves_per_simd"), what


def _dispatcher(gpu: Gpu, dispatcher: DispatcherTable) -> Iterator[Fault]:
    for i, (m, n, k) in enumerate(dispatcher.wave_maps):
        if m * n * k > gpu.max_waves:
            what = f"has {m * n * k} waves, more than max_waves = {gpu.max_waves}"
            yield ("dispatcher", "wave_maps", i), f"wave map {_show((m, n, k))} {what}"
    for pipeline, limit in dispatcher.lds_limits:
        if limit > gpu.lds_bytes:
            yield (
                ("dispatcher", "lds_limits", pipeline),
                f"{pipeline} = {limit} is more than [lds] bytes = {gpu.lds_bytes}",
            )


def _show(shape: Shape) -> str:
    return "x".join(map(str, shape))


class _Places:
    """Finds the row and the array element that a tile of a file came from."""

    def __init__(self, top: Section) -> None:
        self._rows = [row for row in top.rows("warp_tile") if isinstance(row, dict)]

    def of(self, tile: WarpTile, key: str | None = None) -> TomlPath:
        """The path of ``key`` in the tile's row, or of the tile's shape."""
        found: TomlPath = ("warp_tile",)
        for i, row in enumerate(self._rows):
            shapes = row.get(tile.kind, [])
            if list(tile.types) in row["types"] and list(tile.shape) in shapes:
                at = shapes.index(list(tile.shape))
                found = ("warp_tile", i, key) if key else ("warp_tile", i, tile.kind, at)
                if row["since"] == tile.since and row["source"] == tile.source:
                    return found
        return found
