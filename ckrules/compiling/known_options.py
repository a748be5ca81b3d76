"""Which of the options that CK's kernels need a compiler takes: it is asked."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ckrules.codegen.ck_options import ASKED, CkOption, options
from ckrules.compiling.failures import first_diagnostic
from ckrules.compiling.toolchain import MissingToolError, compiler_version, first_line

_UNIT = "empty.hip"
_PATIENCE = 60.0


def taken(compiler: Path, ck: str, needs: tuple[CkOption, ...] = ()) -> tuple[CkOption, ...]:
    """The options of a CK release that a compiler takes; each compiler is asked once.

    ``needs`` are further ones, of a kernel.

    Those that are not for a compiler of its kind or version are left out.

    Raises:
        UnknownNameError: If there is no such release.
        MissingToolError: If the compiler cannot be run, or compiles nothing at all.
    """
    said = compiler_version(compiler)
    wanted = tuple(o for o in (*options(ck), *needs) if o.meant_for(said))
    return _taken(compiler, first_line(said), wanted)


@lru_cache(maxsize=32)
def _taken(compiler: Path, version: str, wanted: tuple[CkOption, ...]) -> tuple[CkOption, ...]:
    """Asks for all at once, and one by one only if that is refused."""
    with tempfile.TemporaryDirectory(prefix="ckrules-") as folder:
        (Path(folder) / _UNIT).touch()
        if _refusal(compiler, [w for o in wanted for w in o.words], folder) is None:
            return wanted
        known = tuple(o for o in wanted if _refusal(compiler, o.words, folder) is None)
        why = None if known else _refusal(compiler, (), folder)
    if why is not None:
        raise MissingToolError(f"{compiler} ({version}): cannot compile an empty file: {why}")
    return known


def _refusal(compiler: Path, words: Sequence[str], folder: str) -> str | None:
    """What a compiler says against compiling nothing with these options; None if it does it."""
    command = [str(compiler), *ASKED, _UNIT, *words]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingToolError(f"{compiler}: cannot be run: {error}") from None
    if done.returncode == 0:
        return None
    return first_diagnostic(done.stderr or done.stdout) or f"status {done.returncode}"
