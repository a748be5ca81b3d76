// {"variant": "bwd_data", "arch": "gfx942", "dtype": "fp16", "ndim": 3, "layout": "ndhwgc", "tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16, "pipeline": "mem", "scheduler": "intrawave", "epilogue": "cshuffle", "vector_a": 8, "vector_b": 8, "vector_c": 8, "double_smem_buffer": false, "num_wave_groups": 1, "num_groups_to_merge": 1, "pad_m": true, "pad_n": true, "pad_k": true, "specialization": "default", "two_stage": false, "explicit_gemm": false, "split_image": false, "streamk": "off", "streamk_persistent": false, "block_per_cu": 0}
// ckrules 0.0.0, rule book test, grouped_conv_bwd_data_fp16_nhwgc_3d_mem_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8
// Device code object: one extern "C" entry for each instantiation that a launch may need.
#define CKRULES_TYPES_ONLY 1
#include "runtime/ckrules_device.h"

#include "grouped_conv_bwd_data_fp16_nhwgc_3d_mem_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8.hpp"

namespace kernel = ns_grouped_conv_bwd_data_fp16_nhwgc_3d_mem_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8;

using Entry1 = kernel::Variant<true, ck_tile::TailNumber::One, ck_tile::memory_operation_enum::set>::Kernel;

extern "C" CKRULES_ENTRY(Entry1::kBlockSize, kernel::Config::kBlockPerCu)
    grouped_conv_bwd_data_fp16_nhwgc_3d_mem_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8__hot_one_set(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry1{}(kargs));
}

using Entry2 = kernel::Variant<true, ck_tile::TailNumber::Full, ck_tile::memory_operation_enum::set>::Kernel;

extern "C" CKRULES_ENTRY(Entry2::kBlockSize, kernel::Config::kBlockPerCu)
    grouped_conv_bwd_data_fp16_nhwgc_3d_mem_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8__hot_full_set(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry2{}(kargs));
}

using Entry3 = kernel::Variant<false, ck_tile::TailNumber::One, ck_tile::memory_operation_enum::set>::Kernel;

extern "C" CKRULES_ENTRY(Entry3::kBlockSize, kernel::Config::kBlockPerCu)
    grouped_conv_bwd_data_fp16_nhwgc_3d_mem_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8__cold_one_set(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry3{}(kargs));
}

using Entry4 = kernel::Variant<false, ck_tile::TailNumber::Full, ck_tile::memory_operation_enum::set>::Kernel;

extern "C" CKRULES_ENTRY(Entry4::kBlockSize, kernel::Config::kBlockPerCu)
    grouped_conv_bwd_data_fp16_nhwgc_3d_mem_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8__cold_full_set(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry4{}(kargs));
}
