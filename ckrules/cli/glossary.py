"""Every word that outputs use, with its page: codes, fields, quantities, values, GPUs, catalogs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property, partial
from typing import NamedTuple

from ckrules.arch import CK_VERSIONS
from ckrules.checking.findings import FINDINGS
from ckrules.engine.expr import ENUM, Value
from ckrules.engine.expr.variables import domain_of
from ckrules.engine.rules import KINDS, Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels import library
from ckrules.kernels.books import Books
from ckrules.kernels.families import declared, families
from ckrules.kernels.family import Family, plain_word
from ckrules.output.gpus import gpu_page
from ckrules.output.rule_page import field_page, rule_page, value_page
from ckrules.reasoning import codes as lint
from ckrules.support.errors import unknown


class Word(NamedTuple):
    """A word with a line on it and what makes its page."""

    line: str
    page: Callable[[], str]


Words = Mapping[str, Word]


class Glossary:
    r"""The words of the rule books of one CK version and profile, section by section.

    Args:
        books: The rule books; rules of other versions and profiles are found, too.

    >>> from ckrules.kernels.books import Books
    >>> words = Glossary(Books())
    >>> words.page("MI300X").split("\n")[0], words.page("CFG004").split("\n")[0]
    ('# gfx942: CDNA3', '# CFG004: ignored-key')
    """

    def __init__(self, books: Books) -> None:
        self._books = books
        sections: dict[str, Callable[[], Words]] = {
            "fields": partial(self._named, derived=False),
            "quantities": partial(self._named, derived=True),
            "codes": self._codes,
            "values": self._values,
            "gpus": self._gpus,
            "topics": self._topics,
            "kinds": self._kinds,
            "profiles": self._profiles,
            "catalogs": self._catalogs,
        }
        #: What makes the words of each section, once.
        self.sections: Mapping[str, Callable[[], Words]] = {
            n: cache(m) for n, m in sections.items()
        }

    def page(self, what: str) -> str:
        """The page about a word; case, ``-`` and ``_`` do not matter.

        Raises:
            UnknownNameError: With near matches among everything that has a page.
        """
        return self.find(what)[2].page()

    def find(self, what: str) -> tuple[str, str, Word]:
        """The section of a word, its name there and the word itself.

        Raises:
            UnknownNameError: As `page`.
        """
        key = plain_word(what)
        known: dict[str, None] = {}
        more = [("codes", self._rule_names), ("values", self._synonyms)]
        if key.startswith("cat"):
            more.append(("codes", self._catalog_codes))
        for section, make in (*self.sections.items(), *more):
            words = make()
            found = next((w for w in words if plain_word(w) == key), None)
            if found is not None:
                return section, found, words[found]
            known.update(dict.fromkeys(words))
        raise unknown("word", what, known)

    def words(self) -> list[str]:
        """Every word that a section has."""
        return [name for make in self.sections.values() for name in make()]

    def lines(self, section: str) -> dict[str, str]:
        """The words of a section with a line on each.

        Raises:
            UnknownNameError: For a section that does not exist, with near matches.
        """
        if section not in self.sections:
            raise unknown("list", section, self.sections)
        return {name: word.line for name, word in self.sections[section]().items()}

    # -- rules and findings ------------------------------------------------------------------

    @cached_property
    def _rules(self) -> dict[str, tuple[Family, Rule]]:
        found: dict[str, tuple[Family, Rule]] = {}
        for family in families().values():
            found.update({d.code: (family, d.template) for d in declared(family)})
        return dict(sorted(found.items()))

    def _rule_page(self, code: str) -> str:
        """The page of a rule, from the books that were asked for or others that hold it."""
        for books in self._holders(*self._rules[code]):
            for book in (*books.every(), *books.problems()):
                if any(r.code == code for r in book.rules):
                    return rule_page(book, book[code])
        raise unknown("rule", code, self._rules)

    def _holders(self, family: Family, template: Rule) -> Iterator[Books]:
        """The books that were asked for, then others that may hold a rule."""
        own = self._books
        yield own
        for ck in (own.ck, *(v for v in reversed(CK_VERSIONS) if v != own.ck)):
            if template.valid_for(ck) and library.available(family, ck):
                yield from (Books(ck, p, own.arch_files) for p in template.profiles)

    def _codes(self) -> Words:
        found = {
            code: Word(rule.summary, partial(self._rule_page, code))
            for code, (_, rule) in self._rules.items()
        }
        found |= {c: Word(f.summary, f.page) for c, f in FINDINGS.items()}
        found |= {c: Word(t[1], partial(lint.page, c)) for c, t in lint.CODES.items()}
        return dict(sorted(found.items()))

    def _rule_names(self) -> Words:
        found = {
            r.name: Word(r.summary, partial(self._rule_page, c))
            for c, (_, r) in self._rules.items()
        }
        return found | {f.name: Word(f.summary, f.page) for f in FINDINGS.values()}

    def _catalog_codes(self) -> Words:
        """The codes of membership, whose rules each catalog makes from its tables."""
        from ckrules.constraints import catalogs
        from ckrules.constraints.catalogs.catalog import NOT_SELECTED, TAKES
        from ckrules.constraints.catalogs.sweeps import INSIDE, OUTSIDE

        said: dict[str, list[str]] = {}
        for name in catalogs.names():
            catalog = catalogs.load(name, ck=self._books.ck)
            books = [catalog.book(f.variants[0]) for f in self._books.families]
            told = [(r.code, r.name, r.summary) for b in books for r in b.rules if r.topic == "CAT"]
            told += [(*NOT_SELECTED, TAKES)] if catalog.origin is not None else []
            for code, title, summary in told:
                said.setdefault(code, []).append(f"{name}: {title}: {summary}")
        code, title = OUTSIDE
        said[code] = [f"files of ranges: {title}: {INSIDE}"]
        title = library.topics()["CAT"]
        return {
            code: Word(title, partial(_listing, f"{code}: {title}", lines))
            for code, lines in said.items()
        }

    def _topics(self) -> Words:
        return {
            letters: Word(title, partial(self._topic_page, letters, title))
            for letters, title in library.topics().items()
        }

    def _topic_page(self, topic: str, title: str) -> str:
        rules = [r for _, r in self._rules.values() if r.topic == topic]
        lines = [f"{r.code} {r.name}: {r.summary}" for r in rules]
        return _listing(f"{topic}: {title}", lines)

    def _kinds(self) -> Words:
        return {
            k: Word(t, partial(_listing, f"{k}: a kind of rules", [f"where one is broken: {t}"]))
            for k, t in KINDS.items()
        }

    def _profiles(self) -> Words:
        return {
            p: Word(t, partial(_listing, f"{p}: a rule set", [f"it holds {t}", f"--profile {p}"]))
            for p, t in library.profiles().items()
        }

    # -- fields, quantities, values ------------------------------------------------------------

    def _named(self, *, derived: bool) -> Words:
        found: dict[str, Word] = {}
        for book in (*self._books.every(), *self._books.problems()):
            for name, node in book.vocabulary.names().items():
                if (node.op == "named") is derived:
                    unit = f" [{node.data.unit}]" if derived and node.data.unit else ""
                    line = node.data.doc.removesuffix(".") + unit
                    found.setdefault(name, Word(line, partial(self._field_page, name)))
        return found

    def _field_page(self, name: str) -> str:
        for books in (self._books.every(), self._books.problems()):
            having = [(b, _defaults(b)) for b in books if name in b.vocabulary.names()]
            if having:
                break
        return field_page(name, having)

    def _values(self) -> Words:
        fields: dict[str, dict[str, None]] = {}
        for book in self._books.every():
            for name, node in book.fields.items():
                for value in domain_of(node).values if node.sort == ENUM else ():
                    fields.setdefault(value, {})[name] = None
        for gpu in self._books.archs:
            fields.pop(gpu, None)
        return {
            value: Word(" and ".join(names), partial(self._value_page, value))
            for value, names in fields.items()
        }

    def _value_page(self, value: str) -> str:
        others = [word for word, meant in _other_words() if meant == value]
        return value_page(value, self._books.every(), others)

    def _synonyms(self) -> Words:
        """Other words for values, with the page of the value."""
        values = self._values()
        return {word: values[meant] for word, meant in _other_words() if meant in values}

    # -- what the rules are about --------------------------------------------------------------

    def _gpus(self) -> Words:
        found: dict[str, Word] = {}
        for gpu in self._books.gpus:
            page = partial(gpu_page, gpu)
            found[gpu.name] = Word(", ".join(gpu.products) or gpu.family, page)
            for product in gpu.products:
                words = product.split()
                names = (" ".join(words[i:]) for i in range(len(words)))
                known = (n for n in names if any(c.isdigit() for c in n))
                found |= {n: Word(f"a product with {gpu.name}", page) for n in known}
        return found

    def _catalogs(self) -> Words:
        from ckrules.constraints import catalogs

        return {n: Word("a catalog", partial(self._catalog_page, n)) for n in catalogs.names()}

    def _catalog_page(self, name: str) -> str:
        from ckrules.constraints import catalogs
        from ckrules.output.catalogs import catalog_page

        return catalog_page(catalogs.load(name, ck=self._books.ck))


def _other_words() -> list[tuple[str, str]]:
    """The words that mean values of fields, with the values."""
    return [
        pair
        for family in families().values()
        for words in (*family.aliases.values(), *family.synonyms.values())
        for pair in words.items()
    ]


def _defaults(book: RuleBook) -> dict[str, Value]:
    return dict(library.defaults(str(domain_of(book.fields["variant"]).values[0])))


def _listing(title: str, lines: Iterable[str]) -> str:
    return f"# {title}\n\n" + "".join(f"- {line}\n" for line in lines)
