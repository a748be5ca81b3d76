"""Matrix products as problems of GEMMs with scales: the scales belong to the kernel.

Kernels for experts compute products of tokens, which say how many experts there are and how many of
them a token has.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ckrules.constraints.gemm.problem import MatrixProduct
from ckrules.constraints.gemm.problems import GemmProblems
from ckrules.constraints.scaled import problem, problem_fields
from ckrules.constraints.scaled.problem import ExpertProduct
from ckrules.constraints.scaled.words import EXPERTS, MX
from ckrules.engine.expr import Value
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.kernels.parts import Point, Tensors


class ScaledProblems(GemmProblems):
    """Matrix products whose operands have scales."""

    name = "scaled gemm"

    parse = staticmethod(problem.parse)
    from_mapping = staticmethod(problem.from_mapping)
    from_row = staticmethod(problem.from_row)
    row = staticmethod(problem.row)
    fields = staticmethod(problem_fields.fields)
    values = staticmethod(problem.values)

    def pack(self, problem: MatrixProduct) -> bytes:
        """As host libraries take it: that of other GEMMs, and behind it experts and topk of tokens.

        >>> len(ScaledProblems().pack(ExpertProduct(1, 2, 3)))
        88
        """
        found = super().pack(problem)
        if isinstance(problem, ExpertProduct):
            found += struct.pack("=2q", problem.experts, problem.topk)
        return found

    def members(self) -> tuple[str, Mapping[str, str]]:
        """As other GEMMs'; the dispatcher in C asks for products of one pair alone."""
        name, found = super().members()
        return name, {**found, "experts": "0", "topk": "0", "widths": "1"}

    def fits(self, config: Point, problem: object) -> bool:
        """Whether it is a matrix product; of tokens for kernels for experts, else of one pair."""
        of_tokens = isinstance(problem, ExpertProduct)
        return isinstance(problem, MatrixProduct) and of_tokens == (config["variant"] == EXPERTS)

    def usual(self, fixed: Mapping[str, Iterable[Value]]) -> dict[str, tuple[int, int]]:
        """As other GEMMs', with up to 512 experts where kernels for experts are asked about."""
        found = super().usual(fixed)
        if EXPERTS not in set(fixed.get("variant", ())):
            return {**found, "experts": (0, 0), "topk": (0, 0), "widths": (1, 1)}
        return {**found, "experts": (1, 512), "topk": (1, 16), "widths": (1, 1)}

    def quiet(self) -> dict[str, Value]:
        """One product, its sums in one part, and no experts."""
        return {**super().quiet(), "experts": 0, "topk": 0, "widths": 1}

    def smoke(self, config: Point) -> list[MatrixProduct]:
        """Those of other GEMMs, and some whose rows lie apart; none of what is not generated."""
        from ckrules.constraints.gemm.device.smoke import apart

        if config["variant"] == EXPERTS:
            from ckrules.constraints.scaled.device.experts import smoke

            return list(smoke(config))
        if config["variant"] not in ("flatmm", MX):
            return []
        if config["variant"] == MX:
            return list(super().smoke(config))
        if config["grouping"] == "masked":
            from ckrules.constraints.scaled.device.masked import smoke as groups

            return [*super().smoke(config), *groups(config)]
        return [*super().smoke(config), *(apart(config, True, by) for by in (8, 3))]

    def tensors(self, problem: MatrixProduct, config: Point) -> Tensors:
        """A, B, their scales and C.

        Raises:
            UsageError: For kernels that are not generated.
        """
        from ckrules.constraints.scaled.device.experts import ExpertTensors
        from ckrules.constraints.scaled.device.tensors import ScaledTensors

        if isinstance(problem, ExpertProduct):
            return ExpertTensors(problem, config)
        if config["variant"] == MX:
            from ckrules.constraints.scaled.device.micro import MicroTensors

            return MicroTensors(problem, config)
        if config.get("grouping") == "masked":
            from ckrules.constraints.scaled.device.masked import MaskedTensors

            return MaskedTensors(problem, config)
        if config["variant"] != "flatmm":
            raise UsageError(f"kernels of {config['variant']} are not generated: none can be run")
        return ScaledTensors(problem, config)
