"""How much is drawn: a little in the suite, and by the thousand with CKRULES_FUZZ=long."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile(
    "ckrules", parent=settings.get_profile("ci"), max_examples=25, suppress_health_check=_QUIET
)
settings.register_profile(
    "long", parent=settings.get_profile("explore"), max_examples=1000, suppress_health_check=_QUIET
)

PROFILE = settings.get_profile("long" if os.environ.get("CKRULES_FUZZ") == "long" else "ckrules")
"""The settings of the properties in this folder: ``@PROFILE`` above ``@given``."""
