"""Lists rules that nothing shows to reject, and citations that the headers do not bear out.

    python scripts/rule_coverage.py            the rules' examples, and the labelled configurations
    python scripts/rule_coverage.py --headers  also the files, symbols and static_asserts cited

Exit codes: 0 nothing is amiss, 1 a rule rejects none of its examples or a citation is stale.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ckrules.compiling import toolchain
from ckrules.constraints import CK_VERSIONS, book, defaults
from ckrules.engine.rules import Rule
from ckrules.engine.rules.book import RuleBook
from ckrules.kernels.books import Books
from ckrules.output.rule_docs import every_rule

TRUTH = Path(__file__).resolve().parent.parent / "tests" / "data" / "truth"
HEADERS = "2025.11"
"""The version whose headers can be read here."""

_FILE = re.compile(r"[\w./*{},-]*[\w*}]\.hpp")
#: Identifiers of C++: more than a word of prose, by a capital inside, a digit or an underscore.
_SYMBOL = re.compile(r"\b(?:[A-Za-z]+[a-z0-9_]*[A-Z_0-9]\w*|static_assert)\b")
#: What is said not to be there, or is not text of the file.
_DENIED = re.compile(r"\b(?:no|not|nothing|without|only|seen with)\b")


@dataclass(frozen=True, slots=True)
class Stale:
    """A citation that the headers do not bear out."""

    code: str
    source: str
    missing: str

    def __str__(self) -> str:
        return f"{self.code}: no {self.missing} in the headers of {HEADERS}: {self.source}"


def silent(rules: Mapping[str, tuple[RuleBook, Rule]]) -> list[str]:
    """The rules without an example that they reject, in the newest book that has them."""
    return [c for c, (b, r) in rules.items() if not any(_rejections(b, r))]


def _rejections(rules: RuleBook, rule: Rule) -> Iterator[bool]:
    for point in rules.examples(rule, accepted=False):
        yield any(v.code == rule.code for v in rules.violations(point))


def unlabelled() -> list[str]:
    """The compile rules of the labelled version that no labelled configuration breaks."""
    broken = set()
    for path in sorted(TRUTH.glob("conv_*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            config = json.loads(line)["config"]
            rules = book(config["variant"], ck=HEADERS)
            point = rules.point({**defaults(config["variant"], config["ndim"]), **config})
            broken |= {v.code for v in rules.violations(point)}
    compiled = [r.code for r in book("forward", ck=HEADERS).rules if r.kind == "compile"]
    return [c for c in compiled if c not in broken]


def stale(include: Path) -> list[Stale]:
    """The files, symbols and static_asserts that rules of this version cite and that are gone."""
    found = []
    books = Books(HEADERS)
    for rules in (*books.every(), *books.problems()):
        for rule in rules.rules:
            for source in rule.sources:
                found += [Stale(rule.code, source, m) for m in _missing(source, include)]
    return found


def _missing(source: str, include: Path) -> Iterator[str]:
    """What a citation of this version names and the headers lack."""
    if source.startswith("example/") or not _FILE.search(source):
        return
    for part in source.split("; "):
        cited = _FILE.search(part)
        if cited is None or ("(CK " in part and HEADERS not in part):
            continue
        patterns = list(_braces(cited[0]))
        files = {p: _files(include, p) for p in patterns}
        yield from (p for p, hits in files.items() if not hits)
        remark = part[cited.end() :].split(" (CK ")[0]
        if _DENIED.search(remark):
            continue
        for symbol in sorted(set(_SYMBOL.findall(remark))):
            for pattern, hits in files.items():
                if hits and not any(_has(f, symbol) for f in hits):
                    yield f"{symbol} ({pattern})"


def _braces(text: str) -> Iterator[str]:
    """The alternatives of ``a_{b,c}.hpp``."""
    hit = re.search(r"\{([^}]*)\}", text)
    if hit is None:
        yield text
        return
    for word in hit[1].split(","):
        yield from _braces(text[: hit.start()] + word + text[hit.end() :])


@cache
def _files(include: Path, pattern: str) -> tuple[Path, ...]:
    name = pattern.removeprefix("include/").removeprefix("ck_tile/")
    return tuple(sorted((include / "ck_tile").glob(f"**/{name}")))


@cache
def _has(path: Path, symbol: str) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    return re.search(rf"\b{re.escape(symbol)}\b", text) is not None


def _print(title: str, items: Iterable[object]) -> bool:
    rows = list(items)
    print(f"{title}: {len(rows) or 'none'}")
    for row in rows:
        print(f"  {row}")
    return bool(rows)


def main(argv: list[str] | None = None) -> int:
    """The command; see the module."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--headers", action="store_true", help="check what rules cite")
    options = parser.parse_args(argv)
    rules = every_rule()
    print(f"{len(rules)} rules of CK {', '.join(CK_VERSIONS)}")
    amiss = _print("rules without an example that they reject", silent(rules))
    _print("compile rules that no labelled configuration breaks", unlabelled())
    if options.headers:
        include = toolchain.find_tree(HEADERS)
        if isinstance(include, toolchain.Missing):
            print(include, file=sys.stderr)
            return 2
        amiss |= _print("stale citations", stale(include))
    return int(amiss)


if __name__ == "__main__":
    sys.exit(main())
