// POINT
// ckrules 0.0.0, rule book test, NAME
// Makes the kernel known to the dispatcher.
#pragma once

#include <memory>
#include <string>

#include "ck_tile/dispatcher.hpp"
#include "ck_tile/dispatcher/grouped_conv_utils.hpp"

#include "../NAME.hpp"

namespace ck_tile {
namespace dispatcher {
namespace generated {

inline GroupedConvKernelInstancePtr make_NAME(const std::string& gfx_arch = "gfx942")
{
    GroupedConvKernelKey key;
    key.signature.dtype_in  = DataType::FP16;
    key.signature.dtype_wei = DataType::FP16;
    key.signature.dtype_out = DataType::FP16;
    key.signature.dtype_acc = DataType::FP32;
    key.signature.layout    = "nhwgc";
    key.signature.conv_type = "forward";
    key.signature.num_dims  = 2;
    key.signature.groups    = 1;

    key.algorithm.tile_shape      = {128, 128, 64};
    key.algorithm.wave_shape      = {2, 2, 1};
    key.algorithm.warp_tile_shape = {32, 32, 16};
    key.algorithm.pipeline        = Pipeline::CompV3;
    key.algorithm.scheduler       = Scheduler::Intrawave;
    key.algorithm.epilogue        = Epilogue::CShuffle;
    key.gfx_arch = gfx_arch;

    return std::make_shared<GroupedConvKernelInstance>(
        key,
        "NAME",
        [](const ::ck_tile::GroupedConvFwdHostArgs<>& args, const ::ck_tile::stream_config& s) {
            return NAME_Launcher::launch(args, s);
        });
}

} // namespace generated
} // namespace dispatcher
} // namespace ck_tile
