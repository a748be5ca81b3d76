// {"ck": "2026.06", "arch": "gfx950", "kernels": 5}
// ckrules 0.0.0, rule book test
// Every bwd_weight kernel of this folder.
#pragma once

#include "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_streamk_tree_persistent.hpp"
#include "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_2stage.hpp"

using SelectedConvBwdWeightLauncher = grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_streamk_tree_persistent_Launcher;
