// POINT
// ckrules 0.0.0, rule book test, NAME
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

namespace ns_NAME {

using ck_tile::index_t;

struct NAME_Config
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
    static constexpr bool EnableSplitImage     = false;
    static constexpr bool ExplicitGemm         = false;
    static constexpr bool TwoStage             = false;
    static constexpr const char* TargetArch    = "gfx942";
};

using Config   = NAME_Config;
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
    const dim3 grid = Reference::GridSize(kargs);
    return {kargs, grid};
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

struct NAME_Launcher
{
    using KernelConfig = NAME_Config;
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
            throw std::runtime_error("NAME: arguments are not supported");
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

using SelectedConvKernelLauncher = NAME_Launcher;
constexpr const char* CONV_FWD_KERNEL_NAME = "NAME";

#endif // CKRULES_TYPES_ONLY

} // namespace ns_NAME

using NAME_Config = ns_NAME::NAME_Config;

#ifndef CKRULES_TYPES_ONLY
using NAME_Launcher = ns_NAME::NAME_Launcher;

#ifdef CK_TILE_SINGLE_KERNEL_INCLUDE
using ns_NAME::SelectedConvKernelLauncher;
using ns_NAME::CONV_FWD_KERNEL_NAME;
#endif
#endif
