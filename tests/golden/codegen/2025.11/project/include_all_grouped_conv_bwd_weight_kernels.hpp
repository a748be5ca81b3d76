// {"ck": "2025.11", "arch": "gfx942", "kernels": 4}
// ckrules 0.0.0, rule book test
// Every bwd_weight kernel of this folder.
#pragma once

#include "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage.hpp"

using SelectedConvBwdWeightLauncher = grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage_Launcher;
