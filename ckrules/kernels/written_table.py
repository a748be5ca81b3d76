"""What families say about rows of tuned tables that measurements are written as."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ckrules.engine.expr import Value
from ckrules.kernels.parts import Point
from ckrules.kernels.reader_tables import TunedTable

Numbered = Sequence[tuple[int, Point]]
"""Kernels of a tool's list, each with its number there."""


@dataclass(frozen=True)
class WrittenTable:
    """A tuned table as it is written: its columns, and how it says a kernel."""

    table: TunedTable
    """What the columns mean."""
    columns: Mapping[str, tuple[str, ...]]
    """The columns in order, by the variant of the kernels; other variants have no rows."""
    name: str
    """The column of the kernel's name."""
    number: str
    """The column of the kernel's number in the list, by which the tool finds it."""
    style: str
    """The names that the tool gives kernels."""
    extended: Callable[[Numbered], Numbered] = lambda listed: listed
    """The list with what the tool adds to it."""

    def operand(self, dtype: Value, arch: str) -> str:
        """The word of the type columns for a type on a GPU; empty: there is none.

        >>> from ckrules.constraints.scaled.written import WRITTEN
        >>> WRITTEN.operand("fp8", "gfx942"), WRITTEN.operand("fp8", "gfx950")
        ('torch.float8_e4m3fnuz', 'torch.float8_e4m3fn')
        """
        formats = self.table.formats
        words = (w for w, known in self.table.types.items() if known == dtype)
        return next((w for w in words if arch in formats.get(w, (arch,))), "")
