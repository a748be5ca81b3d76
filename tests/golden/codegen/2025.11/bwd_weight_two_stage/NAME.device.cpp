// {"variant": "bwd_weight", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "layout": "nhwgc", "tile_m": 64, "tile_n": 64, "tile_k": 32, "wave_m": 2, "wave_n": 2, "wave_k": 1, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 8, "pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle", "vector_a": 8, "vector_b": 8, "vector_c": 4, "double_smem_buffer": false, "num_wave_groups": 1, "num_groups_to_merge": 1, "pad_m": true, "pad_n": true, "pad_k": true, "specialization": "default", "two_stage": true, "explicit_gemm": false, "split_image": false, "streamk": "off", "streamk_persistent": false, "block_per_cu": 0}
// ckrules 0.0.0, rule book test, grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage
// Device code object: one extern "C" entry for each instantiation that a launch may need.
#define CKRULES_TYPES_ONLY 1
#include "runtime/ckrules_device.h"

#include "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage.hpp"

namespace kernel = ns_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage;

using Entry1 = kernel::Variant<true, ck_tile::TailNumber::Full, ck_tile::memory_operation_enum::set>::Kernel;

extern "C" CKRULES_ENTRY(Entry1::kBlockSize, kernel::Config::kBlockPerCu)
    grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage__hot_full_set(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry1{}(kargs));
}

using Entry2 = kernel::Variant<false, ck_tile::TailNumber::Odd, ck_tile::memory_operation_enum::set>::Kernel;

extern "C" CKRULES_ENTRY(Entry2::kBlockSize, kernel::Config::kBlockPerCu)
    grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage__cold_odd_set(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry2{}(kargs));
}

using Entry3 = kernel::Variant<false, ck_tile::TailNumber::Even, ck_tile::memory_operation_enum::set>::Kernel;

extern "C" CKRULES_ENTRY(Entry3::kBlockSize, kernel::Config::kBlockPerCu)
    grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage__cold_even_set(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry3{}(kargs));
}

using Entry4 = kernel::Variant<true, ck_tile::TailNumber::Full, ck_tile::memory_operation_enum::atomic_add>::Kernel;

extern "C" CKRULES_ENTRY(Entry4::kBlockSize, kernel::Config::kBlockPerCu)
    grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage__hot_full_atomic_add(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry4{}(kargs));
}

using Entry5 = kernel::Variant<false, ck_tile::TailNumber::Odd, ck_tile::memory_operation_enum::atomic_add>::Kernel;

extern "C" CKRULES_ENTRY(Entry5::kBlockSize, kernel::Config::kBlockPerCu)
    grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage__cold_odd_atomic_add(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry5{}(kargs));
}

using Entry6 = kernel::Variant<false, ck_tile::TailNumber::Even, ck_tile::memory_operation_enum::atomic_add>::Kernel;

extern "C" CKRULES_ENTRY(Entry6::kBlockSize, kernel::Config::kBlockPerCu)
    grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage__cold_even_atomic_add(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry6{}(kargs));
}

extern "C" CKRULES_ENTRY(kernel::Convert::kBlockSize, kernel::Config::kBlockPerCu)
    grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage__convert(kernel::ConvertArgs kargs)
{
    CKRULES_RUN(kernel::Convert{}(
        kargs.lengths, kargs.strides, kargs.strides, kargs.sources, kargs.target));
}
