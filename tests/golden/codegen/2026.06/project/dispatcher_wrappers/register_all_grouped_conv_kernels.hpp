// {"ck": "2026.06", "arch": "gfx950", "kernels": 5}
// ckrules 0.0.0, rule book test
// Registers every kernel of this folder with the dispatcher.
#pragma once

#include <cstddef>
#include <string>

#include "ck_tile/dispatcher.hpp"
#include "ck_tile/dispatcher/grouped_conv_utils.hpp"

#include "dispatcher_wrapper_grouped_conv_fwd_fp16_nhwgc_2d_wavelet_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8.hpp"
#include "dispatcher_wrapper_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_streamk_tree_persistent.hpp"
#include "dispatcher_wrapper_grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_filter1x1_stride1_pad0_explicit_gemm.hpp"
#include "dispatcher_wrapper_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_2stage.hpp"
#include "dispatcher_wrapper_grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8.hpp"

namespace ck_tile {
namespace dispatcher {

inline void register_all_grouped_conv_fwd_kernels(
    const std::string& gfx_arch = "gfx950",
    GroupedConvRegistry::Priority priority = GroupedConvRegistry::Priority::Normal)
{
    auto& registry = GroupedConvRegistry::instance();
    registry.register_kernel(generated::make_grouped_conv_fwd_fp16_nhwgc_2d_wavelet_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8(gfx_arch), priority);
    registry.register_kernel(generated::make_grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_filter1x1_stride1_pad0_explicit_gemm(gfx_arch), priority);
    registry.register_kernel(generated::make_grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8(gfx_arch), priority);
}

inline constexpr std::size_t get_grouped_conv_fwd_kernel_count()
{
    return 3;
}

inline void register_all_grouped_conv_bwd_data_kernels(
    const std::string& gfx_arch = "gfx950",
    GroupedConvRegistry::Priority priority = GroupedConvRegistry::Priority::Normal)
{
    static_cast<void>(gfx_arch);
    static_cast<void>(priority);
}

inline constexpr std::size_t get_grouped_conv_bwd_data_kernel_count()
{
    return 0;
}

inline void register_all_grouped_conv_bwd_weight_kernels(
    const std::string& gfx_arch = "gfx950",
    GroupedConvRegistry::Priority priority = GroupedConvRegistry::Priority::Normal)
{
    auto& registry = GroupedConvRegistry::instance();
    registry.register_kernel(generated::make_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_streamk_tree_persistent(gfx_arch), priority);
    registry.register_kernel(generated::make_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_2stage(gfx_arch), priority);
}

inline constexpr std::size_t get_grouped_conv_bwd_weight_kernel_count()
{
    return 2;
}

inline void register_all_grouped_conv_kernels(
    const std::string& gfx_arch = "gfx950",
    GroupedConvRegistry::Priority priority = GroupedConvRegistry::Priority::Normal)
{
    register_all_grouped_conv_fwd_kernels(gfx_arch, priority);
    register_all_grouped_conv_bwd_data_kernels(gfx_arch, priority);
    register_all_grouped_conv_bwd_weight_kernels(gfx_arch, priority);
}

inline constexpr std::size_t get_grouped_conv_kernel_count() { return 5; }

} // namespace dispatcher
} // namespace ck_tile
