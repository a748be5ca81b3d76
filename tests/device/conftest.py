"""The test double, registered as a plug-in that worker processes see, too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.device import reference_device


@pytest.fixture
def double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Registers the device `reference`; called with faults, it injects them. Returns its name."""
    monkeypatch.syspath_prepend(str(reference_device.registered(tmp_path / "site")))

    def inject(faults: dict[str, str] | None = None, count: int = 1) -> str:
        monkeypatch.setenv(reference_device.FAULTS, json.dumps(faults or {}))
        monkeypatch.setenv(reference_device.COUNT, str(count))
        return "reference"

    inject()
    return inject
