"""Lists and ranges of tools that would be misread, or that say less than their kernels need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckrules.kernels.names import format_name, parse_name, styled_name
from ckrules.support.errors import UsageError
from tests.cli.run import run, write

FORMATS = Path(__file__).parent.parent / "data" / "formats"


def _checked(folder: Path, name: str, *words: str, **changes: Any) -> Any:
    value = {**json.loads((FORMATS / name).read_text()), **changes}
    return run("check", "--arch", "gfx942", *words, write(folder, name, value))


def test_a_key_twice_is_refused(tmp_path: Path) -> None:
    text = (FORMATS / "gemm_loader.json").read_text()
    twice = text.replace('"tile_n":', '"tile_m": {"values": [64]}, "tile_n":', 1)
    found = run("check", "--arch", "gfx942", write(tmp_path, "twice.json", twice))
    assert found.exit_code == 2
    assert "duplicate key 'tile_m'" in found.stderr


def test_no_value_of_a_long_list_is_left_out(tmp_path: Path) -> None:
    tile = json.loads((FORMATS / "gemm_dispatcher.json").read_text())["tile_config"]
    tile["tile_m"] = [16] * 4096 + [128]
    found = _checked(tmp_path, "gemm_dispatcher.json", tile_config=tile)
    assert found.exit_code == 2
    assert "tile_m has more than 4,096 values" in found.stderr


def test_the_loader_s_stream_k_adds_to_c(tmp_path: Path) -> None:
    found = _checked(tmp_path, "gemm_loader.json", "--verdicts", variant="stream_k")
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    assert rows
    assert "GEMM062" not in found.stdout


def test_the_loader_says_no_tensors_d(tmp_path: Path) -> None:
    found = _checked(tmp_path, "gemm_loader.json", variant="multi_d")
    assert found.exit_code == 2
    assert "the loader's files do not say the D tensors of multi_d" in found.stderr


@pytest.mark.parametrize(
    ("only", "said"),
    [
        ("dtype=fp17", "unknown dtype 'fp17': did you mean 'fp16'?"),
        ("layout=rcx", "unknown layout 'rcx'"),
        ("dtype=fp16,dtype=bf16", "dtype is given twice"),
    ],
)
def test_only_takes_values_that_there_are(tmp_path: Path, only: str, said: str) -> None:
    found = _checked(tmp_path, "gemm_loader.json", "--only", only)
    assert found.exit_code == 2
    assert said in found.stderr


CALL = "kernelInstance(0, 0, 8, 4, 1, 0, 0, 0, 0, 1, 128, 128, 128, 1, 4, 1, 16, 16, 64)"


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (f"a = {{i: {CALL} for i in range(3)}}", 0),
        (f"a = {{1: {CALL}, **{{2: {CALL}}}}}", 0),
        (f"a = {{}}\na[0] = {CALL}", 1),
        (f"if MORE:\n    a = [{CALL}]", 1),
    ],
)
def test_what_code_makes_is_not_passed_over_in_silence(code: str, line: int) -> None:
    head = (FORMATS / "aiter_lists.py").read_text().split("kernels_list_942")[0]
    words = ("check", "--arch", "gfx942", "--input-format", "python_lists", "-")
    result = run(*words, stdin=head + code)
    at = head.count("\n") + 1 + line
    said = [x for x in result.stdout.splitlines() if "code is not run" in x]
    assert len(said) == 1
    assert said[0].startswith(f"<stdin>:{at}:")
    assert "CFG006" in said[0]


#: As ROCm/aiter @ 11e6155, csrc/ck_tile_gemm_moe_2stages/moe_cktile2stages_common.py (MIT).
EXPERTS = """from dataclasses import dataclass

@dataclass
class kernelInstance:
    stage: int
    BLOCK_SIZE: int
    MPerBlock: int
    NPerBlock: int
    KPerBlock: int
    WAVE_TILE_M: int
    WAVE_TILE_N: int
    WAVE_TILE_K: int
    WAVE_MAP_M: int
    WAVE_MAP_N: int
    Block_Per_CU: int = 1
    ActOP: str = "silu"
    QuantType: str = "per_tensor"

a4w4_gemm1_kernels_list_gfx950 = {
    0: kernelInstance(1, 256, 16, 128, 256, 16, 16, 128, 1, 4, 2),
    1: kernelInstance(1, 256, 32, 256, 256, 16, 16, 128, 1, 4, 2),
    3: kernelInstance(1, 256, 64, 256, 256, 16, 16, 128, 1, 4, 1),
}
a4w4_gemm2_kernels_list_gfx950 = {1: kernelInstance(2, 256, 32, 256, 256, 16, 16, 128, 1, 4, 2)}
"""


def test_experts_of_4_bit_operands_are_read_from_lists() -> None:
    words = ("check", "--input-format", "python_lists", "-")
    result = run(*words, stdin=EXPERTS)
    (said,) = (x for x in result.stdout.splitlines() if x)
    assert said.startswith("<stdin>:20:")
    assert "SCAL048" in said  # nothing is computed where a wave has one warp tile along M
    assert "4 configurations: 3 legal, 1 illegal" in result.stderr
    older = run("check", "--input-format", "python_lists", "--ck", "2025.11", "-", stdin=EXPERTS)
    assert older.stdout.count("SCAL029") == 4


#: As ROCm/aiter @ 10788a1, csrc/ck_gemm_a8w8/gemm_a8w8_common.py (MIT).
ROWS = """from dataclasses import dataclass

@dataclass
class TileKernelInstance:
    M_Tile: int
    N_Tile: int
    K_Tile: int
    M_Warp: int
    N_Warp: int
    K_Warp: int
    M_Warp_Tile: int
    N_Warp_Tile: int
    K_Warp_Tile: int
    Scheduler: str
    TiledMMAPermuteN: bool
    TransposeC: bool
    UsePersistentKernel: bool
    BlockPerCu: int
    More: bool = False

    @property
    def name(self) -> str:
        return "_".join(["a8w8_cktile", f"{self.M_Tile}x{self.N_Tile}"])

LISTED = {
    0: TileKernelInstance(128, 128, 128, 1, 4, 1, 16, 16, 64, "Intrawave", False, True, False, 1),
}
"""
BLOCKS = ROWS.replace("a8w8_cktile", "a8w8_blockscale_cktile")


def test_lists_of_4_bit_operands_are_of_mx_by_pre_shuffled_weights() -> None:
    """The dataclass has the fields of block scales; aiter's kernel is legal."""
    code = ROWS.split("LISTED")[0].replace("a8w8_cktile", "a4w4_blockscale_cktile")
    given = '128, {n}, 256, 1, 4, 1, 16, 16, 128, "Default", False, False, False, 1'
    rows = ", ".join(
        f"{i}: TileKernelInstance({given.format(n=n)})" for i, n in enumerate((512, 64))
    )
    code = f"{code}kernels_list_cktile = {{{rows}}}\n"
    words = ("check", "--input-format", "python_lists", "-")
    result = run(*words, stdin=code)
    (said,) = result.stdout.splitlines()
    assert "SCAL048" in said
    assert "2 configurations: 1 legal, 1 illegal" in result.stderr
    rows = run(*words, "--verdicts", stdin=code).stdout.splitlines()
    assert json.loads(rows[0])["name"] == (
        "scaled_mx_gemm_fp4_bf16_weight_preshuffle_default_per_1x32_128x512x256_1x4x1_16x16x128"
        "_pad100_groups8_rows4"
    )


def test_names_of_groups_are_of_fp8_and_have_bytes_of_k() -> None:
    name = "deepgemm_256x32x64x256_16x16x{}_1x4"
    parsed = parse_name(name.format(32))  # the wrapper takes 64 bytes of K, whatever a name says
    said = ("dtype", "tile_k", "warp_tile_k", "grouping", "partition_groups")
    assert [parsed.point[k] for k in said] == ["fp8", 256, 64, "masked", 8]
    assert parsed.taken == {"dtype": "fp8", "dtype_c": "bf16", "scales": "row_column"}
    assert format_name(parsed.point, parsed.spelling) == name.format(64)
    with pytest.raises(UsageError, match="256 threads"):
        parse_name(name.format(64).replace("256x32", "128x32"))


def test_names_of_4_bit_operands_are_written_as_they_were_read() -> None:
    name = "a4w4_blockscale_cktile_128x512x256_1x4x1_16x16x128_default_0x0x0_1"
    parsed = parse_name(name)
    assert (parsed.point["variant"], parsed.point["dtype"]) == ("mx_gemm", "fp4")
    assert format_name(parsed.point, parsed.spelling) == name


MX = "mx_gemm_{}_rcr_{}_cshuffle_intrawave_False_False_False_False_128x512x256_1x4x1_16x16x128"


def test_upstreams_names_of_mx_are_those_of_pre_shuffled_weights() -> None:
    name = MX.format("fp8", "weight_preshuffle")
    parsed = parse_name(name)
    said = {k: parsed.point[k] for k in ("variant", "dtype", "dtype_c", "scales", "partition_m01")}
    assert said == {
        "variant": "mx_gemm", "dtype": "fp8", "dtype_c": "fp16", "scales": "per_1x32",
        "partition_m01": 4,
    }  # fmt: skip
    assert parsed.taken == {"k_block_per_cu": 1}
    assert format_name(parsed.point, parsed.spelling) == name
    assert styled_name(parsed.point, "dispatcher") == name
    words = ("check", "--arch", "gfx950", "--ck", "2026.09", "--ignore", "CFG010")
    assert run(*words, MX.format("fp4", "weight_preshuffle")).exit_code == 0
    other = run(*words, MX.format("fp4", "comp_async"))
    assert "expected pipeline (weight_preshuffle)" in other.stdout + other.stderr


def test_what_a_dataclass_calls_its_kernels_says_what_they_are() -> None:
    """Scales of rows and columns, with eight waves whose columns EPI011 says are mixed up."""
    eight = '192, 256, 128, 4, 2, 1, 16, 16, 128, "Intrawave", False, True, False, 2'
    code = f"{ROWS}kernels_list_cktile_95x = {{11: TileKernelInstance({eight})}}\n"
    result = run("check", "--input-format", "python_lists", "-", stdin=code)
    (said,) = result.stdout.splitlines()
    assert said.startswith("<stdin>:28:")
    assert "EPI011" in said
    assert "3 configurations: 2 legal, 1 illegal" in result.stderr


def test_names_with_scales_of_rows_and_columns_are_written_as_they_were_read() -> None:
    """The wrapper takes compv3 and transposes no C, whatever the name says."""
    name = "a8w8_cktile_128x128x128_2x2x1_16x16x128_intrawave_0x1x0_2"
    parsed = parse_name(name)
    assert parsed.point["variant"] == "rowcol_quant"
    assert not parsed.point["transpose_c"]
    assert format_name(parsed.point, parsed.spelling) == name


def test_a_kernel_for_each_gpu_is_one_label() -> None:
    result = run("check", "--input-format", "python_lists", "-", stdin=BLOCKS)
    assert "2 configurations: 2 legal" in result.stderr
    assert "CFG002" not in result.stdout


def test_a_field_that_is_not_known_is_not_dropped_where_it_is_set() -> None:
    said = BLOCKS.replace("False, 1),", "False, 1, True),")
    result = run("check", "--input-format", "python_lists", "--arch", "gfx942", "-", stdin=said)
    assert "CFG006" in result.stdout
    assert "More True is not covered by the rules" in result.stdout


@pytest.mark.filterwarnings("error")
def test_only_what_python_and_editors_take_for_one_line_is_read() -> None:
    head = (FORMATS / "aiter_lists.py").read_text().split("kernels_list_942")[0]
    words = ("check", "--arch", "gfx942", "--input-format", "python_lists", "-")
    result = run(*words, stdin=f"{head}a = {{1: {CALL},\r2: {CALL}}}\n")
    place = f"<stdin>:{head.count(chr(10)) + 1}:{len(f'a = {{1: {CALL},') + 1}:"
    assert result.exit_code == 2
    assert f"{place} error: a carriage return without a line feed" in result.stdout + result.stderr
    assert run(*words, stdin=f"{head}a = {{1: {CALL}, 2: 1if 0else 2}}\r\n").stdout


@pytest.mark.parametrize(
    ("setter", "code", "said"),
    [
        (".structured_sparsity(true)", 3, "CFG006 file (warning): structured_sparsity True"),
        ('.preshuffle("yes")', 2, "preshuffle = 'yes'"),
        (".tile(128, 128, 64, 4)", 2, ".tile() takes 3 at most, found 4"),
    ],
)
def test_no_setter_of_a_declaration_is_lost(setter: str, code: int, said: str) -> None:
    algorithm = f"Algorithm().tile(128, 128, 64){setter}"
    text = f'DECL_KERNEL(Signature().dtype("fp16").layout("rcr"), {algorithm});'
    found = run("check", "--arch", "gfx942", "--input-format", "macros", "-", stdin=text)
    assert found.exit_code == code
    assert said in found.stdout + found.stderr


def test_a_registered_kernel_says_with_a_truth_value_whether_weights_are_shuffled() -> None:
    (entry, *_) = json.loads((FORMATS / "registry_gemm.json").read_text())["kernels"]
    entry["algorithm"]["preshuffle"] = "yes"
    found = run("check", "--input-format", "registry", "-", stdin=json.dumps([entry]))
    assert found.exit_code == 2
    assert "preshuffle = 'yes'" in found.stderr
