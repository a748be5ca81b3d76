"""Trials: the result of a kernel on a problem, kept so that nothing is run twice."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ckrules.certify.verdicts import KeyedStore
from ckrules.device.interface import UNLAUNCHABLE
from ckrules.device.jobs import RunOutcome, RunStatus
from ckrules.support.syntax import module_tree

BUILD = ""
"""Stands for the problem of a trial that never came to one: the build was refused."""

UNBUILT = "unbuilt"
"""The status of such a trial."""

_EXECUTOR = ("ckrules.emulator", "ckrules.device.cpu", "ckrules.device.execute",
             "ckrules.device.tensors", "ckrules.device.tolerance")  # fmt: skip
_SUFFIXES = frozenset({".py", ".h", ".toml"})


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a kernel on a problem."""

    problem: str
    status: str
    detail: str = ""
    """Faults with their place, the reason of a refusal, or the message of an error."""
    where: str = ""
    """What the wrong elements have in common."""
    first: str = ""
    """The first wrong element."""
    wrong: int = 0
    elements: int = 0
    seconds: float = 0.0

    @classmethod
    def of(cls, problem: str, outcome: RunOutcome) -> Trial:
        """The trial that a job's outcome makes."""
        first = "" if not outcome.first else f"({', '.join(map(str, outcome.first))})"
        return cls(
            problem, str(outcome.status), outcome.detail, outcome.where or "", first,
            outcome.wrong or 0, outcome.elements or 0, outcome.seconds,
        )  # fmt: skip

    @property
    def right(self) -> bool:
        """Whether every element was right and nothing else was seen."""
        return self.status == RunStatus.OK

    @property
    def miscomputed(self) -> bool:
        """Whether the kernel computed something else, or did what a GPU may let pass."""
        return self.status in (RunStatus.WRONG, RunStatus.FAULT)

    @property
    def unlaunched(self) -> bool:
        """Whether there is no kernel to launch, or a GPU would not launch it."""
        return self.status == UNBUILT or self.detail.startswith(UNLAUNCHABLE)

    @property
    def is_verdict(self) -> bool:
        """Whether it says something about the kernel, and not about the emulator or the machine."""
        return self.right or self.miscomputed or self.refused or self.unlaunched

    @property
    def refused(self) -> bool:
        """Whether the kernel said itself that it does not take the problem."""
        return self.status == RunStatus.REFUSED

    @property
    def told(self) -> str:
        """What went wrong, in one line."""
        count = f"{self.wrong:,} of {self.elements:,} elements" if self.wrong else ""
        first = f"first {self.first}" if self.first else ""
        parts = [p for p in (self.where, count, first, self.detail) if p]
        return f"{self.status}: {'; '.join(parts)}" if parts else self.status


class TrialStore(KeyedStore[Trial]):
    """Trials by the hash of what they depend on.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as d, TrialStore(Path(d) / "t.sqlite") as store:
    ...     store.put("k", Trial("N=1", "ok", elements=64))
    ...     store.get("k").right
    True
    """

    OF, NAME, FAILED = Trial, "trial", "status NOT IN ('ok', 'refused')"
    COLUMN = {"where": "where_wrong", "first": "first_wrong"}  # noqa: RUF012


def trial_key(*parts: str) -> str:
    """What a trial depends on as one hash: kernel, problem, orders, references, executor."""
    digest = hashlib.sha256()
    for part in (*parts, executor_digest()):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()


@cache
def executor_digest() -> str:
    """A hash of the emulator: Python, C, tables; Python's comments and docstrings do not count."""
    return _digest(_sources())


@cache
def reference_digest(*kinds: type) -> str:
    """A hash of the modules of classes and their bases: of a problem, and of its tensors.

    >>> from ckrules.constraints.fmha.problem import AttentionProblem
    >>> len(reference_digest(AttentionProblem))
    64
    """
    modules = {base.__module__: None for kind in kinds for base in kind.__mro__}
    specs = (find_spec(m) for m in modules if m.partition(".")[0] not in sys.stdlib_module_names)
    return _digest(Path(s.origin) for s in specs if s and s.origin)


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        if path.suffix != ".py":
            digest.update(path.read_bytes())
            continue
        tree = module_tree(path.read_bytes())
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [s for s in body if not _is_text(s)]  # type: ignore[attr-defined]  # has one
        digest.update(f"{path.name} {ast.dump(tree)}".encode())
    return digest.hexdigest()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _sources() -> Iterator[Path]:
    for name in _EXECUTOR:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            continue
        path = Path(spec.origin)
        if path.name == "__init__.py":
            yield from sorted(p for p in path.parent.rglob("*") if p.suffix in _SUFFIXES)
        else:
            yield path
