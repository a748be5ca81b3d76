// {"ck": "2025.11", "arch": "gfx942", "kernels": 4}
// ckrules 0.0.0, rule book test
// Every forward kernel of this folder.
#pragma once

#include "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8.hpp"
#include "grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor.hpp"

using SelectedConvKernelLauncher = grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_Launcher;
