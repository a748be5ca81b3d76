// {"variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "layout": "ngchw", "tile_h": 16, "tile_w": 16, "filter": 3, "stride_h": 1, "stride_w": 1, "pad_h": 1, "pad_w": 1, "nbatch": 8, "sub_h": 4, "sub_w": 8, "in_vec": 8, "out_vec": 8}
// ckrules 0.0.0, rule book test, grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8
// Interface: CK of June 2026, as the generator of rocm-libraries change 8573 uses it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "ck_tile/core.hpp"
#include "ck_tile/host/kernel_launch.hpp"
#include "ck_tile/ops/elementwise/unary_element_wise_operation.hpp"
#include "ck_tile/ops/epilogue.hpp"
#include "ck_tile/ops/gemm.hpp"
#include "ck_tile/ops/grouped_convolution.hpp"
#include "ck_tile/ops/grouped_convolution/kernel/grouped_convolution_forward_kernel.hpp"
#include "ck_tile/ops/grouped_convolution/pipeline/grouped_convolution_forward_depthwise_pipeline.hpp"

namespace ns_grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8 {

using ck_tile::index_t;

struct grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8_Config
{
    using InDataType  = ck_tile::half_t;
    using WeiDataType = ck_tile::half_t;
    using AccDataType = float;
    using OutDataType = ck_tile::half_t;

    static constexpr index_t NDimSpatial = 2;
    static constexpr index_t BlockSize   = 64;
    static constexpr index_t TileH       = 16;
    static constexpr index_t TileW       = 16;
    static constexpr index_t FilterH     = 3;
    static constexpr index_t FilterW     = 3;
    static constexpr index_t StrideH     = 1;
    static constexpr index_t StrideW     = 1;
    static constexpr index_t DilationH   = 1;
    static constexpr index_t DilationW   = 1;
    static constexpr index_t PadH        = 1;
    static constexpr index_t PadW        = 1;
    static constexpr index_t NBatch      = 8;
    static constexpr index_t SubTileH    = 4;
    static constexpr index_t SubTileW    = 8;
    static constexpr index_t InVec       = 8;
    static constexpr index_t OutVec      = 8;

    static constexpr int kBlockPerCu        = CK_TILE_MIN_BLOCK_PER_CU;
    static constexpr const char* TargetArch = "gfx942";
};

using Config   = grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8_Config;
using HostArgs = ck_tile::GroupedConvFwdHostArgs<>;

using Depthwise = ck_tile::DepthwiseConvFwdTraits<Config::InDataType,
                                                  Config::WeiDataType,
                                                  Config::AccDataType,
                                                  Config::OutDataType,
                                                  Config::BlockSize,
                                                  Config::TileH,
                                                  Config::TileW,
                                                  Config::FilterH,
                                                  Config::FilterW,
                                                  Config::StrideH,
                                                  Config::StrideW,
                                                  Config::DilationH,
                                                  Config::DilationW,
                                                  Config::PadH,
                                                  Config::PadW,
                                                  Config::NBatch,
                                                  Config::SubTileH,
                                                  Config::SubTileW,
                                                  Config::InVec,
                                                  Config::OutVec>;
using Pipeline  = ck_tile::DepthwiseConvFwdPipeline<Depthwise>;

// The layouts are void: the pipeline takes packed NGCHW, GKCYX and NGKHW.
using ConvTraits = ck_tile::GroupedConvTraits<Config::NDimSpatial,
                                              ck_tile::ConvolutionSpecialization::Default,
                                              void,
                                              void,
                                              ck_tile::tuple<>,
                                              void,
                                              Config::InVec,
                                              Config::InVec,
                                              Config::OutVec,
                                              1,
                                              false,
                                              false,
                                              Depthwise>;

// The pipeline stores its result itself.
struct NoEpilogue
{
    using DsDataType    = ck_tile::tuple<>;
    using DsLayout      = ck_tile::tuple<>;
    using ODataType     = Config::OutDataType;
    using AccDataType   = Config::AccDataType;
    using CDElementwise = ck_tile::element_wise::PassThrough;

    static constexpr index_t GetSmemSize() { return 0; }
};

using Reference =
    ck_tile::GroupedConvolutionForwardKernel<ConvTraits, void, Pipeline, NoEpilogue>;
using KernelArgs = Reference::GroupedConvFwdKernelArgsSpecialized;

struct Prepared
{
    KernelArgs kargs;
    dim3 grid;
};

inline Prepared prepare(const HostArgs& args)
{
    auto kargs      = Reference::MakeKernelArgs(args);
    const dim3 grid = Reference::GridSize(kargs);
    return {kargs, grid};
}

inline bool supported(const KernelArgs& kargs)
{
    return Reference::IsSupportedArgument(kargs);
}

#ifndef CKRULES_TYPES_ONLY

struct grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8_Launcher
{
    using KernelConfig = grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8_Config;
    using InDataType   = KernelConfig::InDataType;
    using WeiDataType  = KernelConfig::WeiDataType;
    using AccDataType  = KernelConfig::AccDataType;
    using OutDataType  = KernelConfig::OutDataType;

    static constexpr index_t NDimSpatial = KernelConfig::NDimSpatial;

    static bool is_supported(const ck_tile::conv::ConvParam& problem, const index_t k_batch)
    {
        const HostArgs args(problem, nullptr, nullptr, {}, nullptr, k_batch);
        return supported(prepare(args).kargs);
    }

    static float launch(const HostArgs& args, const ck_tile::stream_config& s)
    {
        const auto prepared = prepare(args);
        if(!supported(prepared.kargs))
            throw std::runtime_error("grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8: arguments are not supported");
        return ck_tile::launch_kernel(
            s,
            ck_tile::make_kernel<Config::kBlockPerCu>(
                Reference{}, prepared.grid, Reference::BlockSize(), 0, prepared.kargs));
    }

#ifdef CK_EXPERIMENTAL_BUILDER
    static std::string get_instance_string() { return Reference{}.GetInstanceString(); }
#endif
};

using SelectedConvKernelLauncher = grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8_Launcher;
constexpr const char* CONV_FWD_KERNEL_NAME = "grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8";

#endif // CKRULES_TYPES_ONLY

} // namespace ns_grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8

using grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8_Config = ns_grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8::grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8_Config;

#ifndef CKRULES_TYPES_ONLY
using grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8_Launcher = ns_grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8::grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8_Launcher;

#ifdef CK_TILE_SINGLE_KERNEL_INCLUDE
using ns_grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8::SelectedConvKernelLauncher;
using ns_grouped_conv_fwd_depthwise_fp16_ngchw_2d_16x16_f3_s1x1_p1x1_nb8_sub4x8_vec8_8::CONV_FWD_KERNEL_NAME;
#endif
#endif
