// {"variant": "bwd_weight", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "layout": "nhwgc", "tile_m": 64, "tile_n": 64, "tile_k": 32, "wave_m": 2, "wave_n": 2, "wave_k": 1, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 8, "pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle", "vector_a": 8, "vector_b": 8, "vector_c": 4, "double_smem_buffer": false, "num_wave_groups": 1, "num_groups_to_merge": 1, "pad_m": true, "pad_n": true, "pad_k": true, "specialization": "default", "two_stage": true, "explicit_gemm": false, "split_image": false, "streamk": "off", "streamk_persistent": false, "block_per_cu": 0}
// ckrules 0.0.0, rule book test, grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage
// Compiles the kernel's launcher as a unit of its own.
#include "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage.hpp"

namespace ckrules_units {

// Holds the launcher's address, so that compiler and linker keep it with its kernels.
decltype(&grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage_Launcher::launch) volatile grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage_linked =
    &grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage_Launcher::launch;

} // namespace ckrules_units
