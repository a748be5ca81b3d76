"""Pictures of kernels: every warp tile has the wave that computes it."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from ckrules.constraints import book
from ckrules.constraints.tile_gemm.picture import picture
from ckrules.kernels.books import Books
from ckrules.kernels.families import families
from tests.cli.run import legal, run

GPU = next(g for g in Books().gpus if g.name == "gfx942")


@pytest.mark.parametrize("waves", [(1, 1), (2, 2), (4, 1), (1, 4), (2, 4)])
def test_each_wave_computes_its_share(waves: tuple[int, int]) -> None:
    forward = book("forward")
    point = {**forward.vocabulary.baseline, **legal(tile_m=256, tile_n=128)}
    point |= {"wave_m": waves[0], "wave_n": waves[1]}
    lines = picture(point, forward.resources(point), GPU)
    rows = [re.findall(r"w(\d+)", x) for x in lines if re.match(r" *\d+ +w", x)]
    assert len(rows) == 256 // 32
    assert {len(row) for row in rows} == {128 // 32}
    shares = Counter(w for row in rows for w in row)
    assert {int(w) for w in shares} == set(range(waves[0] * waves[1]))
    assert set(shares.values()) == {8 * 4 // (waves[0] * waves[1])}
    # waves are numbered with N fastest, and the grid of waves repeats
    assert rows[0][: waves[1]] == [str(w) for w in range(waves[1])]
    if waves[0] > 1:
        assert rows[1][0] == str(waves[1])
    assert rows[waves[0] % len(rows)] == rows[0]
    (said,) = (x for x in lines if x.startswith("each wave: "))
    assert said.startswith(f"each wave: {8 // waves[0]} x {4 // waves[1]} warp tiles of C")


@pytest.mark.parametrize(
    ("family", "products"),
    [
        ("fmha", ["S = Q Kᵀ", "O = P V"]),
        ("fmha_bwd", ["S = Q Kᵀ", "dV = Pᵀ dO", "dP = dO Vᵀ", "dK = dSᵀ Q", "dQ = dS K"]),
    ],
)
def test_every_product_of_attention_is_divided_among_all_waves(
    family: str, products: list[str]
) -> None:
    """Whatever legal kernel: the waves cover each result, and have like shares of it."""
    made, books = families()[family], Books("2025.11")
    for variant in made.variants:
        rules = books.of(variant)
        for point in rules.space(variant=variant).sample(40, seed=1):
            tiles = made.block_maps(point)
            assert [tile.product for tile in tiles] == products
            waves = rules.resources(point, ["waves"])["waves"]
            for tile in tiles:
                rows, columns, _ = tile.grid
                shares = Counter(tile.wave(i, j) for i in range(rows) for j in range(columns))
                count = tile.waves[0] * tile.waves[1]
                assert set(shares) == set(range(count))
                assert count <= waves
                assert len(set(shares.values())) == 1
            lines = "\n".join(made.picture(point, rules.resources(point), GPU) or ())
            assert lines.count("block tile ") == len(products)
            assert lines.count("warp GEMMs a block tile") == len(products)


def test_the_products_of_attention_meet() -> None:
    """What one product results in is what another reads: its rows, columns or steps."""
    made, books = families(), Books("2025.11")
    baselines = {n: books.of(n).vocabulary.baseline for n in ("fmha_fwd", "fmha_bwd")}
    forward = made["fmha"].block_maps(baselines["fmha_fwd"])
    backward = made["fmha_bwd"].block_maps(baselines["fmha_bwd"])
    for tile in (*forward, *backward):
        assert {"seqlen_q", "seqlen_k"} <= {*tile.axes}
    assert forward[0].block[0] == forward[1].block[0]
    scores, _, gradient, _, last = backward
    assert (scores.block[:2], scores.waves) == (gradient.block[:2], gradient.waves)
    assert last.block[2] == baselines["fmha_bwd"]["tile_k4"]


def test_large_tiles_are_cut() -> None:
    forward = book("forward")
    point = {**forward.vocabulary.baseline, **legal(tile_m=1024, tile_n=1024)}
    point |= {"warp_tile_m": 16, "warp_tile_n": 16}
    lines = picture(point, forward.resources(point), GPU)
    assert max(map(len, lines)) < 100
    assert len(lines) < 40
    assert any(x.endswith("…") for x in lines)


def test_the_command(tmp_path: object) -> None:
    result = run("draw", json.dumps(legal()))
    assert result.exit_code == 0
    assert "block tile 128 x 128 (M x N), 64 of K at a time" in result.stdout
    assert "32,768 of 65,536 bytes" in result.stdout
    (found,) = json.loads(run("draw", json.dumps(legal()), "--format", "json").stdout)
    assert found["picture"][0].startswith("block tile")
    assert found["arch"] == "gfx942"


def test_what_has_no_picture() -> None:
    name = next(
        x
        for x in run(
            "sample", "--variant", "forward_depthwise", "--arch", "gfx942", "-n", "1",
            "--format", "jsonl", "--ck", "2026.06",
        ).stdout.splitlines()
    )  # fmt: skip
    result = run("draw", name)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "no pictures of depthwise kernels" in result.stderr
    assert run("draw", "grouped_conv_fwd_x").exit_code == 2


def test_shuffled_operands_are_not_drawn_as_loads() -> None:
    words = ["--family", "gemm", "--variant", "preshuffle", "--arch", "gfx942", "-n", "1"]
    line = run("sample", *words, "--seed", "2", "--format", "jsonl").stdout
    lines = run("draw", line).stdout.splitlines()
    assert any(x.startswith("A: ") for x in lines)
    assert not any(x.startswith("B: ") for x in lines)
