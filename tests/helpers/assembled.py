"""Kernels in assembly, as code objects: assembled and linked by LLVM, run through the executor."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ckrules.device.cpu import CpuPlugin

_KERNEL = """
.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
.text
.globl kernel
.p2align 8
.type kernel,@function
kernel:
{code}
  s_endpgm
.Lend:
.size kernel, .Lend-kernel
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel kernel
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_private_segment_fixed_size {scratch}
  .amdhsa_kernarg_size 16
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_count 2
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_next_free_vgpr {vectors}
  .amdhsa_next_free_sgpr 96
  {more}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: kernel
    .symbol: kernel.kd
    .kernarg_segment_size: 16
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: {scratch}
    .kernarg_segment_align: 8
    .wavefront_size: {lanes}
    .sgpr_count: 96
    .vgpr_count: {vectors}
    .max_flat_workgroup_size: 1024
    .args:
      - {{.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}}
      - {{.size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}}
...
.end_amdgpu_metadata
"""


def assemble(code: str, arch: str, folder: Path, *, lds: int = 0, scratch: int = 0) -> bytes:
    """The code object of a kernel that finds the address of two pointers in s[0:1].

    The block's number is in s2, or in ttmp9 on RDNA4; the thread's in v0. The test is skipped
    without ``llvm-mc`` and ``ld.lld`` of version 19.
    """
    tools = [shutil.which(name) for name in ("llvm-mc-19", "ld.lld-19")]
    if None in tools:
        pytest.skip("no llvm-mc-19 and ld.lld-19")
    assembler, linker = map(str, tools)
    rdna = arch.startswith("gfx1")
    more = ".amdhsa_wavefront_size32 1" if rdna else ""
    if arch in ("gfx90a", "gfx942"):
        more = ".amdhsa_accum_offset 64"
    text = _KERNEL.format(
        arch=arch, code=code, lds=lds, scratch=scratch, more=more, lanes=32 if rdna else 64,
        vectors=128 if arch in ("gfx90a", "gfx942") else 64,
    )  # fmt: skip
    source, thing, made = (folder / name for name in ("k.s", "k.o", "k.hsaco"))
    source.write_text(text)
    words = [assembler, "-triple=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-filetype=obj"]
    subprocess.run([*words, "-o", str(thing), str(source)], check=True)
    subprocess.run([linker, "-shared", "-o", str(made), str(thing)], check=True)
    return made.read_bytes()


def run(
    code: bytes, given: bytes, size: int, *, blocks: int = 1, threads: int = 64
) -> tuple[bytes, set[str]]:
    """Runs a kernel of two pointers: what it wrote behind the second, and the faults seen."""
    device = CpuPlugin().open(0)
    module = device.load(code)
    first, second = device.allocate(len(given)), device.allocate(size)
    device.write(first, given)
    arguments = first.to_bytes(8, "little") + second.to_bytes(8, "little")
    device.launch(module, "kernel", (blocks, 1, 1), (threads, 1, 1), arguments)
    return device.read(second, size), {o.kind for o in device.observed()}
