"""Rows of tuned tables: what cannot be true of them is said, whosever kernels they name."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ckrules.kernels.books import Books
from ckrules.readers import (
    Census,
    Context,
    Entry,
    InputReading,
    Remark,
    UnreadableText,
    table_rows,
)
from tests.cli.run import run

HEAD = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio"
TILE = "a8w8_blockscale_cktile_32x128x128_1x4x1_16x16x64_intrawave_0x1x0_4"
CLASSIC = "a8w8_blockscale_256x16x64x512_16x16_1x1_32x8x1_32x8x1_1x16x1x16_4x4x1_1x1_intrawave_v3"
#: ROCm/aiter of August 2026, aiter/configs/a8w8_blockscale_tuned_gemm.csv (MIT).
RIGHT = f"gfx950,256,8,2048,3072,cktile,20,3,8.9575,{TILE},11.24,708.77,0.0001"


def _read(folder: Path, *rows: str, name: str = "a8w8_blockscale_tuned_gemm.csv", head: str = HEAD,
          census: Census | None = None) -> list[object]:  # fmt: skip
    path = folder / name
    path.write_text("\n".join([head, *rows]) + "\n")
    context = Context(Books(), None, census=census or Census())
    return list(InputReading(str(path), context))


def _codes(found: list[object]) -> list[tuple[str, str]]:
    return [(r.code, r.message) for r in found if isinstance(r, Remark)]


def test_a_measured_row_is_as_it_should_be(tmp_path: Path) -> None:
    found = _read(tmp_path, RIGHT)
    assert _codes(found) == []
    (entry,) = [e for e in found if isinstance(e, Entry)]
    assert entry.problem == {"M": 8, "N": 2048, "K": 3072, "k_batch": 8}


FAULTS = {
    "size": ("8,2048,3072", "0,2048,3072", "ROW001", "M = 0 is not a positive integer"),
    "part of a size": ("8,2048,", "8,2048.5,", "ROW001", "N = 2048.5 is not a positive integer"),
    "power": ("8,2048,3072", "²,2048,3072", "ROW001", "M = ² is not a positive integer"),
    "no time": (",8.9575,", ",0,", "ROW002", "us = 0 is not the time of a run"),
    "nan": (",8.9575,", ",nan,", "ROW002", "us = nan is not the time of a run"),
    "rate": (",11.24,", ",13.97,", "ROW003", "tflops = 13.97, sizes and time say 11.24"),
    "bandwidth": (",708.77,", ",0.70877,", "ROW003",
                  "bw = 0.70877, sizes and time say 708.77, as if it were in TB/s"),
    "errors": (",0.0001", ",0.1825", "ROW005",
               "errRatio = 0.1825: 18.2 % of the elements are wrong, the tuner takes up to 5 %"),
    "product": ("gfx950,256", "gfx950,128", "ROW010",
                "no product with gfx950 and 128 compute units is known (Instinct MI355X 256, "),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "code", "said"), FAULTS.values(), ids=FAULTS)
def test_faults_of_a_row(tmp_path: Path, old: str, new: str, code: str, said: str) -> None:
    found = _codes(_read(tmp_path, RIGHT.replace(old, new, 1)))
    assert [c for c, _ in found] == [code]
    assert found[0][1].startswith(said)


def test_no_row_is_faster_than_the_matrix_units_and_memory(tmp_path: Path) -> None:
    # 5.5e12 operations at 5.03e15 in a second (256 units, 8192 in a clock, 2400 MHz): 1093 us
    work = 2 * 16384**2 * 10240
    rows = [
        f"gfx950,256,16384,16384,10240,ck,1,0,{us},{CLASSIC},{work / us / 1e6:.2f},,0"
        for us in (1092, 1094)
    ]
    found = _codes(_read(tmp_path, rows[0]))
    assert [c for c, _ in found] == ["ROW011"]
    assert found[0][1].startswith("us = 1092 is faster than Instinct MI355X or Instinct MI350X")
    assert _codes(_read(tmp_path, rows[1])) == []


def test_compute_units_choose_the_product(tmp_path: Path) -> None:
    """80 units are a MI308X, which takes four times as long as a MI300X may."""
    row = "gfx942,{},8192,8192,8192,ck,1,0,700,a8w8_1x1x1x1,1570.73,,0"
    assert [c for c, _ in _codes(_read(tmp_path, row.format(80)))] == ["ROW011"]
    assert _codes(_read(tmp_path, row.format(304))) == []


def test_winners_over_rows_and_files(tmp_path: Path) -> None:
    census = Census()
    other = RIGHT.replace("_4,11.24", "_2,11.24")
    first = _codes(_read(tmp_path, RIGHT, other, RIGHT, census=census))
    assert [c for c, _ in first] == ["ROW004", "ROW006"]
    assert "for the problem of line 2" in first[0][1]
    model = "dsv3_a8w8_blockscale_tuned_gemm_v2.csv"
    merged = _codes(_read(tmp_path, other, name=model, census=census))
    assert [c for c, _ in merged] == ["ROW004"]
    assert "a8w8_blockscale_tuned_gemm.csv:2" in merged[0][1]
    apart = "a8w8_blockscale_bpreshuffle_tuned_gemm.csv"
    assert _codes(_read(tmp_path, other, name=apart, census=census)) == []


def test_the_gpu_of_the_file_s_name(tmp_path: Path) -> None:
    name = "a8w8_blockscale_tuned_gemm_dsv3_cu80.csv"
    found = _codes(_read(tmp_path, RIGHT, RIGHT.replace(",8,", ",9,", 1), name=name))
    assert [c for c, _ in found if c == "ROW008"] == ["ROW008"]
    found = _codes(_read(tmp_path, RIGHT, name="a_tuned_x_gfx942.csv"))
    assert ("ROW008", "gfx950 in a file that is named for gfx942") in found


def test_types_of_columns(tmp_path: Path) -> None:
    head = HEAD.replace("libtype", "q_dtype_w,libtype")

    def row(word: str) -> str:
        return RIGHT.replace("cktile,20", f"{word},cktile,20")

    assert _codes(_read(tmp_path, row("torch.float8_e4m3fn"), head=head)) == []
    said = _codes(_read(tmp_path, row("torch.float8_e4m3fnuz"), head=head))
    assert said == [
        ("ROW009", "q_dtype_w = torch.float8_e4m3fnuz is a format of gfx942, not of gfx950")
    ]
    said = _codes(_read(tmp_path, row("torch.int8"), head=head))
    assert said == [("ROW009", "the row is of int8, and the kernel multiplies fp8")]


def test_experts_rows_are_read_with_their_tags(tmp_path: Path) -> None:
    """ROCm/aiter of August 2026, model_configs/dsv4_fp8fp4_tuned_fmoe.csv (MIT)."""
    head = (
        "gfx,cu_num,token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,"
        "use_g1u1,doweight_stage1,block_m,ksplit,us1,kernelName1,err1,us2,kernelName2,err2,us,"
        "run_1stage,xbf16,flat,tflops,bw"
    )
    row = (
        "gfx950,256,128,7168,3072,48,6,ActivationType.Silu,torch.bfloat16,torch.float8_e4m3fn,"
        "torch.float4_e2m1fn_x2,QuantType.per_1x32,1,0,32,0,171.4439,"
        "flydsl_moe1_afp8_wfp4_bf16_t32x128x256_w4_gui_fp8,0.0%,99.0948,cktile_a8w4_bm32,0.0%,"
        "270.5387,0,0,0,375.06,11730.84"
    )
    census = Census()
    assert _codes(_read(tmp_path, row, name="tuned_fmoe.csv", head=head, census=census)) == []
    assert [s.partition(":")[2].split(" in ")[0] for s in census.sentences()][1:] == [
        " 1 kernel of FlyDSL", " 1 kernel of tags of CK Tile",
    ]  # fmt: skip
    bare = head.removeprefix("gfx,"), row.removeprefix("gfx950,")
    assert not [f for f in _read(tmp_path, bare[1], head=bare[0]) if isinstance(f, UnreadableText)]


def test_experts_rows_with_kernels_are_judged_without_their_sizes(tmp_path: Path) -> None:
    """aiter's list names them so: csrc/ck_tile_gemm_moe_2stages/moe_cktile2stages_common.py."""
    head = (
        "gfx,cu_num,token,model_dim,inter_dim,expert,topk,dtype,q_dtype_a,q_dtype_w,use_g1u1,"
        "us1,kernelName1,err1,us2,kernelName2,err2,us"
    )
    row = (
        "gfx950,256,4,4096,512,288,8,torch.bfloat16,torch.bfloat16,torch.float4_e2m1fn_x2,1,"
        "30,moe_cktile2stages_gemm1_256x16x128x256_1x4_16x16x32_2perCU_per_1x32_silu,0.0%,"
        "20,moe_cktile2stages_gemm2_256x16x128x256_1x4_16x16x32_2perCU_per_1x32_HasBias,0.0%,50"
    )
    found = _read(tmp_path, row, name="tuned_fmoe.csv", head=head)
    assert [e.problem for e in found if isinstance(e, Entry)] == [{}, {}]
    done = run("check", "--ignore", "CFG010", str(tmp_path / "tuned_fmoe.csv"))
    assert done.exit_code == 0, done.output
    assert "2 configurations: 2 legal\n" in done.output


def test_a_table_without_a_gpu_asks_for_one(tmp_path: Path) -> None:
    head, row = HEAD.removeprefix("gfx,"), RIGHT.removeprefix("gfx950,")
    (entry,) = [f for f in _read(tmp_path, row, head=head) if isinstance(f, Entry)]
    assert entry.config.point["arch"] == "gfx950"
    (fault,) = [
        f
        for f in _read(tmp_path, row.replace("256,8", "17,8"), head=head)
        if isinstance(f, UnreadableText)
    ]
    assert fault.lines()[0][1] == "no gfx: name a GPU with --arch"


def test_lines_without_quotes_have_the_same_cells_either_way() -> None:
    rng = random.Random(3)
    for _ in range(2000):
        text = "".join(rng.choices("ab1 ,,;\t\u00e9\u3000", k=rng.randint(0, 12)))
        for delimiter in ",;\t":
            assert table_rows._plain(text, delimiter) == table_rows._quoted(text, delimiter), text


def test_a_column_that_is_there_twice_is_an_error(tmp_path: Path) -> None:
    found = _read(tmp_path, f"{RIGHT},9", head=f"{HEAD},us")
    (fault,) = found
    assert isinstance(fault, UnreadableText)
    ((place, said),) = fault.lines()
    assert (said, place.line, place.column) == ("column 'us' twice", 1, len(HEAD) + 2)


#: ROCm/aiter @ bb172368, aiter/configs/conv3d_bf16_tuned.csv (MIT).
CONVOLUTIONS = (
    (
        "gfx,cu_num,N,C,D,H,W,K,kT,kH,kW,stride_d,stride_h,stride_w,pad_d,pad_h,pad_w,dil_d,dil_h,dil_w,"
        "groups,bias,tile_m,tile_n,wave_m,wave_n,wgm,splitK,us,kernelName,err_ratio,tflops,bw"
    ),
    (
        "gfx950,256,1,3,1,1024,1024,96,1,3,3,1,1,1,0,1,1,1,1,1,1,True,96,96,2,3,1,1,122.7611,"
        "conv3d_implicit_t96x96_w2x3_g1,0.0,44.28,1691.28"
    ),
    (
        "gfx950,256,1,3,6,482,834,96,3,3,3,1,1,1,0,0,0,1,1,1,1,True,192,128,2,2,1,1,236.5745,"
        "conv3d_implicit_t192x128_w2x2_g1,0.0,105.01,1357.69"
    ),
)


def test_convolutions_are_told_apart_and_measured_by_all_their_sizes(tmp_path: Path) -> None:
    head, *rows = CONVOLUTIONS
    name = "conv3d_bf16_tuned.csv"
    assert _codes(_read(tmp_path, *rows, head=head, name=name)) == []
    slow = rows[0].replace(",44.28,", ",45.28,")
    found = _codes(_read(tmp_path, slow, head=head, name=name))
    assert found == [("ROW003", "tflops = 45.28, sizes and time say 44.28")]
    assert _codes(_read(tmp_path, rows[0].replace("1691.28", "500"), head=head, name=name))
    other = rows[0].replace("t96x96_w2x3", "t96x96_w3x2").replace(",2,3,1,1,122", ",3,2,1,1,122")
    found = _codes(_read(tmp_path, rows[0], other, head=head, name=name))
    assert [code for code, _ in found] == ["ROW004"]


def test_a_column_that_is_not_known_says_which_problem_a_row_is_about(tmp_path: Path) -> None:
    head = HEAD.replace("K,libtype", "K,layout,libtype")
    rows = (
        RIGHT.replace("3072,cktile", f"3072,{layout},cktile").replace("_4,11", f"_{blocks},11")
        for layout, blocks in (("tn", 4), ("nn", 2))
    )
    assert _codes(_read(tmp_path, *rows, head=head)) == []
