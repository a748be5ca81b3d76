"""Where a value is in a TOML file."""

from __future__ import annotations

TomlPath = tuple[str | int, ...]
"""Keys and array indices from the top of a file down to a value."""
