"""What rounding results of attention to their types adds to their error."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

#: Relative error of a value that is rounded to a type, and half of its smallest magnitude. bf16 is
#: cut off (core/config.hpp: CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT is TRUNCATE).
ROUNDING: Mapping[str, tuple[float, float]] = {
    "fp32": (2.0**-24, 0.0), "fp16": (2.0**-11, 2.0**-25), "bf16": (2.0**-7, 0.0),
    "fp8": (2.0**-4, 2.0**-10),
}  # fmt: skip


def stored(values: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """What rounding results adds to their error: theirs, and that of the reference."""
    step, least = ROUNDING[dtype]
    return 2 * (abs(values) * step + least)
