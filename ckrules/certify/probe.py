"""The probe: one explicit instantiation of a configuration's kernel, for a compiler to accept.

It is written against the CK tree of ``--ck 2025.11``: device pass, hot loop and full tail, memory
operation ``set``, no D tensors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ckrules.codegen.render import render as render_template
from ckrules.kernels.families import family_of
from ckrules.kernels.parts import Generation
from ckrules.support.errors import UsageError

Point = Mapping[str, object]
"""A configuration: fields and their values."""

CK = "2025.11"
"""The release whose interface the probe uses."""

#: The namespace of the probe's own names.
_NAMESPACE = "ckrules_probe"


def exists(variant: str) -> bool:
    """Whether the compiler can be asked about kernels of a variant."""
    generation = family_of(variant).generation
    return generation is not None and generation.probe(CK) is not None


def _template(variant: str) -> tuple[Generation, str]:
    family = family_of(variant)
    name = None if family.generation is None else family.generation.probe(CK)
    if family.generation is None or name is None:
        raise UsageError(f"the family {family.name} has no probe for CK {CK}")
    return family.generation, name


def render(point: Point) -> str:
    """The probe's C++ source: one explicit instantiation of the point's kernel.

    Raises:
        UsageError: For a point that lacks a field, or whose family has no probe.
        UnknownNameError: For a word that the headers have no name for, with near matches.
    """
    generation, template = _template(str(point.get("variant")))
    return render_template(template, generation.probe_values(point), generation.templates)


def fields(point: Point) -> frozenset[str]:
    """The fields that the probe of a point depends on: what the compiler can judge."""
    read: set[str] = set()

    class Recorder(dict[str, object]):
        def get(self, key: str, default: object = None) -> object:
            read.add(key)
            return super().get(key, default)

    render(Recorder(point))
    return frozenset(read)


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
