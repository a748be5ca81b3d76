"""What depthwise kernels add to input formats.

Facts: the dispatcher's ``depthwise_config_rules.py`` and the builder's ``ngchw_depthwise.conf``,
ROCm/rocm-libraries of June 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ckrules.constraints.conv.builder_lines import file_words
from ckrules.constraints.depthwise.names import NUMBERS
from ckrules.kernels.reader_tables import (
    Arguments,
    Instance,
    KeyTable,
    LineError,
    LineTable,
    split_arguments,
)

DISPATCHER = KeyTable(
    fields={
        "filt": "filter", "str_h": "stride_h", "str_w": "stride_w",
        "ndim_spatial": "ndim", "datatype": "dtype", "data_type": "dtype",
    },
    labels=("id", "block_per_cu", "memory_op", "kernel_set_name", "comment", "description"),
    mark=r'"(?:filt|str_h|str_w)"\s*:',
)  # fmt: skip
REGISTRY = KeyTable(fields=DISPATCHER.fields, labels=("block_per_cu", "memory_op", "block_size"))

_LINE = Instance("forward_depthwise", (12,), {k: i for i, k in enumerate(NUMBERS)})


def _read(text: str, source: str, wave_size: int | None) -> Arguments:
    words, spans = split_arguments(text, 0)
    if len(words) != len(NUMBERS):
        raise LineError(
            f"{len(words)} numbers, expected {len(NUMBERS)} for a depthwise instance:"
            f" {', '.join(NUMBERS)}"
        )
    a = Arguments(_LINE, words, spans)
    for key in NUMBERS:
        a.put(key, key, a.number(key))
    named = file_words(source)
    a.fields |= {"ndim": 2, "layout": "ngchw", "dtype": named[1] if named else "fp16"}
    return a


LINES = LineTable(names=(), bare=re.compile(r"\d+(?:\s*,\s*\d+){11}"), read=_read)

TABLES: Mapping[str, Any] = {"dispatcher": DISPATCHER, "registry": REGISTRY, "conf": LINES}
