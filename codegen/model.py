"""The typed model between a configuration and the templates, as far as it knows no family."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckrules.arch.model import hip_major
from ckrules.codegen.ck_options import CkOption
from ckrules.engine.expr import Value
from ckrules.kernels.families import family_of
from ckrules.kernels.family import Family
from ckrules.kernels.parts import Generation
from ckrules.support.errors import UsageError


@dataclass(frozen=True, slots=True)
class KernelModel:
    """One kernel as the templates of its family see it; each family adds what its own need."""

    name: str  # ex) grouped_conv_fwd_fp16_nhwgc_2d_compv3_…
    ck: str  # ex) 2025.11
    point: Mapping[str, Value]
    resources: Mapping[str, Any]
    """What the rule book says of the family's `Generation.quantities`; None where it cannot."""

    @property
    def family(self) -> Family:
        """The kernel's family."""
        return family_of(str(self.point["variant"]))

    @property
    def config(self) -> str:
        """The configuration as one line of JSON, as ``ckrules check`` reads it."""
        return json.dumps(dict(self.point), ensure_ascii=True)

    @property
    def arch(self) -> str:
        """The GPU."""
        return str(self.point["arch"])

    @property
    def generation(self) -> int:
        """The GPU's major number."""
        return hip_major(self.arch)

    @property
    def own_options(self) -> tuple[CkOption, ...]:
        """The compiler options that it needs beside those of CK."""
        return own_options(self.family, self.point)


def own_options(family: Family, point: Mapping[str, Any]) -> tuple[CkOption, ...]:
    """The compiler options that a kernel of a family needs beside those of CK.

    >>> point = {"variant": "preshuffle", "pipeline": "preshufflev2"}
    >>> [o.text for o in own_options(family_of("preshuffle"), point)]
    ['-mllvm -enable-misched=0']
    """
    asked = getattr(family.generation, "build_options", None)
    return tuple(asked(point)) if asked else ()


def generation_of(family: Family) -> Generation:
    """How a family's kernels become C++.

    Raises:
        UsageError: If they do not.
    """
    if family.generation is None:
        raise UsageError(f"the family {family.name} has no templates to generate kernels from")
    return family.generation
