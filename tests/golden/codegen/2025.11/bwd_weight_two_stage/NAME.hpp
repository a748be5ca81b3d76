// {"variant": "bwd_weight", "arch": "gfx942", "dtype": "fp16", "ndim": 2, "layout": "nhwgc", "tile_m": 64, "tile_n": 64, "tile_k": 32, "wave_m": 2, "wave_n": 2, "wave_k": 1, "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 8, "pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle", "vector_a": 8, "vector_b": 8, "vector_c": 4, "double_smem_buffer": false, "num_wave_groups": 1, "num_groups_to_merge": 1, "pad_m": true, "pad_n": true, "pad_k": true, "specialization": "default", "two_stage": true, "explicit_gemm": false, "split_image": false, "streamk": "off", "streamk_persistent": false, "block_per_cu": 0}
// ckrules 0.0.0, rule book test, grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage
// Interface: CK 2025.11, include/ck_tile/ops and example/ck_tile/20_grouped_convolution.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "ck_tile/core.hpp"
#include "ck_tile/host/device_memory.hpp"
#include "ck_tile/host/kernel_launch.hpp"
#include "ck_tile/ops/elementwise.hpp"
#include "ck_tile/ops/elementwise/unary_element_wise_operation.hpp"
#include "ck_tile/ops/epilogue.hpp"
#include "ck_tile/ops/gemm.hpp"
#include "ck_tile/ops/grouped_convolution.hpp"
#include "ck_tile/ops/grouped_convolution/kernel/grouped_convolution_backward_weight_kernel.hpp"

namespace ns_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage {

using ck_tile::index_t;

struct grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage_Config
{
    using InDataType  = ck_tile::half_t;
    using WeiDataType = ck_tile::half_t;
    using AccDataType = float;
    using OutDataType = ck_tile::half_t;

    using InLayout  = ck_tile::tensor_layout::convolution::NHWGC;
    using WeiLayout = ck_tile::tensor_layout::convolution::GKYXC;
    using OutLayout = ck_tile::tensor_layout::convolution::NHWGK;

    static constexpr index_t NDimSpatial = 2;
    static constexpr auto ConvSpec =
        ck_tile::ConvolutionSpecialization::Default;

    static constexpr index_t M_Tile      = 64;
    static constexpr index_t N_Tile      = 64;
    static constexpr index_t K_Tile      = 32;
    static constexpr index_t M_Warp      = 2;
    static constexpr index_t N_Warp      = 2;
    static constexpr index_t K_Warp      = 1;
    static constexpr index_t M_Warp_Tile = 32;
    static constexpr index_t N_Warp_Tile = 32;
    static constexpr index_t K_Warp_Tile = 8;

    static constexpr index_t VectorSizeA = 8;
    static constexpr index_t VectorSizeB = 8;
    static constexpr index_t VectorSizeC = 4;

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
    static constexpr bool EnableSplitImage     = false;
    static constexpr bool ExplicitGemm         = false;
    static constexpr bool TwoStage             = true;
    static constexpr const char* TargetArch    = "gfx942";
};

using Config   = grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage_Config;
using HostArgs = ck_tile::GroupedConvBwdWeightHostArgs;
using Same     = ck_tile::element_wise::PassThrough;

// Operands of the implicit GEMM.
using AType      = Config::OutDataType;
using BType      = Config::InDataType;
using CType      = Config::WeiDataType;
using StoredType = Config::AccDataType;

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
                                                    ConvTraits::AsLayoutBwdWeight,
                                                    ConvTraits::BsLayoutBwdWeight,
                                                    ConvTraits::CLayoutBwdWeight,
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
    ConvTraits::GroupedConvImplicitGemmTraitsBwdWeight<Config::NumWaveGroups>,
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

    using Kernel = ck_tile::GroupedConvolutionBackwardWeightKernel<ConvTraits,
                                                                   Partitioner,
                                                                   Pipeline,
                                                                   Epilogue>;
};

using Reference  = Variant<true, ck_tile::TailNumber::Full, ck_tile::memory_operation_enum::set>::Kernel;
using KernelArgs = Reference::GroupedConvBwdWeightKernelArgsSpecialized;

inline index_t volume(const std::vector<ck_tile::long_index_t>& lengths)
{
    ck_tile::long_index_t product = 1;
    for(const auto length : lengths)
        product *= length;
    return static_cast<index_t>(product);
}

inline index_t k_steps(const HostArgs& args)
{
    const index_t gemm_k = args.N_ * volume(args.output_spatial_lengths_);
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
    const dim3 grid = Reference::GridSize(kargs);
    return {kargs, grid};
}

inline bool supported(const KernelArgs& kargs)
{
    return Reference::IsSupportedArgument(kargs);
}

using ConvertBlock  = ck_tile::sequence<2048>;
using ConvertShape  = ck_tile::
    ElementWiseShape<ck_tile::sequence<8>, ConvertBlock, ck_tile::sequence<64>, StoredType>;
using ConvertProblem = ck_tile::ElementWisePipelineProblem<StoredType,
                                                           StoredType,
                                                           CType,
                                                           ConvertShape,
                                                           ck_tile::element_wise::UnaryConvert>;
using Convert = ck_tile::ElementWiseKernel<ConvertProblem, ck_tile::ElementWiseDefaultPolicy>;

// Everything the converting kernel takes: rows G*K, columns C*volume of the filter.
struct ConvertArgs
{
    ck_tile::tuple<index_t, index_t> lengths;
    ck_tile::tuple<index_t, index_t> strides;
    ck_tile::tuple<const StoredType*> sources;
    CType* target;
};

inline ConvertArgs convert_args(const HostArgs& args, const void* workspace, void* target)
{
    const index_t rows    = args.G_ * args.K_;
    const index_t columns = args.C_ * volume(args.filter_spatial_lengths_);
    return {ck_tile::make_tuple(rows, columns),
            ck_tile::make_tuple(columns, index_t{1}),
            ck_tile::make_tuple(static_cast<const StoredType*>(workspace)),
            static_cast<CType*>(target)};
}

inline index_t convert_grid(const HostArgs& args)
{
    const index_t elements =
        args.G_ * args.K_ * args.C_ * volume(args.filter_spatial_lengths_);
    const index_t block = ConvertBlock::at(ck_tile::number<0>{});
    return (elements + block - 1) / block;
}

// Calls run(hot loop, tail), both as constants, with those of a number of K steps.
template <typename Run>
void with_tail(const index_t steps, const Run& run)
{
    Base::TailHandler(run, Base::BlockHasHotloop(steps), Base::GetBlockLoopTailNum(steps));
}

#ifndef CKRULES_TYPES_ONLY

struct grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage_Launcher
{
    using KernelConfig = grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage_Config;
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
        const std::size_t bytes = sizeof(StoredType) * args.G_ * args.K_ * args.C_ *
                                  volume(args.filter_spatial_lengths_);
        ck_tile::DeviceMem workspace(bytes);
        HostArgs staged(args);
        staged.wei_ptr = workspace.GetDeviceBuffer();
        const auto prepared = prepare(staged);
        if(!supported(prepared.kargs))
            throw std::runtime_error("grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage: arguments are not supported");
        float milliseconds = 0;

        const auto run = [&](const auto hot, const auto tail, const auto operation) {
            using Kernel     = typename Variant<hot.value, tail.value, operation.value>::Kernel;
            const dim3 block = Kernel::BlockSize();
            const auto main  = ck_tile::make_kernel<Config::kBlockPerCu>(
                Kernel{}, prepared.grid, block, 0, prepared.kargs);
            const auto clear = [&]() {
                if(args.k_batch > 1)
                    ck_tile::hip_check_error(
                        hipMemsetAsync(prepared.kargs.wei_ptr, 0, bytes, s.stream_id_));
            };
            const auto convert =
                convert_args(args, workspace.GetDeviceBuffer(), args.wei_ptr);
            milliseconds = ck_tile::launch_kernel_time_mask(
                s,
                clear,
                main,
                ck_tile::make_kernel<Config::kBlockPerCu>(Convert{},
                                                          convert_grid(args),
                                                          Convert::BlockSize(),
                                                          0,
                                                          convert.lengths,
                                                          convert.strides,
                                                          convert.strides,
                                                          convert.sources,
                                                          convert.target));
        };

        with_tail(k_steps(args), [&](const auto hot, const auto tail) {
            using ck_tile::memory_operation_enum;
            if(args.k_batch == 1)
                run(hot,
                    tail,
                    ck_tile::integral_constant<memory_operation_enum,
                                               memory_operation_enum::set>{});
            else
                run(hot,
                    tail,
                    ck_tile::integral_constant<memory_operation_enum,
                                               memory_operation_enum::atomic_add>{});
        });
        return milliseconds;
    }

#ifdef CK_EXPERIMENTAL_BUILDER
    static std::string get_instance_string() { return Reference{}.GetInstanceString(); }
#endif
};

using SelectedConvBwdWeightLauncher = grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage_Launcher;
constexpr const char* CONV_BWD_WEIGHT_KERNEL_NAME = "grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage";

#endif // CKRULES_TYPES_ONLY

} // namespace ns_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage

using grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage_Config = ns_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage::grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage_Config;

#ifndef CKRULES_TYPES_ONLY
using grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage_Launcher = ns_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage::grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage_Launcher;

#ifdef CK_TILE_SINGLE_KERNEL_INCLUDE
using ns_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage::SelectedConvBwdWeightLauncher;
using ns_grouped_conv_bwd_weight_fp16_nhwgc_2d_compv3_cshuffle_intrawave_64x64x32_2x2x1_32x32x8_vec8_8_4_2stage::CONV_BWD_WEIGHT_KERNEL_NAME;
#endif
#endif
