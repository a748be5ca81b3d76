"""Readers: configurations out of names, files and standard input, each with its place.

A format is one module in `ckrules.readers.formats`; a new file there is found by itself.
"""

from ckrules.readers.entries import Context, Edit, Entry, Place, Problem, Remark
from ckrules.readers.inputs import Input, Reading, formats, read_input

__all__ = [
    "Context",
    "Edit",
    "Entry",
    "Input",
    "Place",
    "Problem",
    "Reading",
    "Remark",
    "formats",
    "read_input",
]
