"""Holds the facts of each GPU against LLVM's assembler and back end, instruction by instruction.

    python scripts/hardware_facts.py              every GPU of arch/data
    python scripts/hardware_facts.py gfx942 -v    each fact that was asked about

A warp tile is native exactly if the assembler has a matrix instruction of its shape and types;
loads to LDS, transposing reads, the size of LDS and the registers of a lane are asked for likewise.
What the header of CK makes of a tile that is not native is counted by
tests/arch/test_instructions.py. It ends with 1 where a file and LLVM differ.
"""

from __future__ import annotations

import argparse
import itertools
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ckrules.arch import DTYPES, Gpu, WarpTile, known, load

VERSION = "22"
"""Of LLVM: the first of Debian's that knows every GPU here."""
TRIPLE = "-triple=amdgcn-amd-amdhsa"
_ERROR = re.compile(r"^<stdin>:(\d+):\d+: error:", re.MULTILINE)

_KERNEL = """
@lds = internal addrspace(3) global [{size} x i8] poison, align 16
define amdgpu_kernel void @k(i32 %i) {{
  %p = getelementptr [{size} x i8], ptr addrspace(3) @lds, i32 0, i32 %i
  store volatile i8 1, ptr addrspace(3) %p
  ret void
}}
"""

#: What an instruction's name says of the types of A and B, by ISA; any may exist.
_MFMA = {
    "fp16": ("_f16", "f16"), "bf16": ("_bf16", "bf16_1k", "bf16"), "fp32": ("_f32", "f32"),
    "fp64": ("_f64", "f64"), "int8": ("_i8", "i8"),
}  # fmt: skip
_WMMA = {
    "fp16": ("_f16",), "bf16": ("_bf16",), "fp32": ("_f32",), "int8": ("_iu8",),
    "uint8": ("_iu8",), "pk_fp4": ("_f4",),
}  # fmt: skip
_SHORT = {"fp8": "fp8", "bf8": "bf8"}
#: How the instructions for formats of 8 bits and less say which.
_FORMATS = {"fp8": (0, "FP8"), "bf8": (1, "BF8"), "pk_fp4": (4, "FP4")}
_ACC = {"fp32": "f32", "fp64": "f64", "int32": "i32"}


class LlvmError(RuntimeError):
    """A program of LLVM that is not on this machine."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One fact: what the file says and what LLVM says."""

    gpu: str
    fact: str
    said: object
    found: object

    @property
    def agrees(self) -> bool:
        """Whether they are the same."""
        return self.said == self.found

    def __str__(self) -> str:
        verdict = "" if self.agrees else f", but LLVM says {self.found}"
        return f"{self.gpu}: {self.fact}: {self.said}{verdict}"


def program(name: str) -> str:
    """The path of a program of LLVM.

    Raises:
        LlvmError: If it is not there.
    """
    path = shutil.which(f"{name}-{VERSION}")
    if path is None:
        raise LlvmError(f"{name}-{VERSION} is not on PATH: make toolchain")
    return path


def accepted(gpu: str, lines: Sequence[str]) -> list[bool]:
    """Which of some instructions the assembler takes for a GPU."""
    command = [program("llvm-mc"), TRIPLE, f"-mcpu={gpu}", "-filetype=null"]
    done = subprocess.run(
        command, input="\n".join([*lines, ""]), capture_output=True, text=True, check=False
    )
    refused = {int(number) for number in _ERROR.findall(done.stderr)}
    if done.returncode and not refused:
        raise LlvmError(f"{command[0]}: {done.stderr.strip()[:200]}")
    return [number not in refused for number in range(1, len(lines) + 1)]


def some(gpu: str, groups: Sequence[Sequence[str]]) -> list[bool]:
    """For each group of instructions whether the assembler takes any of it."""
    flat = accepted(gpu, [line for group in groups for line in group])
    ends = list(itertools.accumulate(map(len, groups)))
    return [any(flat[end - len(g) : end]) for g, end in zip(groups, ends, strict=True)]


def _registers(kind: str, first: int, count: int) -> str:
    return f"{kind}{first}" if count == 1 else f"{kind}[{first}:{first + count - 1}]"


def forms(gpu: Gpu, tile: WarpTile) -> list[str]:
    """Every way to write the matrix instruction of a warp tile, of which some may exist."""
    lanes = gpu.wave_size
    sums = max(1, tile.m * tile.n * DTYPES[tile.acc] // (32 * lanes))
    a = max(1, tile.m * tile.k * DTYPES[tile.a] // (32 * lanes))
    b = max(1, tile.k * tile.n * DTYPES[tile.b] // (32 * lanes))
    # 4x64 and 64x4 are sixteen blocks of 4x4 at once; RDNA 3 holds each operand twice
    sizes = [(a, b), (2 * a, 2 * b)] if tile.m == tile.n else [(a, b), (2, 2), (1, 1)]
    stem = "v_mfma" if gpu.matrix_unit == "mfma" else "v_wmma"
    out = []
    for x, y in sizes:
        for name, tail in _names(gpu, tile):
            for kind in ("v", "a") if gpu.matrix_unit == "mfma" else ("v",):
                c = _registers(kind, 0, sums)
                operands = f"{_registers('v', 64, x)}, {_registers('v', 128, y)}"
                out.append(f"{stem}_{_ACC[tile.acc]}_{name} {c}, {operands}, {c}{tail}")
    return out


def _names(gpu: Gpu, tile: WarpTile) -> Iterator[tuple[str, str]]:
    """The names without stem and type of the sums, and what follows the operands."""
    mfma = gpu.matrix_unit == "mfma"
    shape = f"{tile.m}x{tile.n}x{tile.k}"
    shapes = [shape] if tile.m == tile.n else [shape, f"4x4x{tile.k}_16b", f"4x4x{tile.k}"]
    if tile.a == tile.b:
        yield from ((s + w, "") for s in shapes for w in (_MFMA if mfma else _WMMA).get(tile.a, ()))
    if {tile.a, tile.b} <= _SHORT.keys():
        yield f"{shape}_{_SHORT[tile.a]}_{_SHORT[tile.b]}", ""
    if {tile.a, tile.b} <= _FORMATS.keys():
        (code_a, word_a), (code_b, word_b) = _FORMATS[tile.a], _FORMATS[tile.b]
        words = f" matrix_a_fmt:MATRIX_FMT_{word_a} matrix_b_fmt:MATRIX_FMT_{word_b}"
        yield f"{shape}_f8f6f4", f" cbsz:{code_a} blgp:{code_b}" if mfma else words


def warp_tiles(gpu: Gpu) -> Iterator[Answer]:
    """A warp tile is native exactly if an instruction has its shape and types."""
    found = some(gpu.name, [forms(gpu, tile) for tile in gpu.tiles])
    for tile, there in zip(gpu.tiles, found, strict=True):
        words = "x".join(map(str, tile.shape))
        fact = f"{tile.a} {tile.b} {words} is one instruction"
        yield Answer(gpu.name, fact, tile.kind == "native", there)


_LOADS = {
    1: "buffer_load_ubyte v0, off, s[8:11], s3", 2: "buffer_load_ushort v0, off, s[8:11], s3",
    4: "buffer_load_dword v0, off, s[8:11], s3", 8: "buffer_load_dwordx2 v[0:1], off, s[8:11], s3",
    12: "buffer_load_dwordx3 v[0:2], off, s[8:11], s3",
    16: "buffer_load_dwordx4 v[0:3], off, s[8:11], s3",
}  # fmt: skip
_NEW_NAMES = {"ubyte": "u8", "ushort": "u16", "dwordx2": "b64", "dwordx3": "b96",
              "dwordx4": "b128", "dword": "b32"}  # fmt: skip
_ASYNC = {n // 8: f"global_load_async_to_lds_b{n} v0, v[2:3], off" for n in (8, 32, 64, 128)}
_TURNED = ("ds_read_b64_tr_b16 v[0:1], v2", "ds_load_tr16_b128 v[0:3], v2")


def loads(gpu: Gpu) -> Iterator[Answer]:
    """Widths of global loads, of those to LDS beyond what CK takes on gfx9, and other features."""
    groups = [[text, _renamed(text)] for text in _LOADS.values()]
    there = some(gpu.name, groups)
    widths = tuple(w for w, ok in zip(_LOADS, there, strict=True) if ok)
    yield Answer(gpu.name, "bytes of a global load", gpu.global_load_bytes, widths)
    # gfx9 also loads single bytes to LDS, which CK does not use
    asked = {w: [_to_lds(t)] for w, t in _LOADS.items() if w >= 4}
    if gpu.isa == "gfx125":
        asked = {w: [t] for w, t in _ASYNC.items()}
    there = some(gpu.name, list(asked.values()))
    widths = tuple(w for w, ok in zip(asked, there, strict=True) if ok)
    yield Answer(gpu.name, "bytes of a load to LDS", gpu.direct_to_lds_bytes, widths)
    (turned,) = some(gpu.name, [_TURNED])
    yield Answer(gpu.name, "LDS reads that transpose", gpu.has("lds_transpose_load"), turned)
    (moved,) = accepted(gpu.name, ["tensor_load_to_lds s[0:3], s[4:11]"])
    yield Answer(gpu.name, "a tensor data mover", gpu.has("tdm"), moved)


def _to_lds(text: str) -> str:
    name, _, rest = text.partition(" ")
    return f"{name} {rest.partition(', ')[2]} lds"


def _renamed(text: str) -> str:
    """The instruction under its name since RDNA 3."""
    stem, _, rest = text.removeprefix("buffer_load_").partition(" ")
    return f"buffer_load_{_NEW_NAMES[stem]} {rest}"


def registers(gpu: Gpu) -> Iterator[Answer]:
    """Registers of a lane: of both files where there are two, of all banks where there are four."""
    lines = ["v_mov_b32 v255, 0", "v_accvgpr_write_b32 a255, v0", "s_set_vgpr_msb 1"]
    vector, accumulate, banks = accepted(gpu.name, lines)
    found = 256 * (vector + accumulate + 3 * banks)
    yield Answer(gpu.name, "vector registers of a lane", gpu.vgprs_per_wave, found)


def lds(gpu: Gpu) -> Iterator[Answer]:
    """The size of LDS: so much compiles, and no more."""
    fits = [_compiles(gpu.name, size) for size in (gpu.lds_bytes, gpu.lds_bytes + 16)]
    found = gpu.lds_bytes if fits == [True, False] else f"fits, and with 16 more: {fits}"
    yield Answer(gpu.name, "bytes of LDS", gpu.lds_bytes, found)


def _compiles(gpu: str, size: int) -> bool:
    command = [program("llc"), "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-o", "-"]
    text = _KERNEL.format(size=size)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode and "exceeds limit" not in done.stderr:
        raise LlvmError(f"{command[0]}: {done.stderr.strip()[:200]}")
    return done.returncode == 0


def answers(gpu: Gpu) -> list[Answer]:
    """Every fact of a GPU that LLVM can be asked about."""
    return [a for part in (warp_tiles, loads, registers, lds) for a in part(gpu)]


def main(argv: Sequence[str] | None = None) -> int:
    """The command; see the module."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("gpus", nargs="*", metavar="GPU", help="which [all]")
    parser.add_argument("-v", "--verbose", action="store_true", help="facts that agree, too")
    options = parser.parse_args(argv)
    found = [a for name in options.gpus or known() for a in answers(load(name))]
    _print(a for a in found if options.verbose or not a.agrees)
    differ = sum(not a.agrees for a in found)
    print(f"{len(found)} facts, {differ} differ", file=sys.stderr)
    return 1 if differ else 0


def _print(lines: Iterable[Answer]) -> None:
    for line in lines:
        print(line)


if __name__ == "__main__":
    sys.exit(main())
