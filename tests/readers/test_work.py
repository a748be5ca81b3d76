"""The work of readers grows with the text and not with its square."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ckrules.kernels.books import Books
from ckrules.readers import Context, Entry, InputReading, UnreadableText
from tests.cli.run import legal

CONTEXT = Context(Books(), "gfx942")
LEGAL = json.dumps(legal())
OPEN = LEGAL[:-1]
ENTRY = json.dumps({"signature": {"variant": "forward"}, "algorithm": {}})[:-1]
HEAD = "grouped_conv_fwd_fp16_nhwgc_2d_mem_default_intrawave_"
TABLE = "[[kernels]]\n"
SET = "DECL_GROUPED_CONV_KERNEL_SET"
ADD = '.add(GroupedConvSig().dtype("fp16"), GroupedConvAlgo().vector_sizes(1, 1, 1), "gfx942")'


def keys(n: int, first: str = '"k') -> str:
    """That many keys, each another."""
    return ", ".join(f'{first}{i}": 1' for i in range(n))


TEXTS: dict[str, tuple[str, int, Callable[[int], str]]] = {
    "csv blanks": ("csv", 500, lambda n: "variant,name\n" + " " * n + '"x'),
    "csv quotes": ("csv", 2000, lambda n: "variant,name\n" + '"" ' * n),
    "csv header": ("csv", 2000, lambda n: ",".join(f"c{i}" for i in range(n))),
    "tsv cells": ("csv", 4000, lambda n: "variant\tname\n" + '\t"a"' * n),
    "conf blanks": ("conf", 2000, lambda n: f"GroupedConvolutionForwardKernel<{' ' * n}(>"),
    "conf brackets": ("conf", 4000, lambda n: f"GroupedConvolutionForwardKernel<{'(' * n}>"),
    "conf name": ("conf", 4000, lambda n: "DeviceKernel" * n + "<"),
    "conf numbers": ("conf", 4000, lambda n: "1," * n + "x"),
    "cpp quotes": ("macros", 4000, lambda n: "'" + "\\'" * n),
    "cpp calls": ("macros", 500, lambda n: "DECL_KERNEL_SET(" * n),
    "cpp nested calls": ("macros", 500, lambda n: f"{SET}(a, " * n + ")" * n),
    "cpp name": ("macros", 1000, lambda n: "DECL_" + "KERNEL_" * n),
    "cpp adds": ("macros", 100, lambda n: f"{SET}(a, {ADD * n})"),
    "cpp setters": ("macros", 500, lambda n: f"{SET}(a, .add(A(){'.b(1)' * n}, B()))"),
    "cpp comments": ("macros", 4000, lambda n: "/*" * n + "*" * n),
    "cpp brackets": ("macros", 4000, lambda n: f"{SET}({'[' * n}{')' * n}"),
    "cpp blanks": ("macros", 4000, lambda n: f"{SET}{' ' * n}(a,{' ' * n}x{' ' * n})"),
    "cpp scopes": ("macros", 4000, lambda n: f"{SET}(a, .add({'a::' * n}, b))"),
    "cpp defines": ("macros", 4000, lambda n: "#define a \\\n" * n),
    "json keys": ("json", 1000, lambda n: f"{{{keys(n)}}}"),
    "json keys twice": ("json", 1000, lambda n: f"{{{keys(n)}, {keys(n)}}}"),
    "json one key": ("json", 2000, lambda n: "{" + '"a": 1, ' * n + '"b": 1}'),
    "json open text": ("json", 4000, lambda n: '{"kernels": [1, "' + '\\"' * n),
    "json odd end": ("json", 4000, lambda n: '{"kernels": [1, "' + '\\"' * n + "\\"),
    "json depth": ("json", 4000, lambda n: "[" * n),
    "json wrapper depth": ("json", 4000, lambda n: '{"kernels": ' + "[" * n + "]" * n + "}"),
    "json around": ("json", 1000, lambda n: f'{{{keys(n)}, "kernels": [{"{}, " * n} {{}}]}}'),
    "json behind": ("json", 100, lambda n: f'{{"kernels": [{"{}, " * n} {{}}], "tile_mm": 1}}'),
    "json list": ("json", 100, lambda n: f"[{', '.join([LEGAL] * n)}, x]"),
    "jsonl fields": ("jsonl", 50, lambda n: "".join(f'{OPEN}, "t{i}": 1}}\n' for i in range(n))),
    "dispatcher keys": ("dispatcher", 500, lambda n: f"{LEGAL[:-1]}, {keys(n)}}}"),
    "registry keys": ("registry", 500, lambda n: f'{ENTRY[:-2]}{{{keys(n)}}}}}'),
    "toml tables": ("toml", 100, lambda n: "[[kernels]]\ntile_m = 1\n" * n),
    "toml keys": ("toml", 500, lambda n: "\n".join(f"k{i} = 1" for i in range(n))),
    "toml around": ("toml", 500, lambda n: "".join(f"k{i} = 1\n" for i in range(n)) + TABLE * n),
    "toml depth": ("toml", 4000, lambda n: "a = " + "[" * n),
    "toml text": ("toml", 4000, lambda n: 'a = """' + '\\"' * n),
    "names": ("names", 4000, lambda n: "grouped_conv_" * n),
    "names digits": ("names", 4000, lambda n: HEAD + "1" * n),
    "suppressions": ("names", 1000, lambda n: "# ckrules: ignore[" * n),
    "comments": ("names", 4000, lambda n: "#" * n + " ckrules" + " " * n),
}  # fmt: skip


def cost(path: Path, text: str, form: str) -> float:
    """Processor seconds of reading a text and of everything that is said about its problems."""
    path.write_text(text)
    gc.collect()
    gc.freeze()  # what other tests have left
    began = time.process_time()
    for item in InputReading(str(path), CONTEXT, input_format=form):
        if isinstance(item, UnreadableText):
            assert item.lines()
        elif isinstance(item, Entry):
            item.written("tile_m")
    return time.process_time() - began


@pytest.mark.parametrize("name", TEXTS)
def test_eight_times_the_text_is_no_more_than_some_eight_times_the_work(
    name: str, tmp_path: Path
) -> None:
    form, n, make = TEXTS[name]
    path = tmp_path / "a"
    few = min(cost(path, make(n), form) for _ in range(3))
    many = min(cost(path, make(8 * n), form) for _ in range(2))
    # a square would be 64 times; what takes no time at all says nothing
    assert many < 24 * max(few, 0.004), (few, many)
