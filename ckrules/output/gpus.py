"""GPUs as tables, pages and JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ckrules.arch import Gpu, WarpTile
from ckrules.support.tables import aligned

_KINDS = ("native", "iterated", "emulated")


def gpu_table(gpus: Sequence[Gpu]) -> str:
    """One line a GPU."""
    head = ("name", "family", "isa", "matrix", "wave", "LDS", "threads", "VGPRs", "products")
    return aligned([head, *(_row(g) for g in gpus)])


def _row(gpu: Gpu) -> tuple[str, ...]:
    numbers = (gpu.wave_size, gpu.lds_bytes, gpu.max_threads, gpu.vgprs_per_wave)
    words = (gpu.name, gpu.family, gpu.isa, gpu.matrix_unit)
    return (*words, *map(str, numbers), ", ".join(gpu.products))


def gpu_page(gpu: Gpu) -> str:
    """Everything that is known of one GPU, as Markdown."""
    facts = {
        "products": ", ".join(gpu.products),
        "ISA": gpu.isa,
        "in CK since": gpu.since,
        "wave size": gpu.wave_size,
        "threads of a workgroup": f"{gpu.max_threads} ({gpu.max_waves} waves)",
        "matrix unit": gpu.matrix_unit,
        "dtypes": ", ".join(gpu.dtypes),
        "LDS": f"{gpu.lds_bytes} bytes in {gpu.lds_banks} banks",
        "VGPRs of a wave": gpu.vgprs_per_wave,
        "global loads": f"{', '.join(map(str, gpu.global_load_bytes))} bytes a lane",
        "loads to LDS": f"{', '.join(map(str, gpu.direct_to_lds_bytes)) or 'no'} bytes a lane",
        "features": ", ".join(sorted(gpu.features)) or "none",
        "compiler defines": ", ".join(gpu.defines) or "none",
    }
    parts = [
        f"# {gpu.name}: {gpu.family}",
        "\n".join(f"- {key}: {value}" for key, value in facts.items()),
        "## Warp tiles (m x n x k)",
        _tiles(gpu.tiles),
        "## Sources",
        "\n".join(f"- {section}: {source}" for section, source in gpu.sources),
    ]
    return "\n\n".join(parts) + "\n"


def _tiles(tiles: Sequence[WarpTile]) -> str:
    lines = []
    for types in dict.fromkeys(t.types for t in tiles):
        lines.append(f"- {types[0]} x {types[1]} to {types[2]}")
        for kind in _KINDS:
            mine = sorted((t.shape, t.since) for t in tiles if t.types == types and t.kind == kind)
            if mine:
                shown = (f"{m}x{n}x{k}" + f" ({since})" * (since != "2025.11")
                         for (m, n, k), since in mine)  # fmt: skip
                lines.append(f"  - {kind}: {', '.join(shown)}")
    return "\n".join(lines)


def gpu_dict(gpu: Gpu) -> dict[str, Any]:
    """One GPU as JSON outputs have it."""
    out = dataclasses.asdict(gpu)
    for key, value in out.items():
        if isinstance(value, frozenset):
            out[key] = sorted(value)
    if gpu.transpose_load is not None:
        out["transpose_load"]["dtypes"] = sorted(gpu.transpose_load.dtypes)
    out["sources"] = dict(gpu.sources)
    return out
