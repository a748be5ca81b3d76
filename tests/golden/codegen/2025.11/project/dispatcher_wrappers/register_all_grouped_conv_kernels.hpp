// {"ck": "2025.11", "arch": "gfx942", "kernels": 4}
// ckrules 0.0.0, rule book test
// Registers every kernel of this folder with the dispatcher.
#pragma once

#include <cstddef>
#include <string>

#include "ck_tile/dispatcher/grouped_conv_registry.hpp"

#include "dispatcher_wrapper_grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8.hpp"
#include "dispatcher_wrapper_grouped_conv_bwd_data_fp16_nhwgc_3d_mem_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8.hpp"
#include "dispatcher_wrapper_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage.hpp"

namespace ck_tile {
namespace dispatcher {

inline void register_all_grouped_conv_fwd_kernels(
    const std::string& gfx_arch = "gfx942",
    const Priority priority     = Priority::Normal)
{
    const auto add = [&](const GroupedConvKernelInstancePtr& kernel) {
        GroupedConvRegistry::instance().register_kernel(kernel->key(), kernel, priority);
    };
    add(generated::make_grouped_conv_fwd_fp16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8(gfx_arch));
}

inline constexpr std::size_t get_grouped_conv_fwd_kernel_count()
{
    return 1;
}

inline void register_all_grouped_conv_bwd_data_kernels(
    const std::string& gfx_arch = "gfx942",
    const Priority priority     = Priority::Normal)
{
    const auto add = [&](const GroupedConvKernelInstancePtr& kernel) {
        GroupedConvRegistry::instance().register_kernel(kernel->key(), kernel, priority);
    };
    add(generated::make_grouped_conv_bwd_data_fp16_nhwgc_3d_mem_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8(gfx_arch));
}

inline constexpr std::size_t get_grouped_conv_bwd_data_kernel_count()
{
    return 1;
}

inline void register_all_grouped_conv_bwd_weight_kernels(
    const std::string& gfx_arch = "gfx942",
    const Priority priority     = Priority::Normal)
{
    const auto add = [&](const GroupedConvKernelInstancePtr& kernel) {
        GroupedConvRegistry::instance().register_kernel(kernel->key(), kernel, priority);
    };
    add(generated::make_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage(gfx_arch));
}

inline constexpr std::size_t get_grouped_conv_bwd_weight_kernel_count()
{
    return 1;
}

inline void register_all_grouped_conv_kernels(
    const std::string& gfx_arch = "gfx942",
    const Priority priority     = Priority::Normal)
{
    register_all_grouped_conv_fwd_kernels(gfx_arch, priority);
    register_all_grouped_conv_bwd_data_kernels(gfx_arch, priority);
    register_all_grouped_conv_bwd_weight_kernels(gfx_arch, priority);
}

inline constexpr std::size_t get_grouped_conv_kernel_count() { return 3; }

} // namespace dispatcher
} // namespace ck_tile
