"""The formats that configurations are read from, one module each.

A module has ``SUFFIXES``, ``ORDER`` (of being asked), ``COMMENT``, ``COMMENT_ALONE``, ``QUOTED``,
``sniff(head)`` and ``read(source, context)``, as `ckrules.readers.inputs.InputFormat` says; its
name is the format's.
"""
