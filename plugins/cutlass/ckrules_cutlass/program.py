"""How the modules that are programs end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

from ckrules.support.errors import CkrulesError


def end(main: Callable[[], int]) -> NoReturn:
    """Runs a program; what a user can mend is one line on standard error, and exit code 2."""
    try:
        code = main()
    except (CkrulesError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        code = 2
    sys.exit(code)
