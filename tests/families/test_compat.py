"""Drop-ins: upstream's own builder run on our validation, and the dispatcher's filter."""

from __future__ import annotations

import importlib.util
import itertools
import json
import logging
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ckrules.compat import dispatcher, tile_engine, tile_engine_preshuffle
from ckrules.compat.dispatcher import ArchFilter, KernelConfig, OperatorType
from ckrules.constraints.gemm.tool_names import TILE_ENGINE
from ckrules.engine.rules.batch import BatchChecker
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping
from ckrules.kernels.library import book
from ckrules.readers.catalogs import load_catalog
from ckrules.support.errors import CkrulesError, UnknownNameError, UsageError
from tests.helpers.toolchain import require_tile_engine

DATA = Path(__file__).parent.parent / "data"
CONFIGS = DATA / "tile_engine"


@pytest.fixture
def ops(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of upstream's tile_engine, whose logging is kept still."""
    folder = require_tile_engine("2025.11")
    known = set(sys.modules)
    level = logging.root.manager.disable
    yield folder
    logging.disable(level)
    for name in set(sys.modules) - known:
        if name.split(".")[0] in ("commons", "upstream_builder"):
            del sys.modules[name]


def _load(path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(path.parent))
    spec = importlib.util.spec_from_file_location("upstream_builder", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    logging.disable(logging.CRITICAL)
    return module


def _listed(builder: Any, config: Any, folder: Path, dtype: str) -> list[str]:
    folder.mkdir(exist_ok=True)
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    builder(folder, "gfx942", dtype, "rcr", str(path)).write_kernel_list()
    (found,) = folder.glob("*kernel_list.txt")
    return [line.split("|")[0] for line in found.read_text().splitlines() if line]


def _legal(config: Path, variant: str, dtype: str, **further: Any) -> set[str]:
    """The names of the legal kernels of a file's ranges, tried one by one."""
    books = Books("2025.11")
    axes = load_catalog(str(config), books).data.sweep
    assert axes is not None
    broken, found = BatchChecker(book(variant, ck="2025.11")), set()
    for values in itertools.product(*axes.axes.values()):
        given = {**dict(zip(axes.axes, values, strict=True)), **further}
        given |= {"variant": variant, "dtype": dtype, "layout": "rcr", "arch": "gfx942"}
        point = config_from_mapping(given, books).point
        if not broken(point):
            found.add(TILE_ENGINE.format(point))
    return found


def test_upstreams_builder_lists_legal_kernels_only_and_all(
    ops: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = _load(ops / "gemm" / "gemm_instance_builder.py", monkeypatch)
    path = CONFIGS / "gemm__own_small.json"
    config = json.loads(path.read_text())
    upstream = _listed(module.GemmKernelBuilder, config, tmp_path / "upstream", "fp16")
    tile_engine.Validation("gemm", profile="tile_engine").install(module)
    same = _listed(module.GemmKernelBuilder, config, tmp_path / "profile", "fp16")
    assert same == upstream
    listed: list[str] = []
    for number, trait in enumerate(tile_engine.traits(config)):
        tile_engine.Validation("gemm", trait).install(module)
        own = tile_engine.for_trait(config, trait)
        listed += _listed(module.GemmKernelBuilder, own, tmp_path / str(number), "fp16")
    assert set(listed) == _legal(path, "standard", "fp16")
    assert len(listed) == len(set(listed)) > len(upstream) > 0


def test_upstreams_builder_of_shuffled_weights(
    ops: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = _load(ops / "gemm_preshuffle" / "gemm_preshuffle_instance_builder.py", monkeypatch)
    config = json.loads((CONFIGS / "gemm_preshuffle__own_preshuffle.json").read_text())
    for name, values in (("tile_m", [64, 128]), ("tile_n", [128]), ("tile_k", [64, 128])):
        config["tile_config"][name] = {"values": values}
    path = tmp_path / "small.json"
    path.write_text(json.dumps(config))
    upstream = _listed(module.GemmPreshuffleKernelBuilder, config, tmp_path / "upstream", "fp8")
    permuted = bool(config.get("permute_n", False))
    tile_engine_preshuffle.PreshuffleValidation(profile="tile_engine", permute_n=permuted).install(
        module
    )
    own = _listed(module.GemmPreshuffleKernelBuilder, config, tmp_path / "profile", "fp8")
    assert own == upstream
    listed: set[str] = set()
    for number, trait in enumerate(tile_engine.traits(config)):
        tile_engine_preshuffle.PreshuffleValidation(trait, permute_n=permuted).install(module)
        alone = tile_engine.for_trait(config, trait)
        folder = tmp_path / str(number)
        listed |= set(_listed(module.GemmPreshuffleKernelBuilder, alone, folder, "fp8"))
    assert listed == _legal(path, "preshuffle", "fp8", permute_n=permuted)
    assert len(listed) > len(upstream)


KERNEL: dict[str, Any] = {"tile_m": 128, "tile_n": 128, "tile_k": 32, "pipeline": "compv3"}


def test_the_filter_answers_by_the_book() -> None:
    odd = {**KERNEL, "tile_m": 192}
    assert ArchFilter("gfx942").is_kernel_valid(**KERNEL)
    assert not ArchFilter("GFX942:xnack+").is_kernel_valid(**odd)
    assert ArchFilter("gfx942", ck="2026.06", profile="dispatcher").is_kernel_valid(**odd)
    assert ArchFilter("gfx942", ck="2025.11").is_kernel_valid(**odd)  # #9684 is of 2026
    config = KernelConfig("fp16", "fp16", "fp16", 192, 128, 32, 2, 2, 1, 32, 32, 16, "compv3")
    result = ArchFilter("gfx942").validate_kernel(config)
    assert not result
    assert [e.partition(":")[0] for e in result.errors] == ["EPI002"]


def test_the_filter_takes_upstreams_production_tiles() -> None:
    """Upstream's own rules refuse 48 rows with pre-shuffled weights."""
    asked: dict[str, Any] = {
        "datatype_a": "fp8", "datatype_b": "fp8", "tile_m": 48, "tile_n": 64, "tile_k": 256,
        "warp_m": 1, "warp_n": 4, "warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 64,
        "pipeline": "preshufflev2", "scheduler": "default",
        "operator": OperatorType.GEMM_PRESHUFFLE,
    }  # fmt: skip
    assert ArchFilter("gfx942").is_kernel_valid(**asked)
    assert not ArchFilter("gfx942", profile="dispatcher").is_kernel_valid(**asked)


def test_the_filter_knows_what_is_written() -> None:
    """Of gfx942 bf8 results have the bits of fp8, and a convolution writes what it reads."""
    asked: dict[str, Any] = {**KERNEL, "tile_k": 64, "datatype_a": "bf8", "datatype_b": "bf8"}
    rules = ArchFilter("gfx942", ck="2025.11")
    assert rules.is_kernel_valid(**asked)  # fp16, as upstream has it
    assert not rules.is_kernel_valid(**asked, datatype_c="bf8")
    config = KernelConfig("fp16", "fp16", "fp99", 128, 128, 32, 2, 2, 1, 32, 32, 16, "compv3")
    assert "fp99" in rules.validate_kernel(config).errors[0]
    config.operator, config.datatype_c = OperatorType.CONV_FWD, "fp32"
    result = rules.validate_kernel(config)
    assert (result.valid, result.warnings) == (True, ["forward writes fp16, not fp32"])


@pytest.mark.parametrize("operator", list(OperatorType))
def test_every_operator_is_answered(operator: OperatorType) -> None:
    fields = KernelConfig("fp16", "fp16", "fp16", 64, 64, 64, 2, 2, 1, 32, 32, 16)
    fields.operator = operator
    fields.pipeline = "compv3"
    if operator is OperatorType.GEMM_PRESHUFFLE:
        fields.pipeline, fields.scheduler = "preshufflev2", "default"
    for profile in ("legal", "dispatcher"):
        result = ArchFilter("gfx942", profile=profile).validate_kernel(fields)
        assert result.valid, result.errors
    fields.tile_m = 40
    assert not ArchFilter("gfx942").validate_kernel(fields).valid


def test_the_filter_and_the_profile_agree_on_the_dispatchers_lists() -> None:
    catalog = load_catalog(str(DATA / "dispatcher_gemm" / "default_config.json"), Books())
    rules = ArchFilter("gfx942", profile="dispatcher")
    for p in catalog.listed("standard", "gfx942", "rcr", "fp16"):
        waves = {f"warp_{x}": p[f"wave_{x}"] for x in "mnk"}
        same = {k: p[k] for k in p if k.startswith(("tile_", "warp_tile_"))}
        trait = {k: str(p[k]) for k in ("pipeline", "epilogue", "scheduler")}
        assert rules.is_kernel_valid(**waves, **same, **trait)


def test_unknown_words() -> None:
    with pytest.raises(ValueError, match="Unknown GPU architecture: gfx000"):
        ArchFilter("gfx000")
    assert ArchFilter("gfx000", strict_mode=False).is_kernel_valid(**KERNEL)
    config = KernelConfig("fp99", "fp99", "fp99", 128, 128, 32, 2, 2, 1, 32, 32, 16)
    assert "fp99" in ArchFilter("gfx942").validate_kernel(config).errors[0]
    with pytest.raises(CkrulesError, match="gemm_multi_d"):
        tile_engine.Validation("gemm_multid")
    with pytest.raises(CkrulesError, match="a trait has 7 parts"):
        tile_engine.Validation("gemm", ("compv3",))
    assert "gfx942" in dispatcher.get_supported_archs()
    assert not tile_engine.is_tile_config_valid(
        0, 128, 64, 2, 2, 1, 32, 32, 16, "fp16", "fp16", "fp16", "compv3", "rcr", "gfx942"
    )


@pytest.mark.parametrize(
    ("trait", "further", "said"),
    [
        (("compv3", "cshuffle", "intrawave", 0, 0, 0, 0), {}, "pad_m = 0 is not true or false"),
        (("compv9", "cshuffle", "intrawave", False, False, False, False), {}, "compv9"),
        (None, {"permuten": True}, "unknown field 'permuten': did you mean 'permute_n'"),
        (None, {"k_block_per_cu": "2"}, "k_block_per_cu = '2' is not an integer"),
    ],
)
def test_a_validation_that_would_refuse_everything_is_not_made(
    trait: tuple[Any, ...] | None, further: dict[str, Any], said: str
) -> None:
    with pytest.raises((UsageError, UnknownNameError), match=re.escape(said)):
        tile_engine.Validation("gemm", trait, further=further)


@pytest.mark.parametrize("operator", [o for o in OperatorType if o.name.startswith("CONV")])
@pytest.mark.parametrize("gpu", ["gfx942", "gfx950"])
def test_the_usual_pipeline_of_convolutions_has_its_two_buffers(
    operator: OperatorType, gpu: str
) -> None:
    """No configuration of upstream's says them; the filter refused compv4 for want of them."""
    types, sizes = ("fp16",) * 3, (64, 64, 64, 2, 2, 1, 16, 16, 16)
    config = KernelConfig(*types, *sizes, operator=operator)
    assert config.pipeline == "compv4"
    assert ArchFilter(gpu, profile="legal").validate_kernel(config).errors == []


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: tile_engine.Validation("gemm", 5), "trait = 5: expected a list"),  # type: ignore[arg-type]  # the slip
        (lambda: tile_engine.Validation(further=5), "further = 5: expected a mapping"),  # type: ignore[arg-type]  # the slip
        (lambda: tile_engine.traits({}), "the file has no trait_config with values of pipeline"),
        (lambda: tile_engine.traits({"trait_config": {}}), "the file has no trait_config"),
        (lambda: ArchFilter(None), "arch = None is not a string"),  # type: ignore[arg-type]  # the slip
        (
            lambda: tile_engine.is_tile_config_valid(
                *(128, 128, 64, 2, 2, 1, 32, 32, 16),
                *("fp16", "fp16", "fp16", "compv3", "rcr"),
                None,  # type: ignore[arg-type]  # the slip
            ),
            "arch = None is not a string",
        ),
    ],
)
def test_what_is_no_question_is_said(slip: Callable[[], object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        slip()


@pytest.mark.parametrize("name", ["datatype_a", "datatype_c", "pipeline", "layout"])
def test_a_filter_that_is_asked_with_nothing_says_no(name: str) -> None:
    assert not ArchFilter("gfx942").is_kernel_valid(**{**KERNEL, name: None})
