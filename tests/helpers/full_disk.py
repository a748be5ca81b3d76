"""A disk that is full, for as long as a test asks."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

#: For processes whose files may not grow: Python would keep compiled modules that are cut off.
NO_MODULES = {"PYTHONDONTWRITEBYTECODE": "1"}


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    """No file may grow beyond so many bytes: the system refuses with "File too large".

    It holds for processes that are started meanwhile, too, all their life.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        with patch.dict(os.environ, NO_MODULES), patch.object(sys, "dont_write_bytecode", True):
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
