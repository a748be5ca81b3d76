"""What an editor says of a text does not depend on how many findings other texts had before."""

from __future__ import annotations

import pytest

from ckrules.checking.checker import Checker
from ckrules.checking.settings import SettingsResolver
from ckrules.editor.document import OpenDocument
from ckrules.engine.rules import repairs

NAME = "grouped_conv_fwd_fp16_nhwgc_2d_compv4_cshuffle_intrawave_{}x64x32_1x1x1_16x16x32_dsb"
SMALL = "grouped_conv_fwd_fp16_nhwgc_2d_compv4_cshuffle_intrawave_96x64x32_2x2x1_16x16x16"
MANY = "\n".join(NAME.format(i) for i in range(65, 80))


def test_texts_after_many_findings_get_repairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repairs are sought for a text's first findings; they were for those of all texts."""
    monkeypatch.setattr(repairs, "EXACT", 5)
    monkeypatch.setattr(repairs, "TARGETED", 5)
    checker = Checker(SettingsResolver({"arch": "gfx942"}, isolated=True))
    small = OpenDocument("a.names")
    small.check(SMALL, checker)
    first = [(d.code, d.place, d.help) for d in small.diagnostics]
    assert any("makes the configuration legal" in text for _, _, text in first), first
    large = OpenDocument("b.names")
    large.check(MANY, checker)
    assert len(large.diagnostics) > 10
    small.check(SMALL, checker)
    assert [(d.code, d.place, d.help) for d in small.diagnostics] == first
    large.check(MANY, checker)
    small.check(SMALL, checker)
    large.check(MANY, checker)  # and what is asked about the first one later
    assert [(d.code, d.place, d.help) for d in small.diagnostics] == first
