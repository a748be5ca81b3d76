"""``python -m ckrules`` is the command ``ckrules``."""

from ckrules.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
