"""tile_engine's validation functions of November 2025 for ``gemm`` and ``gemm_multi_d``.

Names and arguments are those of ``tile_engine/ops/commons/validation_utils.py``. Upstream's
builders ask about tiles and about traits separately, and build every tile with every trait: so a
tile is answered for the trait that a `Validation` is made for. Where no trait is named it is the
pipeline that the call names, with the CShuffle epilogue, scheduler intrawave and no padding.

>>> from ckrules.compat.tile_engine import is_tile_config_valid
>>> is_tile_config_valid(128, 128, 64, 2, 2, 1, 32, 32, 16, "fp16", "fp16", "fp16", "compv3",
...                      "rcr", "gfx942")
True
>>> is_tile_config_valid(96, 128, 64, 2, 2, 1, 32, 32, 16, "fp16", "fp16", "fp16", "compv3",
...                      "rcr", "gfx942")
False
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ckrules.arch import normalize
from ckrules.compat.decided_rules import DecidedRules, asked, completed
from ckrules.kernels.parts import Point
from ckrules.support.errors import UsageError, unknown
from ckrules.support.plain_values import mapping, several

_VARIANTS = {"gemm": "standard", "gemm_multi_d": "multi_d", "gemm_preshuffle": "preshuffle"}
_TRAIT = ("pipeline", "epilogue", "scheduler", "pad_m", "pad_n", "pad_k", "persistent")
_PADS = {"pad_m": False, "pad_n": False, "pad_k": False, "persistent": False}
_NAMES = (
    "tile_m", "tile_n", "tile_k", "wave_m", "wave_n", "wave_k",
    "warp_tile_m", "warp_tile_n", "warp_tile_k",
)  # fmt: skip


class Validation:
    """tile_engine's questions for kernels of one operation and one trait.

    Args:
        operation: ``gemm``, ``gemm_multi_d`` or ``gemm_preshuffle``.
        trait: Pipeline, epilogue, scheduler, three pads and persistent, as upstream's builders
            combine them; None: what a call names.
        profile: The rules that answer: ``legal``, or ``tile_engine`` for upstream's own, asked as
            its builders ask: for every pipeline with the bytes of LDS of compv4.
        further: Further fields of all kernels, such as ``permute_n``.

    Raises:
        UnknownNameError: For an unknown operation, version, profile or field, with near matches.
        UsageError: For a trait of another length, or a value that its field does not have.
    """

    def __init__(
        self,
        operation: str = "gemm",
        trait: Iterable[Any] | None = None,
        *,
        ck: str = "2025.11",
        profile: str = "legal",
        further: Mapping[str, Any] | None = None,
    ) -> None:
        if operation not in _VARIANTS:
            raise unknown("operation", operation, _VARIANTS)
        self.variant = _VARIANTS[operation]
        self.trait = None if trait is None else several("trait", trait)
        if self.trait is not None and len(self.trait) != len(_TRAIT):
            raise UsageError(f"a trait has {len(_TRAIT)} parts: {', '.join(_TRAIT)}")
        self.ck, self.profile = ck, profile
        self._further = dict(mapping("further", further or {}))
        if self.variant == "multi_d":
            self._further = {"num_d": 2, "elementwise_op": "multiply", **self._further}
        point = self._point((128, 128, 64, 2, 2, 1, 32, 32, 16), "fp16", "compv3", "rcr", "gfx942")
        rules = self._asked(point)
        for name in self._further:
            if name not in rules.fields:
                raise unknown("field", name, rules.fields)
        if fault := rules.fault(point):  # every kernel would be answered with no
            raise UsageError(fault)

    def is_tile_config_valid(
        self, tile_m: int, tile_n: int, tile_k: int, warp_m: int, warp_n: int, warp_k: int,
        warp_tile_m: int, warp_tile_n: int, warp_tile_k: int, a_datatype: str, b_datatype: str,
        c_datatype: str, pipeline: str, layout: str, gpu_target: str, trait_name: str | None = None,
    ) -> bool:  # fmt: skip
        """Whether a kernel with this tile is answered with yes.

        ``warp_m`` to ``warp_k`` count waves, as upstream calls them.
        """
        return not self.reasons(
            (tile_m, tile_n, tile_k, warp_m, warp_n, warp_k, warp_tile_m, warp_tile_n, warp_tile_k),
            a_datatype, b_datatype, c_datatype, pipeline, layout, gpu_target, first=True,
        )  # fmt: skip

    def reasons(
        self, tile: tuple[int, ...], a_datatype: str, b_datatype: str, c_datatype: str,
        pipeline: str, layout: str, gpu_target: str, *, first: bool = False,
    ) -> list[str]:  # fmt: skip
        """Why the answer is no, each reason with its code; none: it is yes.

        Args:
            tile: The nine sizes, in the order of the arguments of `is_tile_config_valid`.
            pipeline: The pipeline, where no trait is named.
            layout: Letters of A, B and C, and of D.
            first: Whether one reason is enough.
        """
        types = a_datatype if a_datatype == b_datatype else f"{a_datatype}_{b_datatype}"
        point = self._point(tile, types, pipeline, layout, gpu_target)
        point["dtype_c"] = c_datatype
        rules = self._asked(point)
        fault = rules.fault(point)
        if fault:
            return [fault]
        if rules.holds(point):
            return []
        if first:
            return ["refused"]
        return [f"{v.rule.code}: {v.message}" for v in rules.reasons(point)]

    def is_trait_combination_valid(self, pipeline: str, epilogue: str, scheduler: str) -> bool:
        """Whether a combination is the trait that is asked about, or any that rules let through.

        A combination passes where some tile may be legal with it: what decides is the pipeline's
        schedulers and that the epilogue exists.
        """
        words = (pipeline, epilogue, scheduler)
        if self.trait is not None and words != self.trait[:3]:
            return False
        names = ("pipeline", "epilogue", "scheduler")
        given = dict(zip(names, words, strict=True))
        rules = asked(self.variant, self.ck, self.profile, frozenset({"variant", *names}))
        point: dict[str, Any] = {"variant": self.variant, **given}
        return not rules.fault(point) and rules.holds(point)

    def install(self, builder: Any) -> None:
        """Puts the functions in the place of those that a builder's module imported."""
        found = [
            n for n in ("is_tile_config_valid", "is_trait_combination_valid") if hasattr(builder, n)
        ]
        if not found:
            raise UsageError(
                f"{getattr(builder, '__name__', builder)!r} has no validation functions"
            )
        for name in found:
            setattr(builder, name, getattr(self, name))

    def _point(
        self, tile: tuple[int, ...], types: str, pipeline: str, layout: str, gpu: str
    ) -> dict[str, Any]:
        if self.trait is not None:
            trait = dict(zip(_TRAIT, self.trait, strict=True))
        else:
            usual = "default" if self.variant == "preshuffle" else "intrawave"
            trait = {"pipeline": pipeline, "epilogue": "cshuffle", "scheduler": usual, **_PADS}
        if self.variant == "multi_d" and len(layout) == len("rcr"):
            layout += layout[2]
        sizes = dict(zip(_NAMES, tile, strict=True))
        arch = normalize(gpu)
        given: Point = {
            **sizes, **trait, **self._further, "dtype": types, "layout": layout, "arch": arch,
        }  # fmt: skip
        return completed(self.variant, given)

    def _asked(self, point: Mapping[str, Any]) -> DecidedRules:
        return asked(self.variant, self.ck, self.profile, frozenset(point))


def traits(config: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The traits that upstream's builders combine of a configuration file, in their order.

    A builder that is run once with a `Validation` for each lists every kernel that is answered
    with yes, and no other.

    >>> off = ("pad_m", "pad_n", "pad_k", "persistent")
    >>> config = {"trait_config": {k: {"values": [False]} for k in off}}
    >>> config["trait_config"] |= {"pipeline": {"values": ["compv3", "mem"]},
    ...     "epilogue": {"values": ["cshuffle"]}, "scheduler": {"values": ["intrawave"]}}
    >>> [t[0] for t in traits(config)]
    ['compv3', 'mem']

    Raises:
        UsageError: For what has no values of a part of a trait.
    """
    from itertools import product

    try:
        values = [config["trait_config"][name]["values"] for name in _TRAIT]
    except (KeyError, TypeError):
        wanted = ", ".join(_TRAIT)
        raise UsageError(f"the file has no trait_config with values of {wanted}") from None
    return list(product(*values))


def for_trait(config: Mapping[str, Any], trait: tuple[Any, ...]) -> dict[str, Any]:
    """The configuration file with one trait alone."""
    alone = {name: {"values": [value]} for name, value in zip(_TRAIT, trait, strict=True)}
    return {**config, "trait_config": {**config["trait_config"], **alone}}


_DEFAULT = Validation()
is_tile_config_valid = _DEFAULT.is_tile_config_valid
is_trait_combination_valid = _DEFAULT.is_trait_combination_valid
