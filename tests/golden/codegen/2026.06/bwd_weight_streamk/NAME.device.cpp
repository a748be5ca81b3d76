// {"variant": "bwd_weight", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "layout": "nhwgc", "tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16, "pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle", "vector_a": 8, "vector_b": 8, "vector_c": 8, "double_smem_buffer": false, "num_wave_groups": 1, "num_groups_to_merge": 1, "pad_m": true, "pad_n": true, "pad_k": true, "specialization": "default", "two_stage": false, "explicit_gemm": false, "split_image": false, "streamk": "tree", "streamk_persistent": true, "block_per_cu": 0}
// ckrules 0.0.0, rule book test, grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_streamk_tree_persistent
// Device code object: one extern "C" entry for each instantiation that a launch may need.
#define CKRULES_TYPES_ONLY 1
#include "runtime/ckrules_device.h"

#include "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_streamk_tree_persistent.hpp"

namespace kernel = ns_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_streamk_tree_persistent;

using Entry1 = kernel::Reference;

extern "C" CKRULES_ENTRY(Entry1::kBlockSize, kernel::Config::kBlockPerCu)
    grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_streamk_tree_persistent__main(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry1{}(kargs));
}
