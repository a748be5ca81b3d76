"""What ``--fix`` could repair, counted while a report is written."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ckrules.checking.verdict import ItemVerdict
from ckrules.engine.rules.repairs import EXACT


@dataclass(slots=True)
class Offers:
    """How many findings of files have a repair, safe or unsafe.

    Behind `EXACT` findings repairs are not sought for reports, so the numbers are lower bounds.
    """

    safe: int = 0
    unsafe: int = 0
    looked: int = 0

    def add(self, verdict: ItemVerdict) -> None:
        """Counts the repairs that the findings of a verdict have and that a file can hold."""
        for found in verdict.shown if self.looked <= EXACT else ():
            self.looked += 1
            edit = found.edit
            if edit is None or not edit.place.end_line or not os.path.isfile(edit.place.source):
                continue
            if found.applicability == "safe":
                self.safe += 1
            else:
                self.unsafe += 1

    def sentence(self) -> str:
        """How many there are and which options make them; empty where there are none.

        >>> Offers(safe=1).sentence()
        '1 repair is safe, apply it with --fix'
        >>> Offers(safe=2, unsafe=1).sentence()
        '2 repairs are safe, apply them with --fix; 1 is unsafe, apply it with --fix --unsafe-fixes'
        >>> Offers(unsafe=900, looked=1001).sentence()
        'at least 900 repairs are unsafe, apply them with --fix --unsafe-fixes'
        """
        parts: list[str] = []
        for number, what, options in (
            (self.safe, "safe", "--fix"),
            (self.unsafe, "unsafe", "--fix --unsafe-fixes"),
        ):
            if number:
                noun = "" if parts else " repair" if number == 1 else " repairs"
                verb, them = ("is", "it") if number == 1 else ("are", "them")
                parts.append(f"{number:,}{noun} {verb} {what}, apply {them} with {options}")
        least = "at least " if parts and self.looked > EXACT else ""
        return least + "; ".join(parts)
