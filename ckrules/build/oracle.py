"""The compile oracle: what clang itself says about one grouped-convolution configuration.

A point is rendered into one explicit instantiation of its kernel (device pass, hot loop and full
tail, memory operation ``set``, no D tensors) against the CK tree of ``--ck 2025.11``. ``check``
runs the front end only, which fires every static_assert; ``compile_device`` also runs the back end
and reads the LDS, register and scratch figures off the assembly.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from ckrules.build.commands import DEEP
from ckrules.build.toolchain import Toolchain
from ckrules.codegen import words
from ckrules.engine.errors import CkrulesError, UsageError, unknown

V = TypeVar("V")

Point = Mapping[str, object]
"""A configuration in the project's point schema: the keys of a truth file's ``config``."""

TEMPLATE = "probe/conv_2025_11.cpp.j2"
"""The probe's template, relative to ``codegen/templates``."""

#: The namespace of the probe's own names.
_NAMESPACE = "ckrules_probe"

_TEMPLATES = Path(__file__).resolve().parents[1] / "codegen" / "templates"

_DIRECTIONS = {v: words.DIRECTIONS[v] for v in ("forward", "bwd_data", "bwd_weight")}

_ELEMENTS = {"fp16": "ct::half_t", "bf16": "ct::bf16_t", "fp32": "float"}

#: The last two came after 2025.11; naming them anyway lets the compiler say so.
_PIPELINES = {
    "basic_v1": "GemmPipelineAGmemBGmemCRegV1",
    "compv1": "GemmPipelineAGmemBGmemCRegV1",
    "basic_v2": "GemmPipelineAGmemBGmemCRegV2",
    "compv2": "GemmPipelineAGmemBGmemCRegV2",
    "mem": "GemmPipelineAgBgCrMem",
    "compv3": "GemmPipelineAgBgCrCompV3",
    "compv4": "GemmPipelineAgBgCrCompV4",
    "compv5": "GemmPipelineAgBgCrCompV5",
    "compv6": "GemmPipelineAgBgCrCompV6",
    "comp_async": "GemmPipelineAgBgCrCompAsync",
    "basic_async_v1": "GemmPipelineAGmemBGmemCRegAsyncV1",
    "wavelet": "GemmPipelineAgBgCrWavelet",
}

_SCHEDULERS = {**words.SCHEDULERS, "default": "Default"}

_EPILOGUES = ("cshuffle", "default")

_STREAMK = {"off": "", **words.REDUCTIONS}

#: The GPUs that clang 19 has a back end for and whose kernels were checked with it.
ARCHES = ("gfx908", "gfx90a", "gfx942", "gfx1100", "gfx1101", "gfx1200", "gfx1201")

#: Longest diagnostic that is kept; template arguments make them run to thousands of characters.
_LONGEST = 400

_DIAGNOSTIC = re.compile(
    r"^(?:(?P<file>[^:\n]+):(?P<line>\d+):(?P<col>\d+): )?(?:fatal )?error: (?P<text>.*)$",
    re.MULTILINE,
)
#: The kernel descriptor of the entry function; the headers put kernels of their own beside it.
_DESCRIPTOR = re.compile(
    r"^\s*\.amdhsa_kernel \S*6kentry\S*$(.*?)^\s*\.end_amdhsa_kernel", re.MULTILINE | re.DOTALL
)
_FIGURES = {
    "lds_bytes": re.compile(r"^\s*\.amdhsa_group_segment_fixed_size (\d+)", re.MULTILINE),
    "scratch": re.compile(r"^\s*\.amdhsa_private_segment_fixed_size (\d+)", re.MULTILINE),
    "vgprs": re.compile(r"^\s*\.amdhsa_next_free_vgpr (\d+)", re.MULTILINE),
    "sgprs": re.compile(r"^\s*\.amdhsa_next_free_sgpr (\d+)", re.MULTILINE),
}


class CompilerError(CkrulesError, RuntimeError):
    """The compiler failed in a way that says nothing about the configuration."""


@dataclass(frozen=True)
class Verdict:
    """What the front end says about a configuration."""

    ok: bool
    error: str | None
    """The first diagnostic as ``file.hpp:LINE:COL: error: message``; None when ok."""
    seconds: float


@dataclass(frozen=True)
class Figures:
    """What the back end made of a configuration: resources of the whole kernel, or its error."""

    ok: bool
    error: str | None
    """The first diagnostic, of the front end or the back end; None when ok."""
    lds_bytes: int | None
    """The group segment's size."""
    vgprs: int | None
    """Vector registers a lane needs (on gfx90a and gfx942 the accumulation registers too)."""
    sgprs: int | None
    """Scalar registers a wave needs."""
    scratch: int | None
    """Bytes of private memory a lane spills to or indexes."""
    seconds: float


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )


@cache
def _template() -> Template:
    return _environment().get_template(TEMPLATE)


def _text(point: Point, key: str) -> str:
    value = point.get(key)
    if not isinstance(value, str):
        raise UsageError(f"{key} is {value!r} where a probe needs a word")
    return value


def _int(point: Point, key: str) -> int:
    value = point.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{key} is {value!r} where a probe needs an integer")
    return value


def _bool(point: Point, key: str) -> bool:
    value = point.get(key)
    if not isinstance(value, bool):
        raise UsageError(f"{key} is {value!r} where a probe needs true or false")
    return value


def _cpp_bool(point: Point, key: str) -> str:
    return "true" if _bool(point, key) else "false"


def _pick(what: str, table: Mapping[str, V], word: str) -> V:
    if word not in table:
        raise unknown(what, word, table)
    return table[word]


def render(point: Point, *, min_blocks: int = 1) -> str:
    """The probe's C++ source: one explicit instantiation of the point's kernel.

    ``min_blocks`` is the second launch bound (blocks a CU shall hold at least), which limits the
    back end's registers.
    """
    direction = _pick("variant", _DIRECTIONS, _text(point, "variant"))
    elem = _pick("dtype", _ELEMENTS, _text(point, "dtype"))
    epilogue = _text(point, "epilogue")
    if epilogue not in _EPILOGUES:
        raise unknown("epilogue", epilogue, _EPILOGUES)
    ndim = _int(point, "ndim")
    if ndim not in words.LAYOUTS:
        raise UsageError(f"ndim is {ndim} where a convolution has 1, 2 or 3 spatial dimensions")
    return _template().render(
        elem=elem,
        stored="float" if _bool(point, "two_stage") else elem,
        tile=[_int(point, f"tile_{d}") for d in "mnk"],
        waves=[_int(point, f"wave_{d}") for d in "mnk"],
        warp_tile=[_int(point, f"warp_tile_{d}") for d in "mnk"],
        vectors=[_int(point, f"vector_{d}") for d in "abc"],
        pads=[_cpp_bool(point, f"pad_{d}") for d in "mnk"],
        ndim=ndim,
        layouts=words.LAYOUTS[ndim],
        specialization=_pick(
            "specialization", words.SPECIALIZATIONS, _text(point, "specialization")
        ),
        groups=_int(point, "num_groups_to_merge"),
        wave_groups=_int(point, "num_wave_groups"),
        split_image=_cpp_bool(point, "split_image"),
        explicit_gemm=_bool(point, "explicit_gemm"),
        double_smem_buffer=_cpp_bool(point, "double_smem_buffer"),
        streamk=_pick("stream-K strategy", _STREAMK, _text(point, "streamk")),
        persistent=_cpp_bool(point, "streamk_persistent"),
        scheduler=_pick("scheduler", _SCHEDULERS, _text(point, "scheduler")),
        pipeline=_pick("pipeline", _PIPELINES, _text(point, "pipeline")),
        epilogue=epilogue,
        kernel=direction.kernel,
        direction=direction.short,
        min_blocks=min_blocks,
    )


def render_batch(points: Sequence[Point]) -> str:
    """The C++ source of several probes in one translation unit, each in a namespace of its own.

    The headers are read once for all of them, which is what most of a probe's time goes into.
    """
    if not points:
        raise UsageError("a batch needs at least one point")
    parts: list[str] = []
    for number, point in enumerate(points):
        source = render(point)
        if number:
            source = source[source.index(f"namespace {_NAMESPACE}") :]
        parts.append(re.sub(rf"\b{_NAMESPACE}\b", f"{_NAMESPACE}_{number}", source))
    return "\n".join(parts)


def flags(tools: Toolchain, arch: str) -> list[str]:
    """The compiler's flags for a device-only pass over a probe."""
    if arch not in ARCHES:
        raise unknown("arch that the compile oracle can do", arch, ARCHES)
    return [
        "-x",
        "hip",
        "--cuda-device-only",
        f"--offload-arch={arch}",
        "-nogpulib",
        "-std=c++20",
        f"-I{tools.include}",
        f"--rocm-path={tools.rocm}",
        "-D__HIP_PLATFORM_AMD__",
        *DEEP,
        "-ferror-limit=1",
        "-ftemplate-backtrace-limit=1",
        "-fno-caret-diagnostics",
        "-fno-color-diagnostics",
        "-w",
    ]


def _first_error(output: str) -> str | None:
    hit = _DIAGNOSTIC.search(output)
    if hit is None:
        return None
    where = f"{Path(hit['file']).name}:{hit['line']}:{hit['col']}: " if hit["file"] else ""
    line = f"{where}error: {hit['text']}"
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _run(
    tools: Toolchain, point: Point, source: str, extra: list[str], timeout: float | None
) -> tuple[str | None, str, float]:
    """The first error, the produced assembly (or nothing) and the seconds of one compilation."""
    arch = _text(point, "arch")
    with tempfile.TemporaryDirectory(prefix="ckrules-oracle-") as folder:
        # A fixed name, so that diagnostics of the probe's own lines read the same every time.
        unit = Path(folder) / "probe.cpp"
        out = Path(folder) / "probe.s"
        unit.write_text(source, encoding="utf-8")
        command = [str(tools.compiler), *flags(tools, arch), *extra]
        if "-S" in extra:
            command += ["-o", str(out)]
        start = time.perf_counter()
        try:
            done = subprocess.run(
                [*command, str(unit)],
                cwd=folder,
                env={**os.environ, "LC_ALL": "C"},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise CompilerError(f"{tools.kind} took longer than {late.timeout:g} s") from late
        seconds = time.perf_counter() - start
        text = out.read_text(encoding="utf-8") if out.is_file() else ""
    if done.returncode == 0:
        return None, text, seconds
    error = _first_error(done.stderr)
    if done.returncode < 0 or error is None:
        tail = done.stderr.strip().splitlines()[-1:] or ["no output"]
        raise CompilerError(f"{tools.kind} ended with status {done.returncode}: {tail[0]}")
    return error, "", seconds


def check(point: Point, tools: Toolchain, *, timeout: float | None = 600.0) -> Verdict:
    """Whether the point's kernel passes the compiler's front end for the device.

    LDS bytes, threads and silently wrong results are not judged; ``compile_device`` judges the
    first.
    """
    error, _, seconds = _run(tools, point, render(point), ["-fsyntax-only"], timeout)
    return Verdict(ok=error is None, error=error, seconds=seconds)


def check_batch(
    points: Sequence[Point], tools: Toolchain, *, timeout: float | None = 600.0
) -> list[Verdict] | None:
    """The verdicts on points of one GPU from a single run, if it accepts them all.

    A run without an error proves every kernel of it. With an error it is None: which kernels are
    at fault, and what the compiler says of each alone, is for smaller runs to find out, since
    kernels share instantiations and an error in a shared one is reported once.
    """
    if len({_text(p, "arch") for p in points}) > 1:
        raise UsageError("a batch is for one GPU")
    late = None if timeout is None else timeout * len(points)
    error, _, seconds = _run(tools, points[0], render_batch(points), ["-fsyntax-only"], late)
    if error is not None:
        return None
    return [Verdict(ok=True, error=None, seconds=seconds / len(points)) for _ in points]


def compile_device(
    point: Point,
    tools: Toolchain,
    *,
    min_blocks: int = 1,
    optimize: str = "-O3",
    timeout: float | None = 1800.0,
) -> Figures:
    """The point's kernel compiled to assembly: LDS, registers and scratch, or why not.

    The figures are those of a build from ``-O2`` on. With ``-O1`` loops over registers are not
    unrolled: their arrays lie in scratch, and LLVM moves small ones into LDS that is left over
    (AMDGPUPromoteAlloca), beside what the kernel declares.
    """
    source = render(point, min_blocks=min_blocks)
    extra = [optimize, "-S"]
    error, text, seconds = _run(tools, point, source, extra, timeout)
    descriptor = _DESCRIPTOR.search(text)
    block = descriptor[1] if descriptor else ""
    found = {name: pattern.search(block) for name, pattern in _FIGURES.items()}
    if error is None and not all(found.values()):
        raise CompilerError(f"{tools.kind} wrote no kernel descriptor")
    value = {name: int(hit[1]) if hit else None for name, hit in found.items()}
    return Figures(
        ok=error is None,
        error=error,
        lds_bytes=value["lds_bytes"],
        vgprs=value["vgprs"],
        sgprs=value["sgprs"],
        scratch=value["scratch"],
        seconds=seconds,
    )
