// {"variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "layout": "ngchw", "tile_h": 16, "tile_w": 16, "filter": 3, "stride_h": 1, "stride_w": 1, "pad_h": 1, "pad_w": 1, "nbatch": 8, "sub_h": 4, "sub_w": 8, "in_vec": 8, "out_vec": 8}
// ckrules 0.0.0, rule book test, grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8
// Compiles the kernel's launcher as a unit of its own.
#include "grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8.hpp"

namespace ckrules_units {

// Holds the launcher's address, so that compiler and linker keep it with its kernels.
decltype(&grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8_Launcher::launch) volatile grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8_linked =
    &grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8_Launcher::launch;

} // namespace ckrules_units
