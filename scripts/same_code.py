"""Holds what is said to make the same code against the compiler, for drawn sets.

    python scripts/same_code.py RECORD [--variant V,…] [--arch A,…] [-n N] [--seed S] [--entries N]

RECORD has a line of JSON for each set; a run goes on where another one ended, and prints how many
sets of each claim agree. A set that differs refutes the claim, which must go.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

from ckrules.certify.same_code import Pair, compare, pairs
from ckrules.kernels.books import Books

#: Small kernels with few entries: what is compared takes the compiler seconds, not minutes.
SMALL = ("tile_m * tile_n <= 4096 & tile_k <= 64", "pipeline != 'mem' | mem_stages == 2")
UNIT = 6


def main() -> int:
    """Compares and records; 1 if some sets differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    parser.add_argument("--ck", default="2025.11")
    parser.add_argument("--variant", default="forward,bwd_data,bwd_weight")
    parser.add_argument("--arch", default="gfx90a,gfx942,gfx1100,gfx1201")
    parser.add_argument("-n", type=int, default=2, help="sets of each claim, variant and GPU")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--entries", type=int, help="of each kernel [all]")
    asked = parser.parse_args()
    books, known = Books(asked.ck), read(asked.record)
    for variant, arch in product(asked.variant.split(","), asked.arch.split(",")):
        held = {"variant": (variant,), "arch": (arch,)}
        drawn = pairs(books.of(variant), held, asked.n, asked.seed, SMALL)
        new = [one for one in drawn if line(one, asked.ck)["sets"] not in known]
        for some in (new[i : i + UNIT] for i in range(0, len(new), UNIT)):
            answers = compare(some, books, entries=asked.entries)
            with asked.record.open("a", encoding="utf-8") as file:
                for one, answer in zip(some, answers, strict=True):
                    said = {"same": answer.same, "what": answer.what, "entries": asked.entries}
                    row = {**line(one, asked.ck), **said}
                    file.write(json.dumps(row) + "\n")
            print(variant, arch, *(a.what or a.same for a in answers), flush=True)
    return report(asked.record)


def line(one: Pair, ck: str) -> dict[str, Any]:
    """What a record says of a set before it is known whether it agrees."""
    sets = json.dumps([dict(one.point), one.changed(), ck])
    return {"claims": one.claims, "sets": sets}


def read(record: Path) -> set[str]:
    """The sets that are recorded."""
    if not record.exists():
        return set()
    return {json.loads(text)["sets"] for text in record.read_text("utf-8").splitlines()}


def report(record: Path) -> int:
    """Prints how many sets agree by claim; 1 if some differ."""
    found: Counter[tuple[str, str]] = Counter()
    for text in record.read_text("utf-8").splitlines():
        row = json.loads(text)
        said = {True: "the same", False: "different", None: "not compiled"}[row["same"]]
        found.update((claim, said) for claim in {*row["claims"], "every set"})
    for (claim, said), n in sorted(found.items()):
        print(f"{claim}: {n} {said}")
    return 1 if any(said == "different" for _, said in found) else 0


if __name__ == "__main__":
    sys.exit(main())
