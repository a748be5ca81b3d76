// {"variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "layout": "ngchw", "tile_h": 16, "tile_w": 16, "filter": 3, "stride_h": 1, "stride_w": 1, "pad_h": 1, "pad_w": 1, "nbatch": 8, "sub_h": 4, "sub_w": 8, "in_vec": 8, "out_vec": 8}
// ckrules 0.0.0, rule book test, grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8
// Makes the kernel known to the dispatcher.
#pragma once

#include <memory>
#include <string>

#include "ck_tile/dispatcher.hpp"
#include "ck_tile/dispatcher/grouped_conv_utils.hpp"

#include "../grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8.hpp"

namespace ck_tile {
namespace dispatcher {
namespace generated {

inline GroupedConvKernelInstancePtr make_grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8(const std::string& gfx_arch = "gfx942")
{
    GroupedConvKernelKey key;
    key.signature.dtype_in  = DataType::FP16;
    key.signature.dtype_wei = DataType::FP16;
    key.signature.dtype_out = DataType::FP16;
    key.signature.dtype_acc = DataType::FP32;
    key.signature.layout    = "ngchw";
    key.signature.conv_type = "forward";
    key.signature.num_dims  = 2;
    key.signature.groups    = 1;

    key.algorithm.tile_shape      = {0, 0, 0};
    key.algorithm.wave_shape      = {0, 0, 0};
    key.algorithm.warp_tile_shape = {0, 0, 0};
    key.algorithm.epilogue        = Epilogue::None;
    key.gfx_arch = gfx_arch;

    return std::make_shared<GroupedConvKernelInstance>(
        key,
        "grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8",
        [](const ::ck_tile::GroupedConvFwdHostArgs<>& args, const ::ck_tile::stream_config& s) {
            return grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8_Launcher::launch(args, s);
        });
}

} // namespace generated
} // namespace dispatcher
} // namespace ck_tile
