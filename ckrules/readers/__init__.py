"""Readers: configurations out of names, files and standard input, each with its place.

A format is one module in `ckrules.readers.formats`; a new file there is found by itself.
"""

from ckrules.readers.entries import Context, Entry, Place, Problem
from ckrules.readers.inputs import formats, read_input

__all__ = ["Context", "Entry", "Place", "Problem", "formats", "read_input"]
