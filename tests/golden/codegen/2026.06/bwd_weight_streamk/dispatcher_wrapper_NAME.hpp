// {"variant": "bwd_weight", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "layout": "nhwgc", "tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16, "pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle", "vector_a": 8, "vector_b": 8, "vector_c": 8, "double_smem_buffer": false, "num_wave_groups": 1, "num_groups_to_merge": 1, "pad_m": true, "pad_n": true, "pad_k": true, "specialization": "default", "two_stage": false, "explicit_gemm": false, "split_image": false, "streamk": "tree", "streamk_persistent": true, "block_per_cu": 0}
// ckrules 0.0.0, rule book test, grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_streamk_tree_persistent
// Makes the kernel known to the dispatcher.
#pragma once

#include <memory>
#include <string>

#include "ck_tile/dispatcher.hpp"
#include "ck_tile/dispatcher/grouped_conv_utils.hpp"

#include "../grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_streamk_tree_persistent.hpp"

namespace ck_tile {
namespace dispatcher {
namespace generated {

inline GroupedConvKernelInstancePtr make_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_streamk_tree_persistent(const std::string& gfx_arch = "gfx942")
{
    GroupedConvKernelKey key;
    key.signature.dtype_in  = DataType::FP16;
    key.signature.dtype_wei = DataType::FP16;
    key.signature.dtype_out = DataType::FP16;
    key.signature.dtype_acc = DataType::FP32;
    key.signature.layout    = "nhwgc";
    key.signature.conv_type = "bwd_weight";
    key.signature.num_dims  = 2;
    key.signature.groups    = 1;

    key.algorithm.tile_shape      = {128, 128, 64};
    key.algorithm.wave_shape      = {2, 2, 1};
    key.algorithm.warp_tile_shape = {32, 32, 16};
    key.algorithm.pipeline        = Pipeline::CompV3;
    key.algorithm.scheduler       = Scheduler::Intrawave;
    key.algorithm.epilogue        = Epilogue::CShuffle;
    key.gfx_arch = gfx_arch;

    return std::make_shared<GroupedConvKernelInstance>(
        key,
        "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_streamk_tree_persistent",
        [](const ::ck_tile::GroupedConvBwdWeightHostArgs& args, const ::ck_tile::stream_config& s) {
            return grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_streamk_tree_persistent_Launcher::launch(args, s);
        });
}

} // namespace generated
} // namespace dispatcher
} // namespace ck_tile
