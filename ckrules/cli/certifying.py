"""What the three commands ``ckrules certify`` share: which configurations, compiler and files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckrules.cli.answers import Writer, answer_options
from ckrules.cli.once import option
from ckrules.cli.options import OneOf, Seconds, Words, arch_file_option, books_of, gathered
from ckrules.cli.terminal import note
from ckrules.kernels import evidence
from ckrules.kernels.books import Books
from ckrules.support import folders

if TYPE_CHECKING:
    from ckrules.certify.choice import CertifyChoice
    from ckrules.compiling.toolchain import Toolchain
    from ckrules.kernels.evidence import CertifyRun


@dataclass(frozen=True)
class CertifySetup:
    """The configurations, and what they are checked against.

    Args:
        compiler: The name of a compiler; None: the first that knows the GPU.
        include: An include folder of CK; None: that of the toolchain.
        timeout: Seconds for a configuration.
        record: The file of evidence that counts are added to.
        store: Where verdicts are kept; None: in the user's cache.
    """

    choice: CertifyChoice
    compiler: str | None
    include: str | None
    timeout: float
    write: Writer
    record: str | None
    store: str | None

    def toolchain(self) -> Toolchain:
        """The compiler and the headers.

        Raises:
            MissingToolError: If one of them is not there.
        """
        from ckrules.compiling.toolchain import require, with_headers

        arch = self.choice.gpu.name
        if self.include:
            return with_headers(self.include, self.compiler, arch)
        return require(self.choice.books.ck, self.compiler, arch=arch)

    def headers(self) -> Path | None:
        """The include folder that kernels are built with; None: that of the toolchain."""
        return Path(self.include).resolve() if self.include else None

    def kept_in(self, name: str) -> Path:
        """The database of what is known already, by its usual name in the cache."""
        return Path(self.store) if self.store else folders.cache() / name

    def keep(self, run: CertifyRun) -> None:
        """Adds the counts to the file of evidence; those of a given tree to one of the user's."""
        from ckrules.certify import recording
        from ckrules.kernels import evidence
        from ckrules.kernels.trees import read_tree

        if self.include:
            tree, family = read_tree(Path(self.include)), self.choice.family_name
            run = replace(run, tree=tree.name, family=family)
        if self.record is not None:
            recording.add(Path(self.record), run)
        elif self.include and (run.rules or run.agreed or run.differed):
            place = evidence.own_place(run.tree)
            recording.add(place, run)
            note(f"evidence of this tree: {place}")


def _variants() -> tuple[str, ...]:
    from ckrules.certify.choice import variants

    return variants(Books())


def _families() -> list[str]:
    from ckrules.certify.choice import families

    return families(Books())


def _setup(
    inputs: tuple[str, ...],
    arch: str,
    ck: str | None,
    arch_files: tuple[str, ...],
    family: str | None,
    variant: tuple[str, ...] | None,
    where: tuple[str, ...],
    count: int,
    seed: int,
    timeout: float,
    compiler: str | None,
    ck_include: str | None,
    record: str | None,
    store: str | None,
    write: Writer,
) -> CertifySetup:
    from ckrules.certify.choice import CertifyChoice, gpu_of, points_of

    if record is not None:
        evidence.read(Path(record))  # before hours are spent on what could not be added to it
    extra = [Path(p) for p in arch_files]
    books = books_of(ck, None, extra, ck_include)
    if ck is None and books.tree is None:
        books = Books("2025.11", None, extra)  # that of the toolchain
    if books.tree is not None:
        ck_include = str(books.tree.include)
    gpu = gpu_of(books, arch)
    points = points_of(inputs, books, gpu.name)
    choice = CertifyChoice(books, gpu, variant or (), family, points, where, count, seed)
    return CertifySetup(choice, compiler, ck_include, timeout, write, record, store)


#: What is certified and how, given to the command as one `CertifySetup`.
certify_options = gathered(
    "setup",
    _setup,
    click.argument("inputs", nargs=-1),
    option("--arch", required=True, metavar="GPU", help="The GPU to compile for."),
    option("--ck", metavar="VERSION", help="CK headers. [those of --ck-include, else 2025.11]"),
    arch_file_option,
    option(
        "--family",
        type=OneOf(_families, "family that can be certified"),
        metavar="NAME",
        help="Kind of kernel, where no variant says it [conv].",
    ),
    option("--variant", type=Words(_variants), help="Variants of one family. [all of the family]"),
    option(
        "--where", multiple=True, metavar="EXPR", help="Draw only where this holds. Repeatable."
    ),
    option(
        "-n",
        "--limit",
        "count",
        default=100,
        type=click.IntRange(1, 100_000),
        help="Maximum number of configurations [100].",
    ),
    option("--seed", default=0, help="The same seed draws the same configurations. [0]"),
    option("--timeout", default=600.0, type=Seconds(), help="Per configuration. [600]"),
    option("--compiler", metavar="NAME", help="A compiler by name. [first that knows the GPU]"),
    option(
        "--ck-include",
        metavar="DIR",
        help="A CK include folder. [CKRULES_CK_INCLUDE, settings, else make toolchain's]",
    ),
    option(
        "--record",
        metavar="FILE",
        help="Add the counts to a file of evidence. [of a given tree: one in the user's data]",
    ),
    option("--store", metavar="FILE", help="Where verdicts are kept. [in the user's cache]"),
    answer_options,
)

#: How many compilers or kernels run at once.
jobs_option = option(
    "--jobs", "-j", default=2, type=click.IntRange(1, 256), help="Compilers at once. [2]"
)
