"""How kernels of attention forward are asked of the compiler; there is no C++ to build them yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ckrules.codegen.fmha import probe
from ckrules.engine.expr import Value
from ckrules.support.errors import UsageError

TEMPLATES = Path(__file__).resolve().parent / "templates"


class AttentionGeneration:
    """The question to the compiler about a kernel of attention forward."""

    templates: tuple[Path, ...] = (TEMPLATES,)
    runtime: tuple[str, ...] = ()
    library = "fmha"
    headers: tuple[str, ...] = ()
    quantities: tuple[str, ...] = ()

    def kernel(
        self, point: Mapping[str, Value], name: str, ck: str, quantities: Mapping[str, Any]
    ) -> NoReturn:
        """Raises `UsageError`: there is a probe only."""
        raise UsageError(
            f"{point['variant']} kernels cannot be generated: "
            "there is no C++ for them but what `ckrules certify` asks the compiler with"
        )

    def files(self, kernel: Any) -> Iterator[tuple[str, str]]:
        """No files."""
        yield from ()

    def covers(self, kernels: Sequence[Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """No files."""
        yield from ()

    def probe(self, ck: str) -> str | None:
        """The template for the release whose headers can be had."""
        return probe.TEMPLATE if ck == probe.CK else None

    def probe_values(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """See `ckrules.codegen.fmha.probe.values`."""
        return probe.values(point)


GENERATION = AttentionGeneration()
