"""Attention kernels as C++: the files, and what their text takes from the configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ckrules.codegen.generate import Generator
from ckrules.constraints.fmha.device.tensors import AttentionTensors
from ckrules.constraints.fmha.problem import parse
from ckrules.constraints.fmha.vocabulary import BASELINE
from ckrules.constraints.fmha_bwd.vocabulary import BASELINE as BACKWARD
from ckrules.constraints.fmha_v3.vocabulary import BASELINE as TWO_GROUPS
from ckrules.kernels.applicability import Applicability
from ckrules.kernels.books import Books
from ckrules.kernels.config import config_from_mapping
from ckrules.kernels.families import problems_of
from ckrules.support.errors import UsageError

GROUP: dict[str, Any] = {"mode": "group", "pad_s": True, "pad_sk": True}
PREFILL: dict[str, Any] = {
    **GROUP, "variant": "fmha_batch_prefill", "pipeline": "qr_async", "pad_d": True, "pad_dv": True,
    "paged_kv": True,
}  # fmt: skip


def _generated(tmp_path: Path, ck: str = "2025.11", **changed: Any) -> tuple[str, dict[str, str]]:
    books = Books(ck)
    base = {"fmha_fwd_v3": TWO_GROUPS, "fmha_bwd": BACKWARD}.get(
        str(changed.get("variant")), BASELINE
    )
    config = config_from_mapping({**base, **changed}, books)
    report = Generator(books, tmp_path).run([config])
    assert (report.kernels, report.refused) == (1, [])
    files = {p.name: p.read_text() for p in tmp_path.iterdir() if p.is_file()}
    name = next(n for n in files if n.endswith(".device.cpp")).removesuffix(".device.cpp")
    return name, files


@pytest.mark.parametrize("changed", [{}, {**GROUP, "bias": "alibi", "lse": True, "mask": "mask"}])
def test_files(tmp_path: Path, changed: dict[str, Any]) -> None:
    name, files = _generated(tmp_path, **changed)
    assert {f"{name}{s}" for s in (".hpp", ".cpp", ".device.cpp", ".host.cpp")} <= files.keys()
    assert f'#include "{name}.hpp"' in files["include_all_fmha_kernels.hpp"]
    assert not [n for n, text in files.items() if "{{ " in text or "{%" in text]
    tensors = re.findall(r'\{"(\w+)", CKRULES_(\w+)', files[f"{name}.host.cpp"])
    problem = parse("batch=1,heads=1,seqlen_q=8,hdim=128")
    own = AttentionTensors(problem, {**BASELINE, **changed}).all
    assert tensors == [(t.name, t.direction.upper()) for t in own]


def test_the_header_says_what_the_probe_asks(tmp_path: Path) -> None:
    from ckrules.certify import probe

    name, files = _generated(tmp_path, mask="causal", logits=True)
    types = re.compile(r"using Operand .*?using Kernel[^;]*;", re.DOTALL)
    found = types.search(files[f"{name}.hpp"])
    asked = types.search(probe.render({**BASELINE, "mask": "causal", "logits": True}))
    assert found is not None
    assert asked is not None
    assert found[0] == asked[0]
    assert "GenericAttentionMask<true, false>" in found[0]


def test_other_releases_and_kernels_have_no_templates(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"for CK 2025\.11 only"):
        _generated(tmp_path, ck="2026.06")
    with pytest.raises(UsageError, match=r"cannot be generated \(columns of V lie in pages\)"):
        _generated(
            tmp_path, variant="fmha_fwd_pagedkv", pipeline="qr_pagedkv", paged_kv=True,
            v_layout="col", **GROUP,
        )  # fmt: skip


def _splits(columns: int) -> dict[str, Any]:
    """A kernel for splits of K with so many columns of V."""
    low: dict[str, Any] = {f"warp_tile_{x}": 16 for x in ("m0", "n0", "k0", "m1", "n1", "k1")}
    low |= {f"tile_{x}": 16 for x in ("m0", "n0", "k0", "k1")} | {"wave_m0": 1, "wave_m1": 1}
    low |= {"hdim": 32, "tile_k0max": 32, "tile_n1": columns}
    return {**low, **GROUP, "variant": "fmha_fwd_splitkv", "dtype": "fp32", "lse": True}


@pytest.mark.parametrize(("columns", "step"), [(32, 32), (48, 16)])
def test_splits_are_joined_by_columns_that_divide_a_tile(
    tmp_path: Path, columns: int, step: int
) -> None:
    name, files = _generated(tmp_path, **_splits(columns))
    found = re.search(r"float, float, Output, (\d+), true, (\d+), ", files[f"{name}.hpp"])
    assert found is not None
    assert [int(n) for n in found.groups()] == [columns, step]


def test_as_many_splits_are_joined_as_the_rules_say(tmp_path: Path) -> None:
    """Few and many have a kernel each: one with places for 8 was all there was."""
    name, files = _generated(tmp_path, **_splits(32))
    header, host = (files[f"{name}.{end}"] for end in ("hpp", "host.cpp"))
    places = dict(re.findall(r"using (Combine\w+) *= Joined<(\d)>", header))
    few, most = re.findall(r"k(?:Few|Max)Splits = (\d+)", header)
    assert [2 ** int(n) for n in places.values()] == [int(few), int(most)]
    assert [f"kernel::{kind}::BlockSize" in host for kind in places] == [True, True]
    config = {**BASELINE, **_splits(32)}
    for splits, codes in ((int(most), []), (int(most) + 1, ["FPROB047"])):
        line = f"batch=1,heads=1,seqlen_q=8,hdim=32,mode=group,splits={splits}"
        found = Applicability(line, Books("2025.11"))(config)
        assert [v.code for v in found or () if v.code == "FPROB047"] == codes


@pytest.mark.parametrize("mode", ["batch", "group"])
def test_rows_of_batch_prefill_are_listed_one_by_one(tmp_path: Path, mode: str) -> None:
    name, files = _generated(tmp_path, **{**PREFILL, "mode": mode})
    problem = parse(f"batch=2,heads=2,seqlen_q=8,seqlen_k=10,hdim=128,mode={mode}")
    tensors = {
        t.name: t for t in AttentionTensors(problem, {**BASELINE, **PREFILL, "mode": mode}).all
    }
    listed = re.findall(r'\{"(\w+)", CKRULES_', files[f"{name}.host.cpp"])
    assert listed == list(tensors)
    rows = 16 if mode == "group" else 20
    assert tensors["k"].shape == (rows, 2, 1, 128)
    assert tensors["start_k"].content == (0, 10, rows)
    behind = BASELINE["tile_n0"] + BASELINE["tile_k1"]
    assert tensors["pages"].content == (*range(rows)[::-1], *[0] * behind)


@pytest.mark.parametrize("changed", [{}, {"mode": "group", "mask": "generic"}])
def test_two_groups_of_waves(tmp_path: Path, changed: dict[str, Any]) -> None:
    """The header says what the probe asks, and the host library the tensors of the problem."""
    from ckrules.certify import probe

    point = {**TWO_GROUPS, **changed}
    name, files = _generated(tmp_path, **point)
    assert f'#include "{name}.hpp"' in files["include_all_fmha_kernels.hpp"]
    assert not [n for n, text in files.items() if "{{ " in text or "{%" in text]
    types = re.compile(r"using Operand .*?using Kernel[^;]*;", re.DOTALL)
    found, asked = types.search(files[f"{name}.hpp"]), types.search(probe.render(point))
    assert found is not None
    assert asked is not None
    assert found[0] == asked[0]
    assert "BlockFmhaFwdV3PipelineProblem" in found[0]
    tensors = re.findall(r'\{"(\w+)", CKRULES_(\w+)', files[f"{name}.host.cpp"])
    own = problems_of("fmha_fwd_v3").tensors(parse("batch=1,heads=1,seqlen_q=8,hdim=128"), point)
    assert tensors == [(t.name, t.direction.upper()) for t in own.all]


@pytest.mark.parametrize(
    ("changed", "cleared"),
    [({}, ["dq_acc"]), ({"dbias": True, "bias": "bias", "mask": "causal"}, ["dq_acc", "dbias"])],
)
def test_what_blocks_of_backward_leave_is_cleared(
    tmp_path: Path, changed: dict[str, Any], cleared: list[str]
) -> None:
    name, files = _generated(tmp_path, variant="fmha_bwd", **changed)
    host = files[f"{name}.host.cpp"]
    assert re.findall(r"steps->fill\(.*kernel::(\w+)_bytes\(p\)\);", host) == cleared
