"""aiter's generators of CK Tile kernels, with a filter in front of their build.

aiter's ``gen_instances.py`` (csrc/cktile_gemm_a8w8_bpreshuffle, csrc/ck_gemm_a8w8_blockscale and
csrc/ck_tile_gemm_moe_2stages, August 2026) builds every instance of a list, and one that does not
compile ends the build of all. One line leaves out what cannot compile, launch or compute right::

    kernels_list = buildable(kernels_list, "gfx950")

Instances are objects of upstream's dataclasses, or of any class with the same attributes.

>>> from types import SimpleNamespace
>>> kernel = SimpleNamespace(sTransposeC=0, sUseStructuredSparsity=0, sTileParitionerGroupNum=8,
...     sTileParitionerM01=4, sNumWaveGroups=1, sDoubleSmemBuffer=0, PadM=0, PadN=0, PadK=0,
...     BlockPerCu=1, MTile=256, NTile=256, KTile=512, MWarp=1, NWarp=4, KWarp=1, MWTile=16,
...     NWTile=16, KWTile=128, sScheduler="Default")
>>> reasons(kernel, "gfx950")[0][-46:]
'= 262144 bytes, more than the 163840 of gfx950'
>>> kernel.KTile = 256
>>> reasons(kernel, "gfx950"), list(buildable({7: kernel}, "gfx950"))
([], [7])
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from ckrules.compat.decided_rules import DecidedRules, asked, completed
from ckrules.kernels.books import Books
from ckrules.kernels.families import record_tables
from ckrules.kernels.library import DEFAULT_CK
from ckrules.kernels.reader_tables import Fields, RecordTable
from ckrules.support.errors import UsageError

T = TypeVar("T")
K = TypeVar("K")
_LOG = logging.getLogger("ckrules.compat.aiter")


def reasons(
    kernel: object, gpus: str, *, dtype: str = "", list_name: str = "", ck: str = DEFAULT_CK
) -> list[str]:
    """Why an instance cannot compile, launch or compute right, with codes; empty: it can.

    Nothing is said of kernels that the rules do not describe (structured sparsity).

    Args:
        kernel: An instance of upstream's.
        gpus: The GPU, or several with ``;`` or ``,`` between them, as in ``GPU_ARCHS``: the
            instance has to be right on all of them.
        dtype: The types of A and B, such as ``fp8`` or ``bf16_fp4``, of instances of experts, which
            do not say it themselves.
        list_name: The list that it stands in, such as ``a8w4_gemm1_kernels_list_gfx950``, which
            says the types, too.
        ck: The CK headers that the build has.

    Raises:
        UnknownNameError: For an unknown GPU or version, with near matches.
        UsageError: For an object that is not an instance, for no GPU, and where neither the
            instance nor an argument says the types.
    """
    table = _table(kernel)
    if any(getattr(kernel, name, None) in values for name, values in table.outside.items()):
        return []
    fields = _fields(kernel, table, list_name)
    if dtype:
        fields["dtype"] = dtype
    if "dtype" not in fields:
        raise UsageError("the instance does not say its types: name dtype or list_name")
    given = gpus if isinstance(gpus, str) else ""
    names = [g.strip() for g in given.replace(";", ",").split(",") if g.strip()]
    if not names:
        raise UsageError(f"{gpus!r} names no GPU")
    found: dict[str, None] = {}
    for gpu in names:
        point = completed(str(fields["variant"]), {**fields, "arch": _plain(gpu)})
        rules = asked(str(point["variant"]), ck, "legal", frozenset(point))
        found |= dict.fromkeys(_broken(rules, point))
    return list(found)


@overload
def buildable(
    kernels: Mapping[K, T], gpus: str, *, dtype: str = "", list_name: str = "",
    ck: str = DEFAULT_CK, report: Callable[[str], object] | None = None,
) -> dict[K, T]: ...  # fmt: skip
@overload
def buildable(
    kernels: Sequence[T], gpus: str, *, dtype: str = "", list_name: str = "",
    ck: str = DEFAULT_CK, report: Callable[[str], object] | None = None,
) -> list[T]: ...  # fmt: skip
def buildable(
    kernels: Any, gpus: str, *, dtype: str = "", list_name: str = "", ck: str = DEFAULT_CK,
    report: Callable[[str], object] | None = None,
) -> Any:  # fmt: skip
    """The instances that can be built and compute right, with the keys that they had.

    What is left out is told to ``report``, a line each with the first reason; without it to the
    logger of this module. The other arguments and errors are those of `reasons`.
    """
    tell = report or _LOG.warning

    def kept(kernel: object) -> bool:
        found = reasons(kernel, gpus, dtype=dtype, list_name=list_name, ck=ck)
        if found:
            tell(f"{getattr(kernel, 'name', kernel)} is left out: {found[0]}")
        return not found

    if isinstance(kernels, Mapping):
        return {key: kernel for key, kernel in kernels.items() if kept(kernel)}
    return [kernel for kernel in kernels if kept(kernel)]


def _table(kernel: object) -> RecordTable:
    tables: list[RecordTable] = record_tables()
    called = str(getattr(kernel, "name", ""))
    for table in tables:
        if called.startswith(table.text) and all(hasattr(kernel, n) for n in table.needed):
            return table
    wanted = " or ".join(", ".join(t.needed) for t in tables)
    raise UsageError(f"{type(kernel).__name__} is not an instance of aiter's: expected {wanted}")


def _fields(kernel: object, table: RecordTable, list_name: str) -> Fields:
    fields: Fields = {**table.fixed, **table.of_list(list_name)}
    for key, name in table.fields.items():
        if hasattr(kernel, key):
            fields[name] = table.word(name, getattr(kernel, key))
    table.finish(fields)
    return fields


def _plain(gpu: str) -> str:
    return Books().plain_arch(gpu)


def _broken(rules: DecidedRules, point: Fields) -> list[str]:
    if fault := rules.fault(point):
        return [fault]
    if rules.holds(point):
        return []
    return [f"{v.code}: {v.message}" for v in rules.reasons(point) if v.rule.severity == "error"]
