// {"variant": "forward", "arch": "gfx942", "dtype": "bf16", "ndim": 1, "layout": "nwgc", "tile_m": 128, "tile_n": 128, "tile_k": 64, "wave_m": 2, "wave_n": 2, "wave_k": 1, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16, "pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle", "vector_a": 8, "vector_b": 8, "vector_c": 8, "double_smem_buffer": false, "num_wave_groups": 1, "num_groups_to_merge": 1, "pad_m": true, "pad_n": true, "pad_k": true, "specialization": "default", "two_stage": false, "explicit_gemm": false, "split_image": true, "streamk": "off", "streamk_persistent": false, "block_per_cu": 0}
// ckrules 0.0.0, rule book test, grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor
// Interface: CK 2025.11, include/ck_tile/ops and example/ck_tile/20_grouped_convolution.
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

namespace ns_grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor {

using ck_tile::index_t;

struct grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor_Config
{
    using InDataType  = ck_tile::bf16_t;
    using WeiDataType = ck_tile::bf16_t;
    using AccDataType = float;
    using OutDataType = ck_tile::bf16_t;

    using InLayout  = ck_tile::tensor_layout::convolution::NWGC;
    using WeiLayout = ck_tile::tensor_layout::convolution::GKXC;
    using OutLayout = ck_tile::tensor_layout::convolution::NWGK;

    static constexpr index_t NDimSpatial = 1;
    static constexpr auto ConvSpec =
        ck_tile::ConvolutionSpecialization::Default;

    static constexpr index_t M_Tile      = 128;
    static constexpr index_t N_Tile      = 128;
    static constexpr index_t K_Tile      = 64;
    static constexpr index_t M_Warp      = 2;
    static constexpr index_t N_Warp      = 2;
    static constexpr index_t K_Warp      = 1;
    static constexpr index_t M_Warp_Tile = 32;
    static constexpr index_t N_Warp_Tile = 32;
    static constexpr index_t K_Warp_Tile = 16;

    static constexpr index_t VectorSizeA = 8;
    static constexpr index_t VectorSizeB = 8;
    static constexpr index_t VectorSizeC = 8;

    static constexpr bool kPadM = true;
    static constexpr bool kPadN = true;
    static constexpr bool kPadK = true;

    static constexpr auto Pipeline  = ck_tile::GemmPipeline::COMPUTE_V3;
    static constexpr auto Scheduler = ck_tile::GemmPipelineScheduler::Intrawave;

    static constexpr bool DoubleSmemBuffer     = false;
    static constexpr bool UseCShuffleEpilogue  = true;
    static constexpr int kBlockPerCu           = 2;
    static constexpr index_t NumWaveGroups     = 1;
    static constexpr index_t NumGroupsToMerge  = 1;
    static constexpr bool EnableSplitImage     = true;
    static constexpr bool ExplicitGemm         = false;
    static constexpr bool TwoStage             = false;
    static constexpr const char* TargetArch    = "gfx942";
};

using Config   = grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor_Config;
using HostArgs = ck_tile::GroupedConvFwdHostArgs<>;
using Same     = ck_tile::element_wise::PassThrough;

// Operands of the implicit GEMM.
using AType      = Config::InDataType;
using BType      = Config::WeiDataType;
using CType      = Config::OutDataType;
using StoredType = CType;

using Shape =
    ck_tile::TileGemmShape<ck_tile::sequence<Config::M_Tile, Config::N_Tile, Config::K_Tile>,
                           ck_tile::sequence<Config::M_Warp, Config::N_Warp, Config::K_Warp>,
                           ck_tile::sequence<Config::M_Warp_Tile,
                                             Config::N_Warp_Tile,
                                             Config::K_Warp_Tile>>;

using ConvTraits = ck_tile::GroupedConvTraits<Config::NDimSpatial,
                                              Config::ConvSpec,
                                              Config::InLayout,
                                              Config::WeiLayout,
                                              ck_tile::tuple<>,
                                              Config::OutLayout,
                                              Config::VectorSizeA,
                                              Config::VectorSizeB,
                                              Config::VectorSizeC,
                                              Config::NumGroupsToMerge,
                                              Config::EnableSplitImage>;
using Fixed      = ConvTraits::FixedGemmParams;

using Partitioner = ck_tile::GemmSpatiallyLocalTilePartitioner<Shape,
                                                               Fixed::TilePartitionerGroupNum,
                                                               Fixed::TilePartitionerM01>;

using GemmTraits = ck_tile::TileGemmUniversalTraits<Config::kPadM,
                                                    Config::kPadN,
                                                    Config::kPadK,
                                                    Config::DoubleSmemBuffer,
                                                    ConvTraits::AsLayoutFwd,
                                                    ConvTraits::BsLayoutFwd,
                                                    ConvTraits::CLayoutFwd,
                                                    Fixed::TransposeC,
                                                    Fixed::UseStructuredSparsity,
                                                    Fixed::Persistent,
                                                    Config::NumWaveGroups>;

// Knows hot loop and tail of a number of K steps.
using TailProblem = ck_tile::GemmPipelineProblem<
    AType,
    BType,
    Config::AccDataType,
    Shape,
    ConvTraits::GroupedConvImplicitGemmTraitsFwd<Config::NumWaveGroups>,
    Same,
    Same,
    CType,
    Fixed::FixedVectorSize,
    Config::VectorSizeA,
    Config::VectorSizeB>;
using Base = ck_tile::BaseGemmPipelineAgBgCrCompV3<TailProblem>;

template <bool HotLoop, ck_tile::TailNumber Tail, ck_tile::memory_operation_enum Operation>
struct Variant
{
    using Problem = ck_tile::UniversalGemmPipelineProblem<AType,
                                                          BType,
                                                          Config::AccDataType,
                                                          Shape,
                                                          GemmTraits,
                                                          Config::Scheduler,
                                                          HotLoop,
                                                          Tail,
                                                          Same,
                                                          Same,
                                                          CType,
                                                          Fixed::FixedVectorSize,
                                                          Config::VectorSizeA,
                                                          Config::VectorSizeB>;

    using Pipeline = ck_tile::GemmPipelineAgBgCrCompV3<Problem>;

    using Epilogue = ck_tile::CShuffleEpilogue<
        ck_tile::CShuffleEpilogueProblem<AType,
                                         BType,
                                         ck_tile::tuple<>,
                                         Config::AccDataType,
                                         StoredType,
                                         ConvTraits::ImplicitGemmDsLayout,
                                         Fixed::ELayout,
                                         Same,
                                         Config::M_Tile,
                                         Config::N_Tile,
                                         Config::M_Warp,
                                         Config::N_Warp,
                                         Config::M_Warp_Tile,
                                         Config::N_Warp_Tile,
                                         Config::K_Warp_Tile,
                                         Fixed::TransposeC,
                                         Operation,
                                         Config::NumWaveGroups,
                                         Fixed::FixedVectorSize,
                                         Config::VectorSizeC>>;

    using Kernel = ck_tile::GroupedConvolutionForwardKernel<ConvTraits,
                                                                   Partitioner,
                                                                   Pipeline,
                                                                   Epilogue>;
};

using Reference  = Variant<true, ck_tile::TailNumber::Full, ck_tile::memory_operation_enum::set>::Kernel;
using KernelArgs = Reference::GroupedConvFwdKernelArgsSpecialized;

inline index_t volume(const std::vector<ck_tile::long_index_t>& lengths)
{
    ck_tile::long_index_t product = 1;
    for(const auto length : lengths)
        product *= length;
    return static_cast<index_t>(product);
}

inline index_t k_steps(const HostArgs& args)
{
    const index_t gemm_k = args.C_ * volume(args.filter_spatial_lengths_);
    const index_t grain   = args.k_batch * Config::K_Tile;
    const index_t k_split = (gemm_k + grain - 1) / grain * Config::K_Tile;
    return Partitioner::GetLoopNum(k_split);
}

struct Prepared
{
    KernelArgs kargs;
    dim3 grid;
};

inline Prepared prepare(const HostArgs& args)
{
    auto kargs = Reference::MakeKernelArgs(args);
    // An image that needs no split is one piece that covers it.
    using Transform = ck_tile::TransformConvFwdToGemm<Config::NDimSpatial,
                                                      Config::ConvSpec,
                                                      Config::VectorSizeA,
                                                      Config::VectorSizeB,
                                                      Config::VectorSizeC,
                                                      1,
                                                      false,
                                                      AType,
                                                      CType>;
    const auto& out     = args.output_spatial_lengths_;
    const index_t out_w = out[Config::NDimSpatial - 1];
    const index_t out_h = Config::NDimSpatial > 1 ? out[Config::NDimSpatial - 2] : 1;
    const index_t out_d = Config::NDimSpatial > 2 ? out[Config::NDimSpatial - 3] : 1;
    const auto split =
        Transform::GetSplitImageInfo(args.G_, args.N_, args.C_, args.K_, out_d, out_h, out_w);
    const index_t pieces_d = split.should_split ? split.num_d_pieces : 1;
    const index_t pieces_h = split.should_split ? split.num_h_pieces : 1;
    const index_t pieces_w = split.should_split ? split.num_w_pieces : 1;

    auto& image         = kargs.split_image;
    image.total_d       = out_d;
    image.total_h       = out_h;
    image.total_w       = out_w;
    image.total_spatial = out_d * out_h * out_w;
    image.num_d_pieces  = pieces_d;
    image.num_h_pieces  = pieces_h;
    image.num_w_pieces  = pieces_w;

    kargs.num_spatial_pieces = pieces_d * pieces_h * pieces_w;
    index_t blocks           = 0;
    for(index_t i = 0; i < kargs.num_spatial_pieces; ++i)
    {
        const auto piece = ck_tile::calculate_spatial_piece<Partitioner>(i,
                                                                         pieces_d,
                                                                         pieces_h,
                                                                         pieces_w,
                                                                         out_d / pieces_d,
                                                                         out_h / pieces_h,
                                                                         out_w / pieces_w,
                                                                         out_d,
                                                                         out_h,
                                                                         out_w,
                                                                         kargs.n_per_split,
                                                                         args.K_,
                                                                         blocks);
        image.pieces[i]  = {piece.block_start,
                            piece.block_end,
                            piece.d_start,
                            piece.h_start,
                            piece.w_start,
                            piece.d_size,
                            piece.h_size,
                            piece.w_size};
        blocks           = piece.block_end;
    }
    return {kargs, dim3(blocks, kargs.GemmBatch, kargs.n_splits)};
}

inline bool supported(const KernelArgs& kargs)
{
    return Reference::IsSupportedArgument(kargs);
}

// Calls run(hot loop, tail), both as constants, with those of a number of K steps.
template <typename Run>
void with_tail(const index_t steps, const Run& run)
{
    Base::TailHandler(run, Base::BlockHasHotloop(steps), Base::GetBlockLoopTailNum(steps));
}

#ifndef CKRULES_TYPES_ONLY

struct grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor_Launcher
{
    using KernelConfig = grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor_Config;
    using InDataType   = KernelConfig::InDataType;
    using WeiDataType  = KernelConfig::WeiDataType;
    using AccDataType  = KernelConfig::AccDataType;
    using OutDataType  = KernelConfig::OutDataType;
    using InLayout     = KernelConfig::InLayout;
    using WeiLayout    = KernelConfig::WeiLayout;
    using OutLayout    = KernelConfig::OutLayout;

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
            throw std::runtime_error("grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor: arguments are not supported");
        float milliseconds = 0;

        const auto run = [&](const auto hot, const auto tail, const auto operation) {
            using Kernel     = typename Variant<hot.value, tail.value, operation.value>::Kernel;
            const dim3 block = Kernel::BlockSize();
            const auto main  = ck_tile::make_kernel<Config::kBlockPerCu>(
                Kernel{}, prepared.grid, block, 0, prepared.kargs);
            milliseconds = ck_tile::launch_kernel(s, main);
        };

        with_tail(k_steps(args), [&](const auto hot, const auto tail) {
            using ck_tile::memory_operation_enum;
            run(hot,
                tail,
                ck_tile::integral_constant<memory_operation_enum, memory_operation_enum::set>{});
        });
        return milliseconds;
    }

#ifdef CK_EXPERIMENTAL_BUILDER
    static std::string get_instance_string() { return Reference{}.GetInstanceString(); }
#endif
};

using SelectedConvKernelLauncher = grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor_Launcher;
constexpr const char* CONV_FWD_KERNEL_NAME = "grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor";

#endif // CKRULES_TYPES_ONLY

} // namespace ns_grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor

using grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor_Config = ns_grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor::grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor_Config;

#ifndef CKRULES_TYPES_ONLY
using grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor_Launcher = ns_grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor::grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor_Launcher;

#ifdef CK_TILE_SINGLE_KERNEL_INCLUDE
using ns_grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor::SelectedConvKernelLauncher;
using ns_grouped_conv_fwd_bf16_nhwgc_1d_compv3_cshuffle_intrawave_128x128x64_2x2x1_32x32x16_vec8_8_8_large_tensor::CONV_FWD_KERNEL_NAME;
#endif
#endif
