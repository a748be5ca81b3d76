"""What the options of a space command select: one object, of which no part can be left out."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ckrules.engine.rules.region import Region
from ckrules.kernels import library
from ckrules.kernels.books import Books
from ckrules.kernels.selection import accepted, conditions, select_spelled, variants_of
from ckrules.support.errors import UsageError

if TYPE_CHECKING:
    from ckrules.constraints.catalogs.listing import CatalogListing

#: The fields that have options of their own; a family may lack some, ``--set`` reaches all others.
LISTED = ("variant", "arch", "dtype", "ndim", "layout")


@dataclass(frozen=True)
class Request:
    """What the options of a space command ask for.

    The options themselves cannot be read: a command takes the `region` or the `listing`, in which
    all of them count, splits the request (`each`), or says which few it understands (`only`), and
    every other one is refused.
    """

    _books: Books
    _given: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _where: tuple[str, ...] = ()
    _catalog: str = ""
    _stage: str = ""
    _family: str | None = None
    _distinct: bool = False
    _file: str = ""

    # -- what is selected ------------------------------------------------------------------

    @property
    def rules(self) -> Books:
        """The rules that options ask for, whatever a catalog's kernels say."""
        return self._books

    @functools.cached_property
    def books(self) -> Books:
        """The rules: of a catalog those of its kernels' CK version."""
        return self._books if self.listing is None else self._books.at(self.listing.catalog.ck)

    @functools.cached_property
    def region(self) -> Region:
        """The selected part of the space; of a catalog only what it has at the stage."""
        if self._file:
            return self._described()
        if self.listing is not None:
            if self._distinct:
                raise UsageError("--distinct with --catalog is for what lists kernels")
            return self.listing.region
        if self.books.ck_asked and (other := self.family.headers):
            raise UsageError(
                f"--ck is a release of CK, and these kernels are of {other}: leave it out"
            )
        found = select_spelled(self.books, self._given, self._where, self._family)
        return found.distinct() if self._distinct else found

    def _described(self) -> Region:
        from ckrules.engine.lang.where import warn_of_strangers
        from ckrules.engine.restrictions import book_of
        from ckrules.readers.space_file import read_space

        book = book_of(read_space(self._file))
        held = conditions(book, self._where)
        warn_of_strangers(held, {})
        return Region(book, {}, held, self.title())

    @functools.cached_property
    def listing(self) -> CatalogListing | None:
        """What the catalog lists of the selected part, in its order; None without a catalog."""
        if not self._catalog:
            return None
        from ckrules.constraints.catalogs.listing import CatalogListing
        from ckrules.readers.catalogs import load_catalog

        given = dict(self._given)
        if variants := variants_of(given.get("variant", ()), self._family):
            given["variant"] = tuple(variants)
        catalog = load_catalog(self._catalog, self._books, given.get("arch"))
        books = self._books.at(catalog.ck)
        return CatalogListing(
            catalog, books, given, self._where, self._at_stage(), distinct=self._distinct
        )

    def _at_stage(self) -> str:
        from ckrules.constraints.catalogs.stages import PROFILES

        profile = self._books.profile
        if profile == "legal":
            return self._stage or "listed"
        stage = next((s for s, p in PROFILES.items() if p == profile), None)
        if stage is None:
            raise UsageError(f"--catalog takes --stage instead of --profile {profile}")
        if self._stage not in ("", stage):
            raise UsageError(f"--profile {profile} is --stage {stage}, not {self._stage}")
        return stage

    @property
    def by_file(self) -> bool:
        """Whether a file describes the space, and nothing is known of kernels in it."""
        return bool(self._file)

    @property
    def variant(self) -> str | None:
        """The first variant of the space's kernels; None where a file describes the space."""
        return None if self._file else str(self.region.space.domains["variant"][0])

    @property
    def whole(self) -> bool:
        """Whether no option restricts the space."""
        asked = self._given or self._where or self._catalog or self._family or self._distinct
        return not (asked or self._file)

    @property
    def by_catalog(self) -> bool:
        """Whether a catalog is selected."""
        return bool(self._catalog)

    # -- other requests --------------------------------------------------------------------

    def each(self, name: str) -> dict[str, Request]:
        """One request for each value that is asked of a field, in the order of the options."""
        family = self.family
        book = self.books.of(family.variants[0])
        words = self._given.get(name, ())
        values = dict.fromkeys(str(accepted(self.books, family, book, name, w)) for w in words)
        return {v: self.changed(given={name: (v,)}) for v in values}

    @property
    def family(self) -> Any:
        """The family whose kernels are asked for; the first where nothing says another."""
        from ckrules.kernels.families import family_of, named

        if self._family is not None:
            return named(self._family)
        return family_of(next(iter(self._given.get("variant", ())), None))

    def changed(
        self,
        *,
        books: Books | None = None,
        given: Mapping[str, tuple[str, ...]] | None = None,
        catalog: str | None = None,
        stage: str | None = None,
    ) -> Request:
        """The request with other rules, values of fields, catalog or stage."""
        return replace(
            self,
            _books=books or self._books,
            _given={**self._given, **(given or {})},
            _catalog=self._catalog if catalog is None else catalog,
            _stage=self._stage if stage is None else stage,
        )

    def scope(self) -> dict[str, str]:
        """Which kernels are meant, apart from their fields: what `within` may change.

        Nothing of catalogs, files and GPUs of one's own, which have kernels of their own.
        """
        if self._file or self._catalog or self._distinct or self.books.arch_files:
            return {}
        fixed = self.region.fixed
        found = {n: str(fixed[n][0]) for n in ("variant", "arch", "dtype")
                 if len(fixed.get(n, ())) == 1}  # fmt: skip
        whole = {} if "variant" in found else {"family": self.family.name}
        return {**whole, **found, "ck": self.books.ck}

    def within(self, scope: Mapping[str, str]) -> Request:
        """The request for the kernels of another scope."""
        books = self.books
        if scope["ck"] != books.ck:
            books = Books(scope["ck"], books.profile)
        given = {n: (scope[n],) for n in ("variant", "arch", "dtype") if n in scope}
        return replace(self.changed(books=books, given=given), _family=scope.get("family"))

    def of_file(self, file: str) -> Request:
        """The request for the space that a file describes, with the conditions of this one.

        Raises:
            UsageError: For any other option.
        """
        self.only(where=True, beside="a file that describes a space")
        if option := self.said("ck") or self.said("profile"):
            raise UsageError(f"{option} does not go with a file that describes a space")
        return replace(self, _file=file)

    def without_one(self) -> Iterator[tuple[str, Request]]:
        """Each option that holds a field or is a condition, and the request without it."""
        for name, words in self._given.items():
            left = {k: v for k, v in self._given.items() if k != name}
            option = f"--{name} " if name in LISTED else f"--set {name}="
            yield option + ",".join(words), replace(self, _given=left)
        for i, text in enumerate(self._where):
            rest = (*self._where[:i], *self._where[i + 1 :])
            yield f'--where "{text}"', replace(self, _where=rest)

    def distinct(self) -> Request:
        """The request for one configuration of each set that makes the same code.

        Raises:
            UsageError: For rules under which the one that stays need not be legal.
        """
        profile = self._books.profile
        if "legal" not in (profile, library.WIDER.get(profile)):
            raise UsageError(f"--distinct goes with the profiles legal and fast, not {profile}")
        return replace(self, _distinct=True)

    def listed_count(self) -> int:
        """How many kernels the catalog lists, before any stage."""
        return len(self.listing.listed) if self.listing is not None else 0

    def said(self, name: str) -> str:
        """The option that says a field, the catalog, its stage or the rules; "" if none does."""
        if name in self._given:
            return f"--{name}" if name in LISTED else f"--set {name}"
        usual = Books()
        asked = {
            "catalog": bool(self._catalog),
            "stage": bool(self._stage),
            "ck": self._books.ck_asked and self._books.ck != usual.ck,
            "profile": self._books.profile != usual.profile,
        }
        return f"--{name}" if asked.get(name) else ""

    def wheres(self) -> dict[str, tuple[str, ...]]:
        """The conditions by their option; nothing where there are none."""
        return {"--where": tuple(self._where)} if self._where else {}

    def only(self, *names: str, beside: str, where: bool = False) -> dict[str, tuple[str, ...]]:
        """The values that the options ask of these fields, where only these have a meaning.

        With ``where`` conditions have one, too.

        Raises:
            UsageError: For any other option, which does not go with ``beside``.
        """
        options = [self.said(k) for k in (*self._given, "catalog") if k not in names]
        options += [
            "--where" if self._where and not where else "",
            "--family" if self._family else "",
        ]
        options += ["--distinct" if self._distinct else ""]
        options = [o for o in options if o]
        if options:
            raise UsageError(f"{options[0]} does not go with {beside}")
        return {k: self._given[k] for k in names if k in self._given}

    def region_of(self, book: Any) -> Region:
        """The part of another rule book's space, such as a user's own.

        Raises:
            UsageError: With a catalog, which has points of its own.
        """
        from ckrules.kernels.selection import select_of

        if self._catalog or self._family:
            option = "--catalog" if self._catalog else "--family"
            raise UsageError(f"{option} does not go with a rule book of your own")
        return select_of(book, self._given, self._where)

    # -- in words --------------------------------------------------------------------------

    def title(self) -> str:
        """The part in words, for summaries: ``bwd_weight on gfx1201, fp16``."""
        if self._file:
            return ", ".join([os.path.basename(self._file), *self._where])
        words = {k: "|".join(v) for k, v in self._given.items()}
        text = words.pop("variant", self._family or "all directions")
        if "arch" in words:
            text += f" on {words.pop('arch')}"
        rest = [v if k == "dtype" else f"{k} {v}" for k, v in words.items()]
        distinct = ["one of each code"] if self._distinct else []
        return ", ".join([text, *rest, *self._where, *distinct])

    def command_line(self) -> dict[str, tuple[str, ...]]:
        """The options that ask for the same, each with its values; flags have none."""
        asked: dict[str, tuple[str, ...]] = {
            (f"--{k}" if k in LISTED else f"--set {k}"): (",".join(words),)
            for k, words in self._given.items()
        }
        books = self._books
        asked |= {
            "--family": (self._family,) if self._family else (),
            "--catalog": (self._catalog,) if self._catalog else (),
            "--stage": (self._stage,) if self._stage else (),
            "--ck": (books.ck,) if books.ck_asked or books.ck != library.DEFAULT_CK else (),
            "--profile": (books.profile,) if books.profile != "legal" else (),
            "--arch-file": tuple(map(str, books.arch_files)),
            "--where": self._where,
        }
        asked = {"FILE": (self._file,), **self.wheres()} if self._file else asked
        found = {option: values for option, values in asked.items() if values}
        return {**found, "--distinct": ()} if self._distinct else found

    def to_dict(self, ck: str = "") -> dict[str, Any]:
        """The request by option; one value stands alone, several are a list.

        Args:
            ck: The CK version, where it is known without reading the catalog.
        """
        if self._file:
            return {"where": list(self._where)} if self._where else {}
        out: dict[str, Any] = {"ck": ck or self.books.ck}
        if self._catalog:
            values: Mapping[str, Sequence[Any]] = self._given
            out |= {"catalog": self._catalog, "stage": self._at_stage()}
        else:
            values = self.region.fixed
            out["profile"] = self.books.profile
        out |= {k: v[0] if len(v) == 1 else list(v) for k, v in values.items()}
        if self._where:
            out["where"] = list(self._where)
        return {**out, "distinct": True} if self._distinct else out
