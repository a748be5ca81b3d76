// {"ck": "2026.06", "arch": "gfx950", "kernels": 5}
// ckrules 0.0.0, rule book test
// Every forward kernel of this folder.
#pragma once

#include "grouped_conv_fwd_fp16_nhwgc_2d_wavelet_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8.hpp"
#include "grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_filter1x1_stride1_pad0_explicit_gemm.hpp"
#include "grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8.hpp"

using SelectedConvKernelLauncher = grouped_conv_fwd_fp16_nhwgc_2d_wavelet_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_Launcher;
