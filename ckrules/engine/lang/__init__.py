"""Conditions as text: the language of ``--where`` and that of Python restrictions."""
