"""The dispatcher library of a built folder: upstream's C interface over its kernels.

The C++ is ``data/ckrules_dispatcher.cpp``; what is made here is the header that lists the kernels.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckrules.arch import load
from ckrules.codegen.project import runtime_text
from ckrules.codegen.render import render
from ckrules.codegen.stamp import current
from ckrules.compiling.folder import manifests
from ckrules.compiling.toolchain import Missing, MissingToolError, find_compiler
from ckrules.kernels.families import family_of
from ckrules.support import files
from ckrules.support.errors import CkrulesError, UsageError

if TYPE_CHECKING:
    from ckrules.compiling.manifest import ManifestEntry

NAME = "libckrules_dispatcher.so"
"""The library's name in the folder of its kernels."""
_SOURCE = Path(__file__).parent / "data" / "ckrules_dispatcher.cpp"
_CONV = ("forward", "bwd_data", "bwd_weight")
_BYTES = {"fp32": 4, "int32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "bf8": 1, "int8": 1}
_SHAPE = ("tile", "warp_tile", "wave")
_PATIENCE = 300.0


class LibraryError(CkrulesError, RuntimeError):
    """A dispatcher library that the compiler refused."""


def build(folder: Path, compiler: str | None = None) -> tuple[Path, int]:
    """Builds the library of a folder; where it is, and how many kernels it has.

    Raises:
        UsageError: If the folder has no kernels for it, or some that its interface cannot tell
            apart.
        MissingToolError: If there is no compiler.
        LibraryError: If the compiler refuses it.
    """
    kernels = chosen(manifests(folder))
    target = kernels[0].folder / NAME
    found = find_compiler(compiler)
    if isinstance(found, Missing):
        raise MissingToolError(str(found))
    with tempfile.TemporaryDirectory(prefix="ckrules-") as name:
        place = Path(name)
        for file, text in headers(kernels):
            (place / file).write_text(text, encoding="utf-8")
        made = place / NAME
        words = [
            *(str(found[1]), "--driver-mode=g++", "-shared", "-fPIC", "-O2", "-std=c++17"),
            *("-fvisibility=hidden", f"-I{place}", "-x", "c++", str(_SOURCE)),
            *("-o", str(made), "-ldl"),
        ]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=_PATIENCE, check=False
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise LibraryError(f"{NAME}: {error}") from None
        if done.returncode:
            said = next((x for x in done.stderr.splitlines() if "error" in x), done.stderr[-300:])
            raise LibraryError(f"{NAME}: {said.strip()}")
        files.replace(target, made.read_bytes(), mode=0o755)
    return target, len(kernels)


def chosen(listed: Iterable[ManifestEntry]) -> list[ManifestEntry]:
    """The built kernels that the library has.

    Raises:
        UsageError: If there is none, or upstream's calls could mean several.
    """
    found = [k for k in listed if not k.missing and k.legal and _fits(k)]
    if not found:
        raise UsageError("no built kernel of a kind that upstream's dispatchers run")
    for gemm, fields in (
        (True, ("arch", "dtype", "dtype_c", "layout")),
        (False, ("arch", "dtype")),
    ):
        same = {tuple(str(k.config.get(f)) for f in fields) for k in found if _is_gemm(k) == gemm}
        if len(same) > 1:
            what = "; ".join(sorted(" ".join(values) for values in same))
            raise UsageError(
                f"upstream's calls name no {', '.join(fields)}, and there are kernels of {what}: "
                "build the library in a folder for each"
            )
    return found


def _is_gemm(kernel: ManifestEntry) -> bool:
    return family_of(str(kernel.config["variant"])).name == "gemm"


def _fits(kernel: ManifestEntry) -> bool:
    """Whether upstream's calls have all that the kernel needs."""
    config = kernel.config
    if config["variant"] in _CONV:
        return config.get("ndim") in (2, 3) and config.get("streamk", "off") == "off"
    plain = config.get("num_d", 0) == 0 and config.get("dtype") in _BYTES
    return config["variant"] == "standard" and plain


def headers(kernels: Sequence[ManifestEntry]) -> Iterable[tuple[str, str]]:
    """Name and text of what the C++ includes."""
    ck = kernels[0].ck
    yield "ckrules_kernel.h", runtime_text("ckrules_kernel.h", ck)
    for variant, name in (("forward", "ckrules_conv.h"), ("standard", "ckrules_gemm.h")):
        generation = family_of(variant).generation
        assert generation is not None
        text = render(f"runtime/{name}.j2", {"stamp": current(ck)}, generation.templates)
        yield name, text
    rows = "".join(f"    {_row(k)},\n" for k in kernels)
    registry = json.dumps(registry_json([k for k in kernels if _is_gemm(k)]), indent=2)
    text = f"static const ckrules_listed ckrules_listed_kernels[] = {{\n{rows}}};\n"
    text += f"static const char ckrules_registry_json[] = {json.dumps(registry)};\n"
    yield "ckrules_library.h", text


def _row(kernel: ManifestEntry) -> str:
    config = kernel.config
    c = str(config.get("dtype_c", config["dtype"]))
    wide = _BYTES.get(str(config["dtype"]), 0)
    shape = ", ".join(str(int(config.get(f"{s}_{x}", 0))) for s in _SHAPE for x in "mnk")
    gemm = int(_is_gemm(kernel))
    return (
        f'{{"{kernel.name}", "{config["variant"]}", {gemm}, {int(config.get("ndim", 0))}, '
        f"{{{wide}, {wide}, {_BYTES.get(c, 0)}}}, {{{shape}}}}}"
    )


def registry_json(kernels: Sequence[ManifestEntry]) -> dict[str, Any]:
    """The registry in the form of upstream's ``dispatcher_export_registry_json``."""

    def counted(field: str) -> dict[str, int]:
        return dict(Counter(str(k.config[field]) for k in kernels))

    return {
        "metadata": {
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "total_kernels": len(kernels),
            "export_version": "1.0",
            "dispatcher_version": "1.0.0",
        },
        "statistics": {
            "by_datatype": counted("dtype"),
            "by_pipeline": counted("pipeline"),
            "by_scheduler": counted("scheduler"),
        },
        "kernels": [_exported(k) for k in kernels],
    }


def _exported(kernel: ManifestEntry) -> dict[str, Any]:
    config = kernel.config
    shapes = {s: [int(config[f"{s}_{x}"]) for x in "mnk"] for s in _SHAPE}
    sizes = ("x".join(map(str, shapes[s])) for s in ("tile", "wave", "warp_tile"))
    persistent = bool(config.get("persistent"))
    threads = load(kernel.arch).wave_size
    for waves in shapes["wave"]:
        threads *= waves
    return {
        "identifier": f"{'_'.join(sizes)}_{'pers' if persistent else 'nopers'}",
        "name": kernel.name,
        "algorithm": {
            **{
                f"{s}_shape": dict(zip("mnk", shapes[s], strict=True))
                for s in ("tile", "wave", "warp_tile")
            },
            "block_size": threads,
            "persistent": persistent,
            "double_buffer": bool(config.get("double_smem_buffer")),
            "preshuffle": False,
            "transpose_c": bool(config.get("transpose_c")),
        },
    }
