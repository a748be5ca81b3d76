"""The rule books of one CK version, profile and set of GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ckrules import arch as gpu_facts
from ckrules.kernels import library
from ckrules.kernels.families import families, family_of, targets, variants
from ckrules.kernels.schema import Schema
from ckrules.support.errors import UsageError, unknown

if TYPE_CHECKING:
    from ckrules.arch import Gpu, TargetGpu
    from ckrules.engine.rules.book import RuleBook
    from ckrules.kernels.family import Family
    from ckrules.kernels.trees import CkTree


class Books:
    """The rule books of one CK version, profile and set of GPUs, each built when it is needed.

    Args:
        ck: The CK headers, ``2026.09`` where none are named.
        profile: The rule set, ``legal`` where none is named.
        arch_files: GPU files, or folders of them, that add to the package's own.
        tree: The tree that kernels are compiled against, whose version counts where none is named.

    Raises:
        UnknownNameError: For an unknown version or profile, with near matches.

    >>> Books().of("bwd_weight").name
    'grouped_conv'
    """

    def __init__(
        self,
        ck: str | None = None,
        profile: str | None = None,
        arch_files: Sequence[Path] = (),
        tree: CkTree | None = None,
    ) -> None:
        #: Whether the version was named, and is not only the default.
        self.ck_asked = ck is not None
        ck = ck or (library.DEFAULT_CK if tree is None else tree.ck)
        profile = profile or "legal"
        if ck not in gpu_facts.CK_VERSIONS:
            raise unknown("CK version", ck, gpu_facts.CK_VERSIONS)
        if not isinstance(profile, str) or profile not in library.profiles():
            raise unknown("profile", profile, library.profiles())
        self.ck, self.profile, self.arch_files = ck, profile, tuple(arch_files)
        #: The tree that is asked about, if the version is its own.
        self.tree = tree if tree is not None and tree.ck == ck else None
        self.variants: tuple[str, ...] = variants()
        self._books: dict[str, RuleBook] = {}
        self._schemas: dict[str, Schema] = {}
        self._others: dict[str, Books] = {}

    @property
    def headers(self) -> str:
        """What evidence about these headers is kept under: the version, or the name of a tree."""
        return self.ck if self.tree is None else self.tree.name

    @cached_property
    def archs(self) -> tuple[str, ...]:
        """The GPUs that points may name."""
        return gpu_facts.known(self.arch_files)

    @cached_property
    def gpus(self) -> tuple[Gpu, ...]:
        """The facts of these GPUs."""
        return gpu_facts.load_all(self.arch_files)

    def plain_arch(self, name: str) -> str:
        """The name of a known GPU without target features; a product means the GPU in it.

        Raises:
            UnknownNameError: With near matches.
            UsageError: For a product with several GPUs.

        >>> Books().plain_arch("gfx942:xnack-"), Books().plain_arch("MI300X")
        ('gfx942', 'gfx942')
        """
        base = gpu_facts.normalize(name)
        outside = targets()
        if base in self.archs or base in outside:
            return base
        sold = [t.name for t in outside.values() if base in map(str.lower, t.products)]
        found = (*gpu_facts.sold_as(base, self.arch_files), *sold)
        if len(found) > 1:
            raise UsageError(f"arch {name!r} is in products with {' and '.join(found)}: name one")
        if not found:
            products = {p.split()[-1].lower(): p.split()[-1] for g in self.gpus for p in g.products}
            raise unknown("arch", base, [*self.archs, *outside, *products])
        return found[0]

    def gpu(self, name: str) -> Gpu | TargetGpu:
        """The facts of a GPU by its plain name, whether a family brings it or not.

        Raises:
            UnknownNameError: With near matches.
        """
        return targets().get(name) or gpu_facts.load(name, extra=self.arch_files)

    def at(self, ck: str) -> Books:
        """The books of another CK version, otherwise the same; these for ``""``."""
        if ck in ("", self.ck):
            return self
        if ck not in self._others:
            self._others[ck] = Books(ck, self.profile, self.arch_files)
        return self._others[ck]

    @property
    def families(self) -> list[Family]:
        """The families that this CK version has, with rules of the profile."""
        return [f for f in families().values() if library.available(f, self.ck, self.profile)]

    def of(self, variant: str | None = None) -> RuleBook:
        """The book of a variant's family; that of the first family for None."""
        family = family_of(variant)
        if family.name not in self._books:
            self._books[family.name] = library.book(
                family.variants[0], ck=self.ck, profile=self.profile, gpus=self.gpus
            )
        return self._books[family.name]

    def advised(self, variant: str) -> RuleBook:
        """The book of a variant's family with the warnings that `ckrules check` gives beside it."""
        profile = library.ADVISED.get(self.profile, self.profile)
        return library.book(
            family_of(variant).variants[0], ck=self.ck, profile=profile, gpus=self.gpus
        )

    def every(self) -> list[RuleBook]:
        """The book of each of these families."""
        return [self.of(family.variants[0]) for family in self.families]

    def problems(self) -> list[RuleBook]:
        """The books of problem applicability, one a family."""
        from ckrules.kernels import problem_books

        profiles = (self.profile, library.WIDER.get(self.profile))
        return problem_books.books(self.ck) if "legal" in profiles else []

    def schema(self, variant: str) -> Schema:
        """The fields and defaults of a variant's configurations."""
        if variant not in self._schemas:
            follows = family_of(variant).follows
            self._schemas[variant] = Schema(self.of(variant), library.defaults(variant), follows)
        return self._schemas[variant]
