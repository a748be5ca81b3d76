"""Files that cover a folder of kernels: includes, registration, and three build systems."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from ckrules.arch import Gpu
from ckrules.codegen.ck_options import AMD_CLANG, ASKED, FIXED_IN, CkOption, options
from ckrules.codegen.model import KernelModel, generation_of
from ckrules.codegen.render import render
from ckrules.codegen.stamp import Stamp, current
from ckrules.kernels.parts import Generation
from ckrules.support.errors import UsageError

_DEVICE = ("ckrules_device.h",)
RUNTIME = {
    "device": _DEVICE,
    "host": (
        *("ckrules_kernel.h", "ckrules_host.hpp", "ckrules_reason.hpp", "ckrules_no_gpu.hpp"),
        "ckrules_exports.map",
    ),
    "object": _DEVICE,
}
"""What the artifacts of every kernel take from the folder ``runtime``."""

_ASKS = "ckrules_options.sh"
"""What `make` and `ninja` take from there: it asks the compiler for CK's options."""

_ANSWERS = "ckrules-options.txt"
"""Where they keep its answer; that for kernels with options of their own has a number."""


def runtime(artifact: str, generation: Generation) -> tuple[str, ...]:
    """What an artifact of a family's kernels takes from the folder ``runtime``."""
    return RUNTIME[artifact] + (generation.runtime if artifact == "host" else ())


def runtime_text(name: str, ck: str) -> str:
    """A file of the folder ``runtime`` that every kernel takes."""
    return render(f"runtime/{name}.j2", {"stamp": current(ck)})


_UPSTREAM_FLAGS = ("-O3", "-Wno-undefined-func-template", "-Wno-float-equal")


def standard(ck: str) -> int:
    """The C++ standard of a release: 2025.11 uses lambdas with explicit template parameters."""
    return 20 if ck == "2025.11" else 17


def defines(gpu: Gpu) -> list[str]:
    """The macros that a GPU's file asks for, as the compiler takes them.

    >>> from ckrules.arch import load
    >>> defines(load("gfx1201"))[-1], defines(load("gfx942"))
    ('-DCK_TILE_USE_WMMA=1', [])
    """
    return [f"-D{macro}" for macro in gpu.defines]


def flags(ck: str, gpu: Gpu) -> list[str]:
    """Upstream's compiler flags for a kernel's unit, without language, GPU and folders.

    Those that not every compiler takes are `ckrules.codegen.ck_options.options`.
    """
    compress = [] if ck == "2025.11" else ["--offload-compress"]
    return [*_UPSTREAM_FLAGS, *compress, *defines(gpu), "-D__HIP_PLATFORM_AMD__"]


def files(kernels: Sequence[KernelModel], stamp: Stamp, gpu: Gpu) -> Iterator[tuple[str, str]]:
    """Path and text of every file that covers these kernels, which share CK release and GPU."""
    ck, arch = kernels[0].ck, gpu.name
    summary = json.dumps({"ck": ck, "arch": arch, "kernels": len(kernels)})
    answers = _answers(kernels)
    values: dict[str, Any] = {
        "summary": summary,
        "stamp": stamp,
        "kernels": kernels,
        "arch": arch,
        "standard": standard(ck),
        "flags": flags(ck, gpu),
        "options": options(ck),
        "asked": ASKED,
        "amd_clang": AMD_CLANG,
        "fixed_in": FIXED_IN,
        "own_options": [own for own in answers if own],
        "answers": answers,
    }
    yield from covering(kernels, values)
    yield "CMakeLists.txt", render("project/CMakeLists.txt.j2", values)
    yield "Makefile", render("project/Makefile.j2", values)
    for name in sorted({_ASKS}.union(*RUNTIME.values())):
        yield f"runtime/{name}", render(f"runtime/{name}.j2", values)


def covering(
    kernels: Sequence[KernelModel], values: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Path and text of the files with which the kernels' own families cover them."""
    for generation, members in _libraries(kernels):
        for path, template, own in generation.covers(members):
            shared = {**values, "kernels": members}
            yield path, render(template, {**shared, **own}, generation.templates)
        for name in generation.runtime:
            yield f"runtime/{name}", render(f"runtime/{name}.j2", values, generation.templates)


def _answers(kernels: Sequence[KernelModel]) -> dict[tuple[CkOption, ...], str]:
    """The file for the compiler's answer to each set of options that kernels need beside CK's."""
    sets = dict.fromkeys(k.own_options for k in kernels)
    own = [s for s in sets if s]
    found = {s: _ANSWERS.replace(".", f"-{i}.") for i, s in enumerate(own, 1)}
    return {(): _ANSWERS, **found} if () in sets else found


def _libraries(kernels: Sequence[KernelModel]) -> list[tuple[Generation, list[KernelModel]]]:
    """The kernels that are covered together, with what knows how."""
    found: dict[str, tuple[Generation, list[KernelModel]]] = {}
    for kernel in kernels:
        generation = generation_of(kernel.family)
        found.setdefault(generation.library, (generation, []))[1].append(kernel)
    return list(found.values())


def ninja_file(kernels: Sequence[KernelModel], stamp: Stamp, gpu: Gpu) -> str:
    """``build.ninja`` for upstream's library, written with ninja's own writer.

    Raises:
        UsageError: If the package ``ninja`` is not installed.
    """
    try:
        writer: Any = import_module("ninja.ninja_syntax").Writer
    except ImportError:
        raise UsageError(
            "build.ninja needs the package ninja: pip install 'ckrules[build]'"
        ) from None
    ck, arch = kernels[0].ck, gpu.name
    out = io.StringIO()
    ninja = writer(out, width=100)
    summary = {"ck": ck, "arch": arch, "kernels": len(kernels)}
    ninja.comment(json.dumps(summary))
    ninja.comment(f"ckrules {stamp.version}, rule book {stamp.rules}")
    ninja.comment("HIPCC, CK_INCLUDE and DISPATCHER_INCLUDE are read from the environment.")
    ninja.newline()
    ninja.variable("arch", arch)
    ninja.variable("flags", [f"-fPIC -std=c++{standard(ck)}", *flags(ck, gpu)])
    ninja.newline()
    folders = "-I. -I$${CK_INCLUDE:?} $${DISPATCHER_INCLUDE:+-I$$DISPATCHER_INCLUDE}"
    hipcc = "$${HIPCC:-hipcc}"
    ninja.rule(
        "kernel",
        f"{hipcc} $flags $$(cat $options) --offload-arch=$arch {folders}"
        " -MMD -MF $out.d -c ./$in -o $out",
        description="[$number/$count] Building kernel: $kernel",
        depfile="$out.d",
        deps="gcc",
    )
    ninja.rule(
        "options",
        "sh $in $number > $out.tmp && mv $out.tmp $out",
        description="Asking the compiler for CK's options",
    )
    ninja.rule(
        "library",
        f"{hipcc} -shared -fPIC --offload-arch=$arch --hip-link $in -o $out",
        description="Linking $out",
    )
    ninja.newline()
    answers = _answers(kernels)
    for which, (own, file) in enumerate(answers.items(), start=0 if () in answers else 1):
        variables = {"number": str(which)} if own else None
        ninja.build(file, "options", f"runtime/{_ASKS}", variables=variables)
    ninja.variable("count", str(len(kernels)))
    for number, k in enumerate(kernels, 1):
        ninja.build(
            f"{k.name}.o",
            "kernel",
            f"{k.name}.cpp",
            implicit=answers[k.own_options],
            variables={"number": str(number), "kernel": k.name, "options": answers[k.own_options]},
        )
    ninja.newline()
    ninja.build("libdispatcher_kernels.so", "library", [f"{k.name}.o" for k in kernels])
    ninja.default("libdispatcher_kernels.so")
    return out.getvalue()
