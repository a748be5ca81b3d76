"""Which configurations are certified: those of a user's files, or drawn ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ckrules import arch as gpu_facts
from ckrules.arch import Gpu
from ckrules.certify.draws import draw, shares
from ckrules.certify.probe import exists, fields
from ckrules.certify.recording import points_id
from ckrules.certify.sampling import Sampler, mixed
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.books import Books
from ckrules.kernels.families import family_of
from ckrules.kernels.parts import Point
from ckrules.readers import Context, UnreadableText, read_input
from ckrules.support.errors import UsageError, unknown


@dataclass(frozen=True)
class CertifyChoice:
    """Configurations of one family for one GPU.

    Args:
        variants: Those that are asked for; empty: all of the family.
        family: The name of the family, where no variant says it.
        points: Configurations of the user's; empty: they are drawn.
        where: Conditions of drawn configurations.
        seed: The same seed draws the same ones.
        seen: Legal configurations that were run before: drawn ones have other pairs of features.
        alone: Draw for the front end only what breaks one rule.
    """

    books: Books
    gpu: Gpu
    variants: tuple[str, ...] = ()
    family: str | None = None
    points: tuple[dict[str, Any], ...] = ()
    where: tuple[str, ...] = ()
    count: int = 100
    seed: int = 0
    seen: tuple[Point, ...] = ()
    alone: bool = False

    @cached_property
    def every_variant(self) -> tuple[str, ...]:
        """The variants to draw from, or those of the user's configurations.

        Raises:
            UnknownNameError: For a variant that the compiler cannot be asked about.
            UsageError: For variants of two families.
        """
        if self.points:
            return tuple(dict.fromkeys(str(point["variant"]) for point in self.points))
        known = variants(self.books)
        for variant in self.variants:
            if variant not in known:
                raise unknown("variant that can be certified", variant, known)
        name = self.family or family_of((self.variants or known)[0]).name
        for variant in self.variants:
            if family_of(variant).name != name:
                raise UsageError(
                    f"{variant} is not a variant of the family {name}: certify one at a time"
                )
        return self.variants or self._with_kernels(v for v in known if family_of(v).name == name)

    def _with_kernels(self, names: Iterable[str]) -> tuple[str, ...]:
        """The variants that have a kernel on the GPU in these headers that meets the conditions;
        all, where none has."""
        every = tuple(names)
        spaces = {v: self.books.of(v).space(variant=v, arch=self.gpu.name) for v in every}
        some = (v for v in every if next(iter(spaces[v].where(*self.where)), None) is not None)
        return tuple(some) or every

    @property
    def family_name(self) -> str:
        """The name of the family that the variants are of."""
        return family_of(self.every_variant[0]).name

    @property
    def book(self) -> RuleBook:
        """The rules of the family."""
        return self.books.of(self.every_variant[0])

    @property
    def asked(self) -> str:
        """What was asked for, in the words of the command line."""
        if self.points:
            return f"{len(self.points)} configurations {points_id(self.points)}"
        words = [f"-n {self.count} --seed {self.seed}"]
        words += ["--alone"] if self.alone else []
        words += [f"--variant {','.join(self.variants)}"] if self.variants else []
        words += [f"--seen {len(self.seen)} kernels {points_id(self.seen)}"] if self.seen else []
        return " ".join([*words, *(f"--where '{text}'" for text in self.where)])

    def around_rules(self) -> list[dict[str, Any]]:
        """Configurations for the front end: uniform ones and ones around each rule's boundary.

        Raises:
            UsageError: If nothing can be drawn.
        """
        if self.points:
            return list(self.points)
        book = self.book
        judged = fields(book.example({}))
        points: list[dict[str, Any]] = []
        for fixed, share in shares(self.every_variant, self.gpu.name, self.count):
            sampler = Sampler(book, fixed, self.seed, self.where, judged)
            points += sampler.single(share) if self.alone else mixed(sampler, share)
        if not points:
            raise UsageError("no configuration to draw that breaks a single rule")
        return points

    def beyond_rules(self) -> list[dict[str, Any]]:
        """Configurations for the back end: a third legal, the others beyond one rule each."""
        if self.points:
            return list(self.points)
        kinds, points = ("hardware", "launch"), list[dict[str, Any]]()
        for fixed, share in shares(self.every_variant, self.gpu.name, self.count):
            points += draw(self.book, fixed, share, self.seed, self.where, 2 / 3, kinds).points
        return points


def variants(books: Books) -> tuple[str, ...]:
    """The variants that the compiler can be asked about."""
    return tuple(v for v in books.variants if exists(v))


def families(books: Books) -> list[str]:
    """The names of the families that the compiler can be asked about."""
    return list(dict.fromkeys(family_of(v).name for v in variants(books)))


def gpu_of(books: Books, word: str) -> Gpu:
    """The GPU of a word.

    Raises:
        UnknownNameError: For an unknown GPU, with near matches.
        UsageError: For one that the headers do not know.
    """
    gpu = gpu_facts.load(books.plain_arch(word), extra=books.arch_files)
    if lacking := gpu.lacking(books.ck):
        raise UsageError(lacking)
    return gpu


def points_of(inputs: Iterable[str], books: Books, arch: str) -> tuple[dict[str, Any], ...]:
    """The configurations that arguments name, for one GPU; none without arguments.

    Raises:
        UsageError: For what cannot be read, files without any, and kernels of two families.
    """
    points: list[dict[str, Any]] = []
    words: Sequence[str] = tuple(inputs)
    for word in words:
        for item in read_input(word, Context(books, arch)):
            if isinstance(item, UnreadableText):
                place, text = item.lines()[0]
                raise UsageError(f"{place}: {text}")
            points.append({**item.config.point, "arch": arch})
    if words and not points:
        raise UsageError("no configurations found")
    names = {family_of(str(point["variant"])).name for point in points}
    if len(names) > 1:
        raise UsageError(f"kernels of {' and '.join(sorted(names))}: certify one family at a time")
    return tuple(points)
