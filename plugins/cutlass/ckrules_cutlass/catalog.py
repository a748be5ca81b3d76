"""The kernels that cutlass_library's own generator lists: ``python -m ckrules_cutlass.catalog``.

It writes their names, one a line, which ``--catalog FILE`` of every command reads. It needs the
package ``nvidia-cutlass`` (the extra ``library``).
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from ckrules.kernels.name_grammar import KernelNameError
from ckrules.support.errors import UsageError, unknown
from ckrules_cutlass.names import GRAMMAR, NAMING
from ckrules_cutlass.program import end

CUDA = "13.0.0"
"""The toolkit that the generator is told of."""

GENERATORS = {
    "fp16": "GenerateSM90_TensorOp_16b_WGMMA_gemm",
    "bf16": "GenerateSM90_TensorOp_16b_WGMMA_gemm",
    "tf32": "GenerateSM90_TensorOp_tf32_WGMMA_gemm",
    "fp8": "GenerateSM90_TensorOp_fp8_WGMMA_gemm",
    "bf8": "GenerateSM90_TensorOp_fp8_WGMMA_gemm",
    "int8": "GenerateSM90_TensorOp_int8_WGMMA_gemm",
}
"""By dtype, the function of ``cutlass_library.generator`` that lists its kernels."""


def listed(dtype: str, level: str = "max") -> Iterator[str]:
    """The names that the generator lists for a dtype, those that the family has no fields for too.

    Args:
        dtype: One of `GENERATORS`.
        level: Its instantiation level: four digits, or ``max``.

    Raises:
        UnknownNameError: For another dtype.
        UsageError: If the package is not there.
    """
    if dtype not in GENERATORS:
        raise unknown("dtype", dtype, GENERATORS)
    try:
        generator: Any = importlib.import_module("cutlass_library.generator")
        manifests: Any = importlib.import_module("cutlass_library.manifest")
    except ImportError as error:
        raise UsageError(f"no cutlass_library: {error}: pip install nvidia-cutlass") from None
    words = ["--architectures", "90a", "--kernels", "*", "--instantiation-level", level]
    args = generator.define_parser().parse_args([*words, "--cuda-version", CUDA])
    manifest = manifests.Manifest(args)
    found: list[str] = []
    manifest.append = lambda operation: found.append(operation.procedural_name())
    getattr(generator, GENERATORS[dtype])(manifest, CUDA)
    yield from sorted(set(found))


def known(names: Sequence[str], dtype: str) -> list[str]:
    """Of these names, those that the family reads and that are of a dtype."""
    kept = []
    for name in names:
        try:
            point = NAMING.parse(name).point
        except KernelNameError:
            continue
        if point["dtype"] == dtype and GRAMMAR.format(point) == name:
            kept.append(name)
    return kept


def main(words: Sequence[str] | None = None) -> int:
    """Prints the names."""
    parser = argparse.ArgumentParser(prog="ckrules_cutlass.catalog", description=__doc__)
    parser.add_argument("dtype", choices=sorted(GENERATORS))
    parser.add_argument("--level", default="max", help="instantiation level, four digits or max")
    given = parser.parse_args(words)
    for name in known(list(listed(given.dtype, given.level)), given.dtype):
        print(name)
    return 0


if __name__ == "__main__":
    end(main)
