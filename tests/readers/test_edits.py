"""An edit of a field gives that field another value and changes nothing else."""

from __future__ import annotations

import pytest

from ckrules.checking.edits import edited
from ckrules.engine.expr.variables import Role, domain_of
from ckrules.kernels.books import Books
from ckrules.readers import Context, Entry, Input, InputReading
from tests.readers.test_formats import DATA, FILES

CONTEXT = Context(Books(), "gfx942")


def entries(name: str, data: bytes) -> list[Entry]:
    found = InputReading(Input.of("-", name, data), CONTEXT)
    return [item for item in found if isinstance(item, Entry)]


def assert_edits(name: str, data: bytes, most: int) -> None:
    """Gives every field of some entries its first, middle and last value."""
    before = entries(name, data)
    for k, entry in enumerate(before[:most]):
        point, book = entry.config.point, CONTEXT.books.at(entry.config.ck).of(entry.config.variant)
        for field, node in book.fields.items():
            domain = domain_of(node)
            values = domain.values
            for value in dict.fromkeys((values[0], values[len(values) // 2], values[-1])):
                edit = entry.rewrite(field, value)
                if domain.role is Role.PURPOSE or value == point[field] or edit is None:
                    continue
                if not edit.place.end_line:
                    continue
                after = entries(name, edited(data, [edit]))
                points = [e.config.point for e in after]
                wanted = [e.config.point for e in before]
                wanted[k] = {**point, field: value}
                assert points == wanted, (field, value, edit)


@pytest.mark.parametrize("name", FILES)
def test_each_format(name: str) -> None:
    """A `.conf` derives waves from the tile, a macro fills in buffers from the pipeline."""
    assert_edits(name, (DATA / name).read_bytes(), 3)


def test_a_field_that_is_left_out_follows_from_none_that_changes() -> None:
    """`compv4` has two LDS buffers where nothing says it, `mem` has one."""
    text = (
        b'{"variant": "standard", "dtype": "fp16", "layout": "rcr", "tile_m": 128, "tile_n": 128,'
        b' "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1, "warp_tile_m": 32,'
        b' "warp_tile_n": 32, "warp_tile_k": 16, "pipeline": "compv4", "scheduler": "intrawave",'
        b' "epilogue": "cshuffle"}'
    )
    assert_edits("a.ck.json", text, 1)
    (entry,) = entries("a.ck.json", text)
    assert entry.rewrite("pipeline", "mem") is None
    assert entry.rewrite("tile_m", 64) is not None


NAMES = """\
fmha_fwd_d128_fp8fp32_batch_b128x128x32x256x64x256_r1x1x1_r1x1x1_w32x32x32_w32x32x32_o3_qr_vc_pd_logits_nbias_nmask_lse_ndropout_skip_squant_ntrload
fmha_batch_prefill_d32_fp16_batch_b256x256x16x32x32x160_r2x1x1_r2x1x1_w16x16x16_w16x16x16_qr_async_vr_psskddv_nlogits_bias_nmask_lse_dropout_squant
fmha_bwd_d32_fp16_batch_b32x256x64x32x32x32x32x64x32_r1x8x1_r8x1x1_r2x4x1_w16x16x16_w16x16x16_o1_maxq0_pd1dv8_bias_dbias_mask_dropout_wg32_storerandval_deterministic_ntrload
fmha_fwd_splitkv_combine_d256_fp8fp16_group_b8_o2_unused_pdv_lse_nsquant
fmha_fwd_appendkv_d32_fp32_b256x64x256x256_o1_vr_psdv_inter_pagedkv
gemm_fp16_rcrr_compv3_default_intrawave_True_True_True_True_80x192x32_1x1x1_16x16x16_multid_MultiDAdd_d1_grouped_out_fp32_tc_kbpc2
scaled_flatmm_bf16_fp16_flatmm_default_no_64x224x32_1x2x1_16x16x32_epi_default_pad111_kbpc2_groups8_rows4
"""


@pytest.mark.parametrize("name", NAMES.splitlines())
def test_names(name: str) -> None:
    """Parts of names differ from values, and an edit of one made another kernel's name."""
    data = f"{name}\n".encode()
    assert entries("a.names", data)
    assert_edits("a.names", data, 1)


def test_a_name_with_escapes_is_not_edited() -> None:
    """Its parts have no places of their own: a value was written before the name."""
    name = "grouped_conv_fwd_fp16_nhwgc_2d_compv4_cshuffle_intrawave_64x64x32_1x1x1_16x16x32"
    (entry,) = entries("a.ck.json", f'["{name}"]'.replace("_conv", "\\u005fconv").encode())
    assert entry.rewrite("tile_m", 128) is None
