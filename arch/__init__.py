"""What each GPU can do: one TOML file per GPU in ``data/`` and the typed loader of them.

>>> from ckrules import arch
>>> arch.normalize("gfx942:sramecc+:xnack-")
'gfx942'
>>> arch.load("gfx950").lds_bytes
163840
"""

if __name__ != "ckrules.arch":
    raise ImportError(f"import ckrules.arch, not {__name__}")

from ckrules.arch.model import (
    CK_VERSIONS,
    DTYPES,
    ISAS,
    DispatcherTable,
    Gpu,
    TransposeLoad,
    WarpTile,
    features,
    of_release,
)
from ckrules.arch.registry import known, load, load_all, load_file, normalize, sold_as
from ckrules.arch.target import TargetGpu

__all__ = [
    "CK_VERSIONS", "DTYPES", "ISAS", "DispatcherTable", "Gpu", "TargetGpu", "TransposeLoad",
    "WarpTile", "features", "known", "load", "load_all", "load_file", "normalize", "of_release",
    "sold_as",
]  # fmt: skip
