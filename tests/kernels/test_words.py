"""Words that people write for values, wherever a value is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckrules import arch
from ckrules.kernels.books import Books
from ckrules.kernels.config import ConfigError, config_from_mapping
from ckrules.kernels.families import families
from ckrules.kernels.family import plain_word
from ckrules.kernels.selection import select
from ckrules.support.errors import UnknownNameError, UsageError
from tests.cli.run import legal, run, write

BOOKS = Books()
WORDS = [
    ("variant", "fwd", "forward"), ("variant", "BwdWeight", "bwd_weight"),
    ("variant", "backward_data", "bwd_data"), ("arch", "MI300X", "gfx942"),
    ("arch", "GFX942", "gfx942"), ("arch", "Radeon RX 9070 XT", "gfx1201"),
    ("dtype", "half", "fp16"), ("dtype", "bfloat16", "bf16"), ("dtype", "FP16", "fp16"),
    ("pipeline", "CompV3", "compv3"), ("pipeline", "COMPUTE_V4", "compv4"),
    ("pipeline", "compv1", "basic_v1"), ("layout", "NHWGC", "nhwgc"),
    ("specialization", "Filter1x1Stride1Pad0", "filter1x1_stride1_pad0"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "word", "value"), WORDS)
def test_words_are_read_on_the_command_line_and_in_files(field: str, word: str, value: str) -> None:
    assert select(BOOKS, {field: word}).fixed[field] == (value,)
    given: dict[str, Any] = legal(**{field: word})
    assert config_from_mapping(given, BOOKS).point[field] == value


def test_synonyms_mean_values() -> None:
    for family in families().values():
        for field, words in family.synonyms.items():
            values = BOOKS.of(family.variants[0]).fields[field].data.values
            for word, value in words.items():
                assert word == plain_word(word)
                assert value in values
                assert word not in map(plain_word, values) or word == plain_word(value)


@pytest.mark.parametrize(
    ("field", "word"), [("dtype", "haft"), ("arch", "MI301X"), ("pipeline", "compv33")]
)
def test_what_means_nothing_is_refused(field: str, word: str) -> None:
    with pytest.raises((UnknownNameError, UsageError)):
        select(BOOKS, {field: word})
    with pytest.raises(ConfigError):
        config_from_mapping(legal(**{field: word}), BOOKS)


def test_outputs_have_the_value(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", legal(dtype="half", arch="MI300X", pipeline="CompV3"))
    verdict = json.loads(run("check", "--isolated", "--verdicts", path).stdout)
    assert (verdict["legal"], verdict["arch"]) == (True, "gfx942")
    assert "_fp16_" in verdict["name"]
    assert "_compv3_" in verdict["name"]


def test_products_have_one_gpu() -> None:
    """Each product of each GPU is found by its full name and by its last words."""
    for gpu in arch.load_all():
        for product in gpu.products:
            assert gpu.name in arch.sold_as(product)
            assert BOOKS.plain_arch(product) == gpu.name
