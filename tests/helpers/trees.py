"""CK include folders that hold nothing but the words by which a tree is told."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ckrules.kernels.trees import Mark, marks

_OLDEST = "ops/grouped_convolution/kernel/grouped_convolution_backward_data_kernel.hpp"


def since(version: str) -> list[Mark]:
    """The marks that headers of a version have."""
    return [mark for mark in marks() if mark.since <= version]


def tree(folder: Path, chosen: Iterable[Mark]) -> Path:
    """An include folder whose headers have these marks, and the files of the others."""
    words = dict.fromkeys(["core.hpp", _OLDEST, *(m.file for m in marks())], "")
    for mark in chosen:
        words[mark.file] += f"// {mark.words[0]}\n"
    for name, text in words.items():
        path = folder / "ck_tile" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
