// {"variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "layout": "ngchw", "tile_h": 16, "tile_w": 16, "filter": 3, "stride_h": 1, "stride_w": 1, "pad_h": 1, "pad_w": 1, "nbatch": 8, "sub_h": 4, "sub_w": 8, "in_vec": 8, "out_vec": 8}
// ckrules 0.0.0, rule book test, grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8
// Device code object: one extern "C" entry for each instantiation that a launch may need.
#define CKRULES_TYPES_ONLY 1
#include "runtime/ckrules_device.h"

#include "grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8.hpp"

namespace kernel = ns_grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8;

using Entry1 = kernel::Reference;

extern "C" CKRULES_ENTRY(Entry1::kBlockSize, kernel::Config::kBlockPerCu)
    grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8__main(kernel::KernelArgs kargs)
{
    CKRULES_RUN(Entry1{}(kargs));
}
