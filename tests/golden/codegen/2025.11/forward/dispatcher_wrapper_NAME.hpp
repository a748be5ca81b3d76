// POINT
// ckrules 0.0.0, rule book test, NAME
// Makes the kernel known to the dispatcher.
#pragma once

#include <memory>
#include <string>

#include "ck_tile/dispatcher/backends/generated_conv_backend.hpp"
#include "ck_tile/dispatcher/grouped_conv_registry.hpp"

#include "../NAME.hpp"

namespace ck_tile {
namespace dispatcher {
namespace generated {

inline GroupedConvKernelInstancePtr make_NAME(const std::string& gfx_arch = "gfx942")
{
    GroupedConvKernelKey key;
    key.dtype_in      = "fp16";
    key.dtype_wei     = "fp16";
    key.dtype_out     = "fp16";
    key.layout        = "nhwgc";
    key.ndim_spatial  = 2;
    key.op            = GroupedConvOp::Forward;

    key.tile_m        = 128;
    key.tile_n        = 128;
    key.tile_k        = 64;
    key.wave_m        = 2;
    key.wave_n        = 2;
    key.wave_k        = 1;
    key.warp_m        = 32;
    key.warp_n        = 32;
    key.warp_k        = 16;
    key.pipeline      = "compv3";
    key.scheduler     = "intrawave";
    key.epilogue      = "cshuffle";
    key.vector_size_a = 8;
    key.vector_size_b = 8;
    key.vector_size_c = 8;
    key.block_per_cu  = 2;

    key.num_wave_groups     = 1;
    key.num_groups_to_merge = 1;
    key.specialization      = "default";
    key.large_tensor        = false;
    key.streamk_enabled     = false;
    key.streamk_reduction   = "none";
    key.streamk_persistent  = false;
    key.arch          = gfx_arch;

    return std::make_shared<GroupedConvKernelInstance>(
        key,
        "NAME",
        backends::make_conv_fwd_run_fn<::NAME_Launcher, 2>(),
        backends::make_conv_fwd_is_supported_fn<::NAME_Launcher, 2>());
}

} // namespace generated
} // namespace dispatcher
} // namespace ck_tile
