"""How quantised GEMMs become C++: as yet only as a question to the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ckrules.codegen.gemm import probe as gemm
from ckrules.codegen.gemm.generation import TEMPLATES as GEMM_TEMPLATES
from ckrules.codegen.quant import probe
from ckrules.support.errors import UsageError

TEMPLATES = Path(__file__).resolve().parent / "templates"


class QuantGeneration:
    """The probe of quantised GEMMs, written against CK 2025.11; there are no other templates."""

    templates: tuple[Path, ...] = (TEMPLATES, GEMM_TEMPLATES)
    runtime: tuple[str, ...] = ()
    library = "quant"
    headers: tuple[str, ...] = ()
    quantities: tuple[str, ...] = ()

    def kernel(
        self, point: Mapping[str, Any], name: str, ck: str, quantities: Mapping[str, Any]
    ) -> NoReturn:
        """Nothing; raises `UsageError`."""
        raise UsageError(f"there are no templates of quantised GEMMs yet: {name}")

    def files(self, kernel: Any) -> Iterator[tuple[str, str]]:
        """None."""
        return iter(())

    def covers(self, kernels: Sequence[Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """None."""
        return iter(())

    def probe(self, ck: str) -> str | None:
        """The release whose headers can be had."""
        return probe.TEMPLATE if ck == gemm.CK else None

    def probe_values(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """See `ckrules.codegen.quant.probe.values`."""
        return probe.values(point)


GENERATION = QuantGeneration()
