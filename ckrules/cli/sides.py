"""Sides of a comparison as words: a GPU, CK version, profile, catalog, or a user's rule book."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ckrules.arch import CK_VERSIONS
from ckrules.cli.request import Request
from ckrules.cli.terminal import note
from ckrules.engine.rules.region import Region
from ckrules.kernels import library
from ckrules.kernels.books import Books
from ckrules.support.errors import UsageError, unknown
from ckrules.support.tables import count

if TYPE_CHECKING:
    from ckrules.engine.rules.book import RuleBook


def side_of(word: str, request: Request) -> Region:
    """The side that a word means, within the part of the space that the options select.

    Raises:
        UnknownNameError: For a word that is none of these, with near matches.
        UsageError: For a file that cannot be read or has no rule book.
    """
    if ".py:" in word:
        return replace(request.region_of(load_book(word)), title=word)
    parts = _parts(word, request)
    for name in parts:
        if option := request.said(name):
            raise UsageError(f"{option} and the side {word} both say the {name}")
    base, ck = request.rules, parts.pop("ck", None)
    books = Books(
        ck=ck or base.ck,
        profile=parts.pop("profile", base.profile),
        arch_files=base.arch_files,
    )
    books.ck_asked = ck is not None or base.ck_asked
    catalog, stage = parts.pop("catalog", None), parts.pop("stage", None)
    given = {k: (v,) for k, v in parts.items()}
    side = request.changed(books=books, given=given, catalog=catalog, stage=stage)
    listing = side.listing
    if listing is not None and listing.guests:
        guests = count(listing.guests, "kernel")
        note(f"note: {listing.catalog.name} lists {guests} of other families, not compared here")
    return replace(side.region, title=word)


def _parts(word: str, request: Request) -> dict[str, str]:
    out: dict[str, str] = {}
    for piece in word.split(","):
        key, sign, value = piece.strip().partition("=")
        if not (sign and key and value):
            key, value = _kind(piece.strip(), request), piece.strip()
        if key in out:
            raise UsageError(f"{key} is given twice in the side {word}")
        out[key] = value
    return out


def _kind(word: str, request: Request) -> str:
    from ckrules.constraints import catalogs
    from ckrules.readers import formats
    from ckrules.readers.space_file import is_space

    books = request.rules
    kinds: Mapping[str, Sequence[str]] = {
        **({"stage": tuple(catalogs.STAGES)} if request.by_catalog else {}),
        "ck": CK_VERSIONS,
        "profile": tuple(library.profiles()),
        "arch": books.archs,
        "variant": books.variants,
        "catalog": catalogs.names(),
    }
    for kind, known in kinds.items():
        if word in known or (kind == "arch" and word.split(":")[0] in known):
            return kind
    suffix = os.path.splitext(word)[1].lower()
    read = {s for f in formats().values() for s in f.SUFFIXES}
    if os.path.isfile(word) and is_space(word):
        raise UsageError(
            f"{word}: a file that describes a space cannot be a side of diff: ckrules count or "
            "enumerate of each shows what it holds"
        )
    if os.sep in word or os.path.isfile(word) or suffix in read:
        return "catalog"
    raise unknown("side", word, [w for known in kinds.values() for w in known])


def load_book(word: str) -> RuleBook:
    """The rule book ``path.py:name`` of a user; the file is executed.

    Raises:
        UsageError: If the file cannot be read or run, or has no rule book of this name.
    """
    from ckrules.engine.rules.book import RuleBook
    from ckrules.support.errors import CkrulesError

    path, _, name = word.rpartition(":")
    if not os.path.isfile(path):
        raise UsageError(f"{path}: no such file")
    spec = importlib.util.spec_from_file_location("ckrules_user_book", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        found = getattr(module, name, None)
        if callable(found) and not isinstance(found, RuleBook):
            found = found()
    except CkrulesError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"{path}: {type(error).__name__}: {error}") from None
    if not isinstance(found, RuleBook):
        raise UsageError(f"{path}: {name} is not a ckrules.RuleBook")
    return found
