"""Every configuration that upstream's rule sets list is a point, and what rejects it is a rule."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ckrules.constraints import book, defaults
from ckrules.engine.rules.batch import BatchChecker
from ckrules.kernels.names import format_name, parse_name

TESTS = Path(__file__).parent.parent


@cache
def _sets() -> dict[str, dict[str, list[str]]]:
    packed = (TESTS / "data" / "grouped_conv_rule_sets.json.gz").read_bytes()
    sets: dict[str, dict[str, list[str]]] = json.loads(gzip.decompress(packed))
    return sets


@cache
def _points() -> dict[str, dict[str, dict[str, Any]]]:
    """Per GPU each listed name once, as a checked point."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for key, names in _sets().items():
        gpu = key.split("/")[1]
        for name in names["listed"]:
            if name not in found.setdefault(gpu, {}):
                given = dict(parse_name(name).point)
                variant = str(given["variant"])
                given = {**defaults(variant, given["ndim"]), **given, "arch": gpu}
                found[gpu][name] = book(variant).point(given)
    return found


def test_generated_is_part_of_listed() -> None:
    for key, names in _sets().items():
        assert set(names["generated"]) <= set(names["listed"]), key


def test_points_print_the_same_name() -> None:
    for named in _points().values():
        for name in list(named)[::10]:
            parsed = parse_name(name)
            assert format_name(parsed.point, parsed.spelling) == name


def test_rejections(golden: Callable[[str, str], None]) -> None:
    """Counts per GPU, variant and rule; pytest --update-golden after a wanted change."""
    counts: dict[str, dict[str, int]] = {}
    for gpu, named in sorted(_points().items()):
        groups: dict[str, list[dict[str, Any]]] = {}
        for point in named.values():
            groups.setdefault(str(point["variant"]), []).append(point)
        for variant, points in sorted(groups.items()):
            rules = book(variant)
            tally: Counter[str] = Counter(listed=len(points))
            for found in map(BatchChecker(rules), points):
                tally["legal"] += not any(v.rule.severity == "error" for v in found)
                for v in found:
                    assert rules[v.code].sources, v.code
                    assert v.message, v.code
                    tally[f"{v.code} {v.rule.name} ({v.kind})"] += 1
            counts[f"{gpu}/{variant}"] = dict(sorted(tally.items()))
    golden("rule_set_verdicts.json", json.dumps(counts, indent=2) + "\n")
