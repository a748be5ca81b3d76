"""Readers: configurations out of names, files and standard input, each with its place.

A format is one module in `ckrules.readers.formats`; a new file there is found by itself.
"""

from ckrules.readers.census import Census
from ckrules.readers.entries import Context, Edit, Entry, Place, Remark, UnreadableText
from ckrules.readers.inputs import Input, InputReading, formats, read_input

__all__ = [
    "Census", "Context", "Edit", "Entry", "Input", "InputReading", "Place", "Remark",
    "UnreadableText", "formats", "read_input",
]  # fmt: skip
