"""A pytest plugin: where CI=true, a test that is skipped without leave fails the run.

A skip hides a missing tool as well as a deleted test would. On a developer's machine it is a
convenience; on the machine that has to vouch for the tree it is a failure, unless the test
carries a marker of ``MAY_SKIP``. ``make test`` loads it with ``-p tests.plugins.skips``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

MAY_SKIP = frozenset({"gpu"})
"""Markers of tests that need what such a machine cannot have."""


class Skips:
    """Collects the unexpected skips of one run."""

    def __init__(self) -> None:
        self.unexpected: list[tuple[str, str]] = []

    def _take(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        if MAY_SKIP.isdisjoint(getattr(report, "keywords", ())):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "no reason given"
            entry = (report.nodeid, reason.removeprefix("Skipped: "))
            if entry not in self.unexpected:  # every worker collects the whole tree
                self.unexpected.append(entry)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._take(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._take(report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        if self.unexpected and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.unexpected:
            return
        terminalreporter.section("unexpected skips fail this run", red=True)
        for nodeid, reason in self.unexpected:
            terminalreporter.write_line(f"{nodeid}: {reason}")


def pytest_configure(config: pytest.Config) -> None:
    """Watch the run where CI says so; xdist's workers report to their controller."""
    if os.environ.get("CI") == "true" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Skips(), "ckrules-skips")
