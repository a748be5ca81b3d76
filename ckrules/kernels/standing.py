"""How rules stand for the kernels that are asked about: a family's, of a CK release, on GPUs.

Evidence is about one family's C++, one release and one GPU. What was confirmed of other kernels
under the same condition is told apart, and where; what was refuted anywhere is told first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ckrules.engine.rules import Rule
from ckrules.kernels import evidence
from ckrules.kernels.evidence import METHODS, Ground, Tallies
from ckrules.support.tables import count

CONFIRMED, ELSEWHERE, REFUTED = "confirmed", "confirmed elsewhere", "refuted"
READ_ONLY = "read only"
"""The label of rules derived from the sources only."""
STANDINGS = (CONFIRMED, ELSEWHERE, REFUTED, READ_ONLY)
"""How a rule can stand; of each rule exactly one holds."""

_NAMED = 4  # GPUs that a scope names


@dataclass(frozen=True)
class Scope:
    """The kernels that are asked about; without GPUs those of any.

    >>> str(Scope("conv", "2026.06", ("gfx942",)))
    'conv of CK 2026.06 on gfx942'
    """

    family: str
    ck: str
    archs: tuple[str, ...] = ()

    def __str__(self) -> str:
        own = f"{self.family} of CK {self.ck}"
        return f"{own} on {_gpus(self.archs)}" if self.archs else own


@dataclass(frozen=True)
class Standing:
    """How a rule stands (`STANDINGS`), and the tallies that say so."""

    word: str
    tallies: Tallies = field(default_factory=dict)

    def __str__(self) -> str:
        if self.word == READ_ONLY:
            return self.word
        if self.word != CONFIRMED:
            return f"{self.word} ({places(self.tallies)})"
        by = ((m, sum(t.confirmed for g, t in self.tallies.items() if g.method == m))
              for m in METHODS)  # fmt: skip
        return f"{self.word}: {', '.join(f'{m} {n}' for m, n in by if n)}"


def standing(code: str, condition: str, scope: Scope) -> Standing:
    """How the rule of a code and condition (`evidence.fingerprint`) stands for some kernels."""
    known = {g: t for g, t in evidence.of(code).items() if g.condition == condition}
    if refuted := {g: t for g, t in known.items() if t.refuted}:
        return Standing(REFUTED, refuted)
    confirmed = {g: t for g, t in known.items() if t.confirmed}
    here = {
        g: t
        for g, t in confirmed.items()
        if (g.family, g.ck) == (scope.family, scope.ck)
        and (not scope.archs or g.arch in scope.archs)
    }
    if here:
        return Standing(CONFIRMED, here)
    return Standing(ELSEWHERE, _nearest(confirmed, scope)) if confirmed else Standing(READ_ONLY)


def _nearest(tallies: Tallies, scope: Scope) -> Tallies:
    """The tallies of the kernels most like those asked about: of their family, then their GPUs."""

    def far(ground: Ground) -> tuple[bool, bool, bool]:
        others = bool(scope.archs) and ground.arch not in scope.archs
        return ground.family != scope.family, others, ground.ck != scope.ck

    least = min(map(far, tallies))
    return {g: t for g, t in tallies.items() if far(g) == least}


def of_rule(rule: Rule, scope: Scope) -> Standing:
    """How a rule stands for some kernels."""
    if not evidence.of(rule.code):
        return Standing(READ_ONLY)
    return standing(rule.code, evidence.fingerprint(rule), scope)


def parts(rules: Iterable[Rule], scope: Scope) -> dict[str, list[tuple[Rule, Standing]]]:
    """The rules by how they stand, each in one part; all parts are there."""
    parts: dict[str, list[tuple[Rule, Standing]]] = {word: [] for word in STANDINGS}
    for rule in rules:
        own = of_rule(rule, scope)
        parts[own.word].append((rule, own))
    return parts


def sentence(rules: Sequence[Rule], scope: Scope) -> str:
    """One line: how many of the rules that decide were confirmed, where, and how many were read."""
    found = parts(rules, scope)
    told = [f"{len(found[CONFIRMED]) or 'none'} confirmed there"]
    if found[CONFIRMED] and len(scope.archs) != 1:
        asked = {ground.arch for _, own in found[CONFIRMED] for ground in own.tallies}
        told = [f"{told[0]} (on {_gpus(sorted(asked))})"]
    if elsewhere := found[ELSEWHERE]:
        told.append(f"{len(elsewhere)} elsewhere under the same condition ({_all(elsewhere)})")
    if refuted := found[REFUTED]:
        codes = ", ".join(rule.code for rule, _ in refuted)
        told.append(f"{len(refuted)} refuted ({codes}: {_all(refuted)})")
    told.append(f"{len(found[READ_ONLY])} {READ_ONLY}")
    return f"{count(len(rules), 'rule')} decide for {scope}: {'; '.join(told)}"


def places(tallies: Iterable[Ground]) -> str:
    """Whose kernels tallies are about: families, CK releases and GPUs.

    >>> from ckrules.kernels.evidence import Ground
    >>> places([Ground("conv", "2025.11", gpu, "compiler", "") for gpu in ("gfx942", "gfx1100")])
    'conv of CK 2025.11 on gfx1100, gfx942'
    """
    gpus: dict[tuple[str, str], set[str]] = {}
    for ground in tallies:
        gpus.setdefault((ground.family, ground.ck), set()).add(ground.arch)
    return "; ".join(
        str(Scope(family, ck, tuple(sorted(archs)))) for (family, ck), archs in sorted(gpus.items())
    )


def _gpus(archs: Sequence[str]) -> str:
    return ", ".join(archs) if len(archs) <= _NAMED else count(len(archs), "GPU")


def _all(found: Iterable[tuple[Rule, Standing]]) -> str:
    return places([ground for _, own in found for ground in own.tallies])
