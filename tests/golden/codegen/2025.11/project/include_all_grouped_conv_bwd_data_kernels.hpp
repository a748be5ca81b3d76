// {"ck": "2025.11", "arch": "gfx942", "kernels": 4}
// ckrules 0.0.0, rule book test
// Every bwd_data kernel of this folder.
#pragma once

#include "grouped_conv_bwd_data_fp16_nhwgc_3d_mem_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8.hpp"

using SelectedConvBwdDataLauncher = grouped_conv_bwd_data_fp16_nhwgc_3d_mem_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_Launcher;
