"""What a kernel family can bring, part by part: names, problems, tensors, C++, catalogs.

The parts are protocols, so that a plug-in needs no base class; `Family.parts` says where they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ckrules.arch import Gpu
    from ckrules.engine.expr import BoolExpr, Expr, Value
    from ckrules.engine.rules import RuleDef
    from ckrules.engine.rules.book import Vocabulary

Point = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ParsedName:
    """A name read: the point without ``arch``, and the spellings that print the same text."""

    point: dict[str, Any]
    spelling: Mapping[str, str] = field(default_factory=dict)
    taken: Mapping[str, Any] = field(default_factory=dict)
    """The part of the point that the name does not say, with what was taken for it."""


class Padding(Protocol):
    """How problems of a family are made larger, for kernels that take no others."""

    def larger(self, problem: Any, config: Point) -> Iterator[Any]:
        """Problems that hold this one, least work first, for a kernel to be asked about.

        The tensors of each begin with those of the problem along every canonical axis. With zeros
        behind these, the result begins with the problem's result.
        """


class Naming(Protocol):
    """How the kernels of a family are called."""

    prefix: str
    """Every name begins with it; of the families that match, the longest prefix decides.

    A naming may have an attribute ``beginnings``: what further names begin with that it reads.
    """

    def parse(self, text: str) -> ParsedName:
        """The point that a name says; raises `KernelNameError` with the column of the fault."""

    def format(self, point: Point, spelling: Mapping[str, str] | None = None) -> str:
        """The name of a point; raises `UsageError` if no name can say it."""

    def span(self, text: str, name: str) -> tuple[int, int] | None:
        """Where a name writes the field: offsets of its first character and behind its last."""

    def without_defaults(self, text: str) -> str:
        """The text without the suffixes that say a default, which nobody writes."""

    def rule_set_spelling(self, point: Point) -> dict[str, str]:
        """How upstream's own lists spell the point, where that is not the usual way."""


class Style(Protocol):
    """Names that a tool gives kernels, which may leave out what is the same for all of its own."""

    def format(self, point: Point) -> str:
        """The name of a point; raises `UsageError` if the tool has no such kernel."""


class Problem(Protocol):
    """What a kernel computes: sizes, compared and hashed by value; `str` is its one-line text."""

    @property
    def flops(self) -> int:
        """Operations, a multiplication and an addition counted as two."""

    def __hash__(self) -> int: ...


class Problems(Protocol):
    """The problems of a family: their text, fields, rules, smoke set and bytes.

    Families may share one object, or its class: depthwise kernels compute convolutions, too.
    """

    name: str
    """What a problem is, such as ``convolution``: problems of one name are of one type."""

    def __hash__(self) -> int: ...

    def parse(self, text: str) -> Any:
        """The problem that one line of text says; raises `UsageError`."""

    def from_mapping(self, given: Mapping[str, Any]) -> Any:
        """The problem that names and values say, as in a JSON object; raises `UsageError`."""

    def from_row(self, cells: Mapping[str, str]) -> Any:
        """The problem of a table's row, whose other columns mean nothing; raises `UsageError`."""

    def pack(self, problem: Any) -> bytes:
        """The bytes that host libraries of the family take; raises `UsageError`."""

    def members(self) -> tuple[str, Mapping[str, str]]:
        """The C structure of `pack`, and for each of `fields` an expression of such a ``p``."""

    def row(self, problem: Any, variant: str) -> dict[str, Value]:
        """The columns that a problem fills in tables of results, and what follows from it."""

    def fields(self) -> list[Expr]:
        """The variables that rules on problems read beside those of the kernel."""

    def values(self, problem: Any) -> dict[str, Value]:
        """The values of `fields` for a problem."""

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> Vocabulary:
        """Fields of kernel and problem, with what follows from them."""

    def rules(self) -> list[RuleDef]:
        """The rules on kernel and problem together."""

    def fits(self, config: Point, problem: object) -> bool:
        """Whether the problem is of the form that the kernel computes at all (its dimensions).

        Args:
            problem: A problem of any family.
        """

    def smoke(self, config: Point) -> Sequence[Any]:
        """The built-in problems on which a kernel is validated."""

    def tensors(self, problem: Any, config: Point) -> Tensors:
        """The tensors of a problem for one kernel, with their reference."""

    def usual(self, fixed: Mapping[str, Iterable[Value]]) -> dict[str, tuple[int, int]]:
        """The ranges that symbolic questions go through, by field of the problem.

        Args:
            fixed: The values that fields of the kernels take, such as their dimensions.
        """

    def sensible(self, names: Mapping[str, Any]) -> list[BoolExpr]:
        """What every problem meets, over `fields` by name."""

    def quiet(self) -> Mapping[str, Value]:
        """Values that one-line descriptions of symbolic problems leave out, by field."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a problem as the device holds it."""

    name: str
    direction: str
    """``in``, ``out`` or ``inout``."""
    shape: tuple[int, ...]
    """In canonical order, in which references compute."""
    dtype: str
    """Such as ``fp16``; a name of `ckrules.device.dtypes.ELEMENTS`."""
    order: tuple[int, ...]
    """The canonical axes in the order of memory, slowest first."""
    pitch: int = 0
    """Elements from a row of the fastest axes to the next in memory; 0: none lies between."""
    roundings: int = 1
    """How often a value of a result is rounded to its type before it is stored."""
    spread: float = 1.0
    """Samples lie between this and its negative."""
    shift: float = 0.0
    """What is added to samples."""
    content: tuple[float, ...] = ()
    """What it holds, in canonical order, where no sample would do: offsets."""
    inner: int = 1
    """How many of the fastest axes make up such a row."""
    outer: int = 0
    """Elements from a part of one axis more to the next in memory; 0: none lies between."""

    @property
    def apart(self) -> bool:
        """Whether something may lie between its elements."""
        return bool(self.pitch or self.outer)


class Tensors(Protocol):
    """The tensors of a problem for one kernel: reference, and how results are looked at.

    A result is a tensor of `all` that the kernel writes; ``name`` is its name. Where results are
    not sums of products, a method ``error(name, data)`` says how far an element may be off at most,
    in place of `depth` and `parts`. What sums in another type than fp32 has an attribute
    ``accumulator``, its name; what is added less exactly than in that type has ``sum_error``, a
    share of the largest result; where blocks of the whole grid add to the same elements there is
    ``added_up``, which is true.
    """

    @property
    def all(self) -> tuple[Tensor, ...]:
        """Every tensor, in the order in which the host library takes their addresses."""

    def key(self) -> str:
        """What data and references depend on: equal keys share them."""

    def reference(self, data: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        """The results by name, in canonical order and not rounded, from the tensors read."""

    def depth(self, name: str) -> int:
        """Products in the longest sum of a result, on which tolerances depend."""

    def parts(self, name: str) -> int:
        """Parts at most that sums are split into and added in the result's own type."""

    def axes(
        self, name: str, mask: NDArray[np.bool_]
    ) -> tuple[list[ResultAxis], NDArray[np.bool_]]:
        """The result's axes as the kernel divides them, and a mask of the result over them."""

    def slices(self, name: str, length: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Ways in which the kernel divides a sum of that length: words for a part, and labels.

        None where the order of the sum is not known.
        """

    def products(
        self, name: str, data: Mapping[str, NDArray[Any]], at: tuple[int, ...]
    ) -> NDArray[np.float64]:
        """The terms of one element's sum in the order that `slices` divides."""


class Unsliced:
    """`Tensors` whose results are not plain sums: no part of one can be missed for itself."""

    def slices(self, name: str, length: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """None."""
        yield from ()

    def products(
        self, name: str, data: Mapping[str, NDArray[Any]], at: tuple[int, ...]
    ) -> NDArray[np.float64]:
        """Not asked for: there are no slices."""
        raise NotImplementedError


@dataclass(frozen=True)
class Division:
    """One way to divide an axis of a result: a label for every coordinate."""

    kind: str
    """``tile``, ``wave``, ``warp tile``, ``lane``, ``image``, ``group`` or ``range``."""
    labels: NDArray[np.int64]
    what: str
    """One part in words, such as ``warp tile``."""
    tail: str = ""
    """Words behind, such as `` along M``."""
    ordered: bool = True
    """Whether words like "last" and "every second" say something; else parts have numbers."""


@dataclass(frozen=True)
class ResultAxis:
    """One axis of a result as the kernel sees it, with the ways in which it is divided."""

    name: str
    size: int
    divisions: list[Division] = field(default_factory=list)


class Builder(Protocol):
    """What compiles the kernels of a generated folder, and remembers there how it went."""

    def build(self, folder: Path) -> None:
        """Compiles what is neither built nor known to fail."""

    def failed(self, folder: Path) -> Collection[str]:
        """The names of kernels that are known to fail."""


class Generation(Protocol):
    """How the family's kernels become C++.

    A family whose kernels need compiler options beside those of CK has a method
    ``build_options(point)`` as well, which gives them as `ckrules.codegen.ck_options.CkOption`.
    One whose host libraries are not of ``runtime/ckrules_kernel.h`` has ``opener``, as
    ``module:function``: what opens a built kernel (`ckrules.device.execute.Opener`). One whose
    kernels another command builds than ``ckrules build`` has ``build_command``, which names it, and
    ``builder``, as ``module:NAME``: the `Builder` with which a search that measures builds them.
    """

    @property
    def templates(self) -> tuple[Path, ...]:
        """The folders of its templates, searched in this order and before that of all families."""

    @property
    def quantities(self) -> Sequence[str]:
        """The derived quantities of the rule book that models are made with."""

    @property
    def headers(self) -> tuple[str, ...]:
        """What the units of a kernel include beside ``runtime``, with ``{name}`` for its name."""

    @property
    def runtime(self) -> tuple[str, ...]:
        """What its host units include from the folder ``runtime`` that others do not."""

    @property
    def library(self) -> str:
        """What its kernels are called together: families of one library share what covers them."""

    def kernel(self, point: Point, name: str, ck: str, quantities: Mapping[str, Any]) -> Any:
        """The model that templates see as ``k``; raises `UsageError` if there are none.

        Args:
            quantities: The value of each of `quantities`; None where the rules cannot say.
        """

    def files(self, kernel: Any) -> Iterable[tuple[str, str]]:
        """Path and template of every file of a kernel.

        Builds compile NAME.cpp, NAME.device.cpp and NAME.host.cpp.
        """

    def covers(self, kernels: Sequence[Any]) -> Iterable[tuple[str, str, Mapping[str, Any]]]:
        """Path, template and values of the files that cover a folder's kernels of the library."""

    def probe(self, ck: str) -> str | None:
        """The template of a unit that asks the compiler about a point; None: there is none."""

    def probe_values(self, point: Point) -> Mapping[str, Any]:
        """What that template takes; every field is read with ``get``, so that it is known which."""


@dataclass(frozen=True, slots=True)
class LibraryKernel:
    """What the dispatcher library of C (`ckrules build --library`) knows of a kernel.

    Its problems are of the C structure that `Problems.members` names.
    """

    computes: Sequence[str]
    """Fields in which kernels for the same sizes may compute different things."""
    shape: tuple[int, ...]
    """M, N and K of block tile, warp tile and waves."""
    sizes: tuple[int, int, int]
    """Bytes of an element of A, B and C; 0: there is no such number."""
    identifier: str
    """Upstream's word for its shape, as its registries have it."""
    algorithm: Mapping[str, Any]
    """What these registries say of it beside."""
    upstream: int = 0
    """Which of upstream's calls run it: 1 products, 2 convolutions, 0 none."""
    unnamed: Sequence[str] = ()
    """Fields that these calls do not name: they cannot choose between kernels that differ there."""
    ndim: int = 0
    """Dimensions of its convolutions."""
    merged: int = 1
    """Groups that it computes as one."""
    shuffled: bool = False
    """Whether N and K are in the way in which its weights lie, so that they cannot be padded."""
    eights: str = ""
    """Those of M, N and K along which int4 operands lie in eights, which padding has to keep."""


class Library(Protocol):
    """The family's kernels in the dispatcher library of C."""

    header: str
    """The file of `Generation.runtime` with the C structure of its problems."""

    def kernel(self, config: Point) -> LibraryKernel:
        """What the library knows of a kernel."""


Tiling = tuple[tuple[int, int, int], tuple[int, int]]
"""Waves along M, N and K, and the M and N of a warp tile."""


class CatalogWalk(Protocol):
    """What tables of a catalog mean beside the fields that they name.

    Tables of tiles are for families that have the fields of block tile, waves and warp tile.
    """

    @property
    def free(self) -> Sequence[str]:
        """Fields that a catalog need not mention: every value is meant."""

    def facts(self, words: Any) -> Mapping[str, BoolExpr]:
        """Conditions that expressions of a catalog may use by name."""

    def checks(self, *, tagged: bool) -> list[RuleDef]:
        """The rules of catalogs with ``check = true``; ``tagged`` is their ``dtype_tag``."""

    def tilings(self, gpu: Gpu, dtype: str) -> list[Tiling]:
        """Waves and warp tiles where a tile has no curated ones, in order."""
