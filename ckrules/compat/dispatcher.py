"""The dispatcher's ``ArchFilter`` of June 2026, answered by a rule book.

Names, arguments and results are those of ``dispatcher/codegen/arch_filter.py``; reasons are our
messages, each with the code of its rule. The filter is asked about a tile and its trait only:
types of sums and results, LDS buffers and padding are those that follow, and of convolutions the
rules on vector widths are left out, which the filter does not get.

>>> from ckrules.compat.dispatcher import ArchFilter, KernelConfig
>>> kernel = {"tile_m": 192, "tile_n": 128, "tile_k": 32, "pipeline": "compv3"}
>>> ArchFilter("gfx942").is_kernel_valid(**kernel)
False
>>> [ArchFilter("gfx942", ck=ck, profile="dispatcher").is_kernel_valid(**kernel)
...     for ck in ("2026.06", "2026.09")]
[True, False]
>>> ArchFilter("gfx942").validate_kernel(KernelConfig("fp16", "fp16", "fp16", 192, 128, 32, 2, 2, 1,
...     32, 32, 16, "compv3")).errors[0][:7]
'EPI002:'
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ckrules import arch as gpu_facts
from ckrules.compat.decided_rules import asked, completed
from ckrules.kernels.library import DEFAULT_CK
from ckrules.support.errors import UsageError


class OperatorType(Enum):
    """The operators that the filter knows."""

    GEMM = "gemm"
    GEMM_PRESHUFFLE = "gemm_preshuffle"
    GEMM_MULTI_D = "gemm_multi_d"
    CONV_FWD = "conv_fwd"
    CONV_BWD_DATA = "conv_bwd_data"
    CONV_BWD_WEIGHT = "conv_bwd_weight"
    CONV3D_FWD = "conv3d_fwd"
    CONV3D_BWD_DATA = "conv3d_bwd_data"
    CONV3D_BWD_WEIGHT = "conv3d_bwd_weight"


_VARIANTS: dict[OperatorType, tuple[str, dict[str, Any]]] = {
    OperatorType.GEMM: ("standard", {}),
    OperatorType.GEMM_PRESHUFFLE: ("preshuffle", {}),
    OperatorType.GEMM_MULTI_D: ("multi_d", {"num_d": 1, "elementwise_op": "add"}),
    OperatorType.CONV_FWD: ("forward", {"ndim": 2}),
    OperatorType.CONV_BWD_DATA: ("bwd_data", {"ndim": 2}),
    OperatorType.CONV_BWD_WEIGHT: ("bwd_weight", {"ndim": 2}),
    OperatorType.CONV3D_FWD: ("forward", {"ndim": 3}),
    OperatorType.CONV3D_BWD_DATA: ("bwd_data", {"ndim": 3}),
    OperatorType.CONV3D_BWD_WEIGHT: ("bwd_weight", {"ndim": 3}),
}


@dataclass
class KernelConfig:
    """A kernel that is asked about; ``warp_m`` to ``warp_k`` count waves."""

    datatype_a: str
    datatype_b: str
    datatype_c: str
    tile_m: int
    tile_n: int
    tile_k: int
    warp_m: int
    warp_n: int
    warp_k: int
    warp_tile_m: int
    warp_tile_n: int
    warp_tile_k: int
    pipeline: str = "compv4"
    epilogue: str = "cshuffle"
    scheduler: str = "intrawave"
    layout: str = "rcr"
    operator: OperatorType = OperatorType.GEMM


@dataclass
class ValidationResult:
    """The answer: whether it is yes, and the reasons if it is no."""

    valid: bool
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.valid

    def add_error(self, msg: str) -> None:
        """Adds a reason; the answer is no."""
        self.errors.append(msg)
        self.valid = False

    def add_warning(self, msg: str) -> None:
        """Adds what is worth knowing."""
        self.warnings.append(msg)


class ArchFilter:
    """Kernels that a GPU can have.

    Args:
        gpu_arch: The GPU, in any case; target features behind a colon do not matter.
        strict_mode: Whether an unknown GPU is an error; otherwise all of its kernels pass with
            a warning, as upstream has it.
        profile: The rules that answer: ``legal``, or ``dispatcher`` for upstream's own.

    Raises:
        ValueError: In strict mode for an unknown GPU.
    """

    def __init__(
        self,
        gpu_arch: str,
        strict_mode: bool = True,
        *,
        ck: str = DEFAULT_CK,
        profile: str = "legal",
    ) -> None:
        self._plain = gpu_facts.normalize(gpu_arch)
        self.gpu_arch, self.strict_mode = gpu_arch.lower(), strict_mode
        self.ck, self.profile = ck, profile
        self._known = self._plain in gpu_facts.known(())
        if not self._known and strict_mode:
            known = list(gpu_facts.known(()))
            raise ValueError(f"Unknown GPU architecture: {gpu_arch}. Supported: {known}")

    def validate_kernel(self, config: KernelConfig) -> ValidationResult:
        """The answer about a kernel, with every reason.

        Raises:
            UsageError: For an operator that is none.
        """
        result = ValidationResult(True)
        if not self._known:
            result.add_warning(f"nothing is known of {self.gpu_arch}")
            return result
        if config.operator not in _VARIANTS:
            raise UsageError(f"{config.operator!r} is not an OperatorType")
        variant, further = _VARIANTS[config.operator]
        point = self._point(variant, further, config)
        rules = asked(variant, self.ck, self.profile, frozenset(point))
        fault = rules.fault(point)
        if "dtype_c" not in point and _lower(config.datatype_c) != _lower(config.datatype_a):
            result.add_warning(f"{variant} writes {config.datatype_a}, not {config.datatype_c}")
        if fault:
            result.add_error(fault)
        elif not rules.holds(point):
            for violation in rules.reasons(point):
                result.add_error(f"{violation.rule.code}: {violation.message}")
        return result

    def _point(self, variant: str, further: dict[str, Any], config: KernelConfig) -> dict[str, Any]:
        a, b = _lower(config.datatype_a), _lower(config.datatype_b)
        given: dict[str, Any] = {
            **further, "arch": self._plain, "dtype": a if a == b else f"{a}_{b}",
            "tile_m": config.tile_m, "tile_n": config.tile_n, "tile_k": config.tile_k,
            "wave_m": config.warp_m, "wave_n": config.warp_n, "wave_k": config.warp_k,
            "warp_tile_m": config.warp_tile_m, "warp_tile_n": config.warp_tile_n,
            "warp_tile_k": config.warp_tile_k, "pipeline": _lower(config.pipeline),
            "epilogue": _lower(config.epilogue), "scheduler": _lower(config.scheduler),
        }  # fmt: skip
        if "ndim" not in further:
            layout = _lower(config.layout)
            given["layout"] = (
                layout + layout[2:3] if variant == "multi_d" and len(str(layout)) == 3 else layout
            )
        elif self.profile == "legal":  # which a configuration does not say
            from ckrules.constraints.gemm.words import TWO_BUFFERS

            given["double_smem_buffer"] = given["pipeline"] in TWO_BUFFERS
        point = completed(variant, given)
        if self.profile == "dispatcher" and "dtype_acc" in point:
            from ckrules.constraints.gemm.dispatcher import OUTPUT

            point |= {"dtype_acc": "fp32", "dtype_c": OUTPUT.get(point["dtype"], "fp16")}
        elif "dtype_c" in point:
            point["dtype_c"] = _lower(config.datatype_c)
        return point

    def is_kernel_valid(
        self, datatype_a: str = "fp16", datatype_b: str = "fp16", datatype_c: str = "fp16",
        tile_m: int = 256, tile_n: int = 256, tile_k: int = 64,
        warp_m: int = 2, warp_n: int = 2, warp_k: int = 1,
        warp_tile_m: int = 32, warp_tile_n: int = 32, warp_tile_k: int = 16,
        pipeline: str = "compv4", epilogue: str = "cshuffle", scheduler: str = "intrawave",
        layout: str = "rcr", operator: OperatorType | None = None,
    ) -> bool:  # fmt: skip
        """Whether the answer is yes."""
        config = KernelConfig(
            datatype_a, datatype_b, datatype_c, tile_m, tile_n, tile_k, warp_m, warp_n, warp_k,
            warp_tile_m, warp_tile_n, warp_tile_k, pipeline, epilogue, scheduler, layout,
            operator or OperatorType.GEMM,
        )  # fmt: skip
        return self.validate_kernel(config).valid


def _lower(word: Any) -> Any:
    """A word in lower case; what is none is left to the rules, which say so."""
    return word.lower() if isinstance(word, str) else word


def get_supported_archs() -> list[str]:
    """The GPUs that are known."""
    return list(gpu_facts.known(()))


__all__ = [
    "ArchFilter", "KernelConfig", "OperatorType", "ValidationResult",
    "get_supported_archs",
]  # fmt: skip
