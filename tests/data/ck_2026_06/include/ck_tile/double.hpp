// The interface of CK of June 2026 as generated kernels use it; see README.md.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <hip/hip_runtime.h>

#define CK_TILE_MIN_BLOCK_PER_CU 2

namespace ck_tile {

using index_t      = std::int32_t;
using long_index_t = std::int64_t;
using half_t       = _Float16;
struct bf16_t
{
    std::uint16_t bits;
};

template <index_t N>
using number = std::integral_constant<index_t, N>;
template <bool B>
using bool_constant = std::integral_constant<bool, B>;

template <index_t... Is>
struct sequence
{
    template <index_t N>
    static constexpr index_t at(number<N>)
    {
        return std::array<index_t, sizeof...(Is)>{Is...}[N];
    }
};

template <typename... Ts>
using tuple = std::tuple<Ts...>;
template <typename... Ts>
constexpr auto make_tuple(Ts... values)
{
    return std::make_tuple(values...);
}

inline void hip_check_error(hipError_t error)
{
    if(error != hipSuccess)
        throw std::runtime_error(hipGetErrorString(error));
}

inline std::string get_device_name()
{
    hipDeviceProp_t properties{};
    int device = 0;
    if(hipGetDevice(&device) != hipSuccess ||
       hipGetDeviceProperties(&properties, device) != hipSuccess)
        return {};
    const std::string name(properties.gcnArchName);
    return name.substr(0, name.find(':'));
}

inline bool is_wave32()
{
    hipDeviceProp_t properties{};
    return hipGetDeviceProperties(&properties, 0) == hipSuccess && properties.major > 9;
}

namespace element_wise {
struct PassThrough
{
};
struct UnaryConvert
{
};
} // namespace element_wise

namespace tensor_layout {
namespace gemm {
struct RowMajor
{
};
struct ColumnMajor
{
};
} // namespace gemm
namespace convolution {
#define LAYOUT(name) \
    struct name      \
    {                \
    };
LAYOUT(NWGC)
LAYOUT(NHWGC)
LAYOUT(NDHWGC)
LAYOUT(GKXC)
LAYOUT(GKYXC)
LAYOUT(GKZYXC)
LAYOUT(NWGK)
LAYOUT(NHWGK)
LAYOUT(NDHWGK)
#undef LAYOUT
} // namespace convolution
} // namespace tensor_layout

enum struct ConvolutionSpecialization
{
    Default,
    Filter1x1Pad0,
    Filter1x1Stride1Pad0,
    Filter3x3,
};

enum struct GemmPipeline
{
    COMPUTE_ASYNC,
    COMPUTE_V3,
    COMPUTE_V4,
    COMPUTE_V5,
    COMPUTE_V6,
    MEMORY,
    BASIC_V1,
    BASIC_V2,
    BASIC_ASYNC_V1,
    WAVELET,
};

enum struct GemmPipelineScheduler
{
    Default,
    Intrawave,
    Interwave,
};

enum struct StreamKReductionStrategy
{
    Atomic,
    Linear,
    Tree,
};

enum struct TailNumber
{
    Odd,
    Even,
    Full,
};

namespace conv {
struct ConvParam
{
    ConvParam(long_index_t ndim,
              long_index_t groups,
              long_index_t batch,
              long_index_t out_channels,
              long_index_t in_channels,
              const std::vector<long_index_t>& filter,
              const std::vector<long_index_t>& input,
              const std::vector<long_index_t>& strides,
              const std::vector<long_index_t>& dilations,
              const std::vector<long_index_t>& left,
              const std::vector<long_index_t>& right)
        : num_dim_spatial_(ndim),
          G_(groups),
          N_(batch),
          K_(out_channels),
          C_(in_channels),
          filter_spatial_lengths_(filter),
          input_spatial_lengths_(input),
          conv_filter_strides_(strides),
          conv_filter_dilations_(dilations),
          input_left_pads_(left),
          input_right_pads_(right)
    {
        for(std::size_t i = 0; i < input.size(); ++i)
            output_spatial_lengths_.push_back(
                (input[i] + left[i] + right[i] - dilations[i] * (filter[i] - 1) - 1) / strides[i] +
                1);
    }

    long_index_t num_dim_spatial_, G_, N_, K_, C_;
    std::vector<long_index_t> filter_spatial_lengths_, input_spatial_lengths_;
    std::vector<long_index_t> output_spatial_lengths_, conv_filter_strides_;
    std::vector<long_index_t> conv_filter_dilations_, input_left_pads_, input_right_pads_;
};
} // namespace conv

template <typename In, typename Wei, typename Out>
struct GroupedConvHostArgs : conv::ConvParam
{
    GroupedConvHostArgs(const conv::ConvParam& problem,
                        In in,
                        Wei wei,
                        const std::vector<const void*>,
                        Out out,
                        index_t split)
        : conv::ConvParam(problem), in_ptr(in), wei_ptr(wei), out_ptr(out), k_batch(split)
    {
    }

    template <typename T>
    std::size_t GetInputByte() const
    {
        return sizeof(T) * G_ * N_ * C_ * volume(input_spatial_lengths_);
    }
    template <typename T>
    std::size_t GetWeightByte() const
    {
        return sizeof(T) * G_ * K_ * C_ * volume(filter_spatial_lengths_);
    }
    static std::size_t volume(const std::vector<long_index_t>& lengths)
    {
        return std::accumulate(
            lengths.begin(), lengths.end(), std::size_t{1}, std::multiplies<std::size_t>());
    }

    In in_ptr;
    Wei wei_ptr;
    Out out_ptr;
    index_t k_batch;
};

template <typename CDElementwise = element_wise::PassThrough>
using GroupedConvFwdHostArgs       = GroupedConvHostArgs<const void*, const void*, void*>;
using GroupedConvBwdDataHostArgs   = GroupedConvHostArgs<void*, const void*, const void*>;
using GroupedConvBwdWeightHostArgs = GroupedConvHostArgs<const void*, void*, const void*>;

template <typename Tile, typename Waves, typename Warp>
struct TileGemmShape
{
    using WarpTile                   = Warp;
    static constexpr index_t kM      = Tile::at(number<0>{});
    static constexpr index_t kN      = Tile::at(number<1>{});
    static constexpr index_t kK      = Tile::at(number<2>{});
    static constexpr index_t NumWarps =
        Waves::at(number<0>{}) * Waves::at(number<1>{}) * Waves::at(number<2>{});
};

template <index_t NDim,
          ConvolutionSpecialization Spec,
          typename In,
          typename Wei,
          typename Ds,
          typename Out,
          index_t VA                 = 1,
          index_t VB                 = 1,
          index_t VC                 = 1,
          index_t Merge              = 1,
          bool SplitImage            = false,
          bool Explicit              = false,
          typename DepthwiseTraits_  = void>
struct GroupedConvTraits
{
    static constexpr index_t NDimSpatial      = NDim;
    static constexpr index_t VectorSizeA      = VA;
    static constexpr index_t VectorSizeB      = VB;
    static constexpr index_t VectorSizeC      = VC;
    static constexpr index_t NumGroupsToMerge = Merge;
    static constexpr bool EnableSplitImage    = SplitImage;
    static constexpr bool ExplicitGemm        = Explicit;
    static constexpr bool IsDepthwise         = !std::is_void_v<DepthwiseTraits_>;
    static constexpr auto ConvSpecialization  = Spec;

    struct FixedGemmParams
    {
        static constexpr index_t TilePartitionerGroupNum = 8;
        static constexpr index_t TilePartitionerM01      = 4;
        static constexpr bool kPadM                      = true;
        static constexpr bool kPadN                      = true;
        static constexpr bool kPadK                      = true;
        static constexpr bool TransposeC                 = false;
        static constexpr bool FixedVectorSize            = true;
        static constexpr bool UseStructuredSparsity      = false;
        static constexpr bool Persistent                 = false;
        using ELayout                                    = tensor_layout::gemm::RowMajor;
    };
    using ImplicitGemmDsLayout = tuple<>;
    using AsLayoutFwd          = tensor_layout::gemm::RowMajor;
    using BsLayoutFwd          = tensor_layout::gemm::ColumnMajor;
    using CLayoutFwd           = tensor_layout::gemm::RowMajor;
    using AsLayoutBwdData      = tensor_layout::gemm::RowMajor;
    using BsLayoutBwdData      = tensor_layout::gemm::RowMajor;
    using CLayoutBwdData       = tensor_layout::gemm::RowMajor;
    using AsLayoutBwdWeight    = tensor_layout::gemm::ColumnMajor;
    using BsLayoutBwdWeight    = tensor_layout::gemm::RowMajor;
    using CLayoutBwdWeight     = tensor_layout::gemm::RowMajor;

    template <index_t NumWaveGroups>
    struct GroupedConvImplicitGemmTraitsFwd
    {
    };
    template <index_t NumWaveGroups>
    struct GroupedConvImplicitGemmTraitsBwdData
    {
    };
    template <index_t NumWaveGroups>
    struct GroupedConvImplicitGemmTraitsBwdWeight
    {
    };
};

template <typename Shape, index_t GroupNum, index_t M01>
struct GemmSpatiallyLocalTilePartitioner
{
    using BlockGemmShape                = Shape;
    static constexpr index_t MPerBlock  = Shape::kM;
    static constexpr index_t NPerBlock  = Shape::kN;
    static constexpr index_t KPerBlock  = Shape::kK;
    static index_t GridSize(index_t m, index_t n)
    {
        return (m + MPerBlock - 1) / MPerBlock * ((n + NPerBlock - 1) / NPerBlock);
    }
    static index_t GetLoopNum(index_t k) { return (k + KPerBlock - 1) / KPerBlock; }
};

// Blocks: those of the whole tiles if the kernel is not persistent, and those that share the rest.
template <typename Shape, StreamKReductionStrategy Strategy, bool Persistent>
struct StreamKTilePartitioner
{
    using BlockGemmShape                = Shape;
    static constexpr index_t MPerBlock  = Shape::kM;
    static constexpr index_t NPerBlock  = Shape::kN;
    static constexpr index_t KPerBlock  = Shape::kK;
    static constexpr auto ReductionStrategy = Strategy;

    StreamKTilePartitioner(index_t m, index_t n, index_t k, index_t grid)
        : tiles_((m + MPerBlock - 1) / MPerBlock * ((n + NPerBlock - 1) / NPerBlock)),
          steps_((k + KPerBlock - 1) / KPerBlock),
          grid_(grid)
    {
    }
    dim3 grid_size() const { return dim3(Persistent ? grid_ : tiles_ / grid_ * grid_ + grid_); }
    index_t get_workspace_size(index_t bytes) const
    {
        return tiles_ % grid_ == 0 ? 0 : grid_ * (MPerBlock * NPerBlock * bytes + 4);
    }

    index_t tiles_, steps_, grid_;
};

template <bool PadM,
          bool PadN,
          bool PadK,
          bool DoubleSmemBuffer_,
          typename ALayout,
          typename BLayout,
          typename CLayout,
          bool TransposeC,
          bool Sparsity,
          bool Persistent,
          index_t NumWaveGroups>
struct TileGemmUniversalTraits
{
};

template <typename A,
          typename B,
          typename Acc,
          typename Shape,
          typename Traits,
          typename AType,
          typename BType,
          typename AElementWise,
          typename BElementWise,
          bool FixedVectorSize,
          index_t VA,
          index_t VB>
struct GemmPipelineProblem
{
};

template <typename A,
          typename B,
          typename Acc,
          typename Shape_,
          typename Traits,
          GemmPipelineScheduler Scheduler_,
          typename AElementWise,
          typename BElementWise,
          typename AType,
          typename BType,
          bool FixedVectorSize,
          index_t VA,
          index_t VB>
struct UniversalGemmPipelineProblem
{
    using Shape                     = Shape_;
    static constexpr auto Scheduler = Scheduler_;
};

struct UniversalGemmPipelineAgBgCrPolicy
{
};
struct GroupedConvUniversalPipelineAgBgCrPolicy
{
};

template <typename Problem, bool Async_, index_t LoadWaves>
struct PipelineDouble
{
    static constexpr bool Async         = Async_;
    static constexpr index_t BlockSize  = Problem::Shape::NumWarps * 64;
    static constexpr index_t LaunchSize = BlockSize + LoadWaves * 64;
    static constexpr auto Scheduler     = Problem::Scheduler;
    static constexpr index_t GetSmemSize() { return 1024; }
};

#define WITH_POLICY(name)                                                            \
    template <typename Problem, typename Policy = UniversalGemmPipelineAgBgCrPolicy> \
    struct name : PipelineDouble<Problem, false, 0>                                  \
    {                                                                                \
    };
WITH_POLICY(GemmPipelineAGmemBGmemCRegV1)
WITH_POLICY(GemmPipelineAGmemBGmemCRegV2)
WITH_POLICY(GemmPipelineAgBgCrMem)
WITH_POLICY(GemmPipelineAgBgCrCompV3)
#undef WITH_POLICY

// These have policies of their own, which the conv policy does not replace.
#define WITHOUT_POLICY(name, async)                   \
    template <typename Problem>                       \
    struct name : PipelineDouble<Problem, async, 0>   \
    {                                                 \
    };
WITHOUT_POLICY(GemmPipelineAgBgCrCompV4, false)
WITHOUT_POLICY(GemmPipelineAgBgCrCompV5, false)
WITHOUT_POLICY(GemmPipelineAgBgCrCompV6, false)
WITHOUT_POLICY(GemmPipelineAgBgCrCompAsync, true)
WITHOUT_POLICY(GemmPipelineAGmemBGmemCRegAsyncV1, true)
#undef WITHOUT_POLICY

template <typename Problem, typename Policy, index_t LoadWaves>
struct GemmPipelineAgBgCrWavelet : PipelineDouble<Problem, false, LoadWaves>
{
};

template <typename Problem>
struct BaseGemmPipelineAGmemBGmemCRegV1
{
    static bool BlockHasHotloop(index_t steps) { return steps > 1; }
    template <typename Run>
    static auto TailHandler(const Run& run, bool hot)
    {
        return hot ? run(bool_constant<true>{}) : run(bool_constant<false>{});
    }
};

#define BASE(name)                                                                     \
    template <typename Problem>                                                        \
    struct name                                                                        \
    {                                                                                  \
        static bool BlockHasHotloop(index_t steps) { return steps > 1; }               \
        static TailNumber GetBlockLoopTailNum(index_t steps)                           \
        {                                                                              \
            return steps % 2 ? TailNumber::Odd : TailNumber::Even;                     \
        }                                                                              \
        template <typename Run>                                                        \
        static auto TailHandler(const Run& run, bool hot, TailNumber)                  \
        {                                                                              \
            using Tail = std::integral_constant<TailNumber, TailNumber::Full>;         \
            return hot ? run(bool_constant<true>{}, Tail{})                            \
                       : run(bool_constant<false>{}, Tail{});                          \
        }                                                                              \
    };
BASE(BaseGemmPipelineAGmemBGmemCRegV2)
BASE(BaseGemmPipelineAgBgCrMem)
BASE(BaseGemmPipelineAgBgCrCompV3)
BASE(BaseGemmPipelineAgBgCrCompV4)
BASE(BaseGemmPipelineAgBgCrCompV5)
BASE(BaseGemmPipelineAgBgCrCompV6)
BASE(BaseGemmPipelineAgBgCrCompAsync)
#undef BASE

template <typename A,
          typename B,
          typename Ds,
          typename Acc,
          typename O,
          typename DsLayout_,
          typename ELayout,
          typename CDElementwise_,
          index_t M,
          index_t N,
          index_t MWave,
          index_t NWave,
          index_t MWarpTile,
          index_t NWarpTile,
          index_t KWarpTile,
          bool TransposeC,
          index_t NumWaveGroups   = 1,
          bool FixedVectorSize    = false,
          index_t VectorSizeC     = 1,
          index_t BlockedXDLN     = 1,
          bool DoubleSmemBuffer   = false>
struct CShuffleEpilogueProblem
{
    using ODataType   = O;
    using AccDataType = Acc;
};

template <typename A,
          typename B,
          typename Ds,
          typename Acc,
          typename O,
          typename DsLayout_,
          typename ELayout,
          typename CDElementwise_,
          index_t M,
          index_t N,
          bool PadM,
          bool PadN,
          index_t MWarpTile,
          index_t NWarpTile,
          index_t KWarpTile,
          bool TransposeC>
struct DefaultGemm2DEpilogueProblem
{
    using ODataType   = O;
    using AccDataType = Acc;
};

#define EPILOGUE(name)                                        \
    template <typename Problem>                               \
    struct name                                               \
    {                                                         \
        using DsLayout      = tuple<>;                        \
        using DsDataType    = tuple<>;                        \
        using ODataType     = typename Problem::ODataType;    \
        using AccDataType   = typename Problem::AccDataType;  \
        using CDElementwise = element_wise::PassThrough;      \
        static constexpr index_t GetSmemSize() { return 512; } \
    };
EPILOGUE(CShuffleEpilogue)
EPILOGUE(DefaultGemm2DEpilogue)
#undef EPILOGUE

// Kernels.

struct stream_config
{
    hipStream_t stream_id_ = nullptr;
    bool time_kernel_      = false;
};

template <int MinBlocks, typename Kernel, typename... Args>
__global__ void kentry(Args... args)
{
    Kernel{}(args...);
}

template <int MinBlocks = CK_TILE_MIN_BLOCK_PER_CU, typename Kernel, typename... Args>
auto make_kernel(Kernel, dim3 grid, dim3 block, std::size_t lds, Args... args)
{
    return [=](const stream_config& s) {
        kentry<MinBlocks, Kernel, Args...><<<grid, block, lds, s.stream_id_>>>(args...);
    };
}

template <typename... Callables>
float launch_kernel(const stream_config& s, Callables... callables)
{
    (callables(s), ...);
    return 0;
}

template <typename Preprocess, typename... Callables>
float launch_kernel_time_mask(const stream_config& s, Preprocess preprocess, Callables... callables)
{
    preprocess();
    (callables(s), ...);
    return 0;
}

struct DeviceMem
{
    explicit DeviceMem(std::size_t size)
    {
        if(size > 0)
            hip_check_error(hipMalloc(&memory, size));
    }
    ~DeviceMem() { (void)hipFree(memory); }
    void* GetDeviceBuffer() const { return memory; }

    private:
    void* memory = nullptr;
};

template <typename Partitioner>
struct is_streamk_partitioner : std::false_type
{
};
template <typename Shape, StreamKReductionStrategy S, bool P>
struct is_streamk_partitioner<StreamKTilePartitioner<Shape, S, P>> : std::true_type
{
};

struct SplitImageInfo
{
    bool should_split           = false;
    index_t num_d_pieces        = 1;
    index_t num_h_pieces        = 1;
    index_t num_w_pieces        = 1;
};

struct SplitImagePieceInfo
{
    index_t block_start, block_end, d_start, h_start, w_start, d_size, h_size, w_size;
};

template <index_t NDim,
          ConvolutionSpecialization Spec,
          index_t VA,
          index_t VB,
          index_t VC,
          index_t Merge,
          bool SplitN,
          typename A,
          typename C>
struct TransformConvFwdToGemm
{
    static SplitImageInfo GetSplitImageInfo(
        index_t, index_t, index_t, index_t, index_t, index_t, index_t)
    {
        return {};
    }
};

template <typename Partitioner>
SplitImagePieceInfo calculate_spatial_piece(index_t,
                                            index_t,
                                            index_t,
                                            index_t,
                                            index_t,
                                            index_t,
                                            index_t,
                                            index_t total_d,
                                            index_t total_h,
                                            index_t total_w,
                                            index_t n,
                                            index_t k,
                                            index_t blocks)
{
    const index_t m = n * total_d * total_h * total_w;
    return {blocks, blocks + Partitioner::GridSize(m, k), 0, 0, 0, total_d, total_h, total_w};
}

struct Pieces
{
    index_t total_d, total_h, total_w, total_spatial;
    index_t num_d_pieces, num_h_pieces, num_w_pieces;
    std::array<SplitImagePieceInfo, 64> pieces;
};

template <typename Args, typename Partitioner>
struct KernelArgsDouble
{
    index_t GemmM = 1, GemmN = 1, GemmK = 1, GemmBatch = 1, k_batch = 1;
    index_t n_splits = 1, n_per_split = 1, num_spatial_pieces = 1;
    decltype(Args::in_ptr) in_ptr;
    decltype(Args::wei_ptr) wei_ptr;
    decltype(Args::out_ptr) out_ptr;
    void* workspace_ptr = nullptr;
    index_t channels    = 1;
    Pieces split_image{};
    std::conditional_t<is_streamk_partitioner<Partitioner>::value, Partitioner, tuple<>>
        tile_partitioner = make();

    static auto make()
    {
        if constexpr(is_streamk_partitioner<Partitioner>::value)
            return Partitioner(1, 1, 1, 1);
        else
            return tuple<>{};
    }
};

template <typename Args, typename Traits, typename Partitioner, typename Pipeline, typename Epilogue>
struct KernelDouble
{
    using Kargs                       = KernelArgsDouble<Args, Partitioner>;
    using AccDataType                 = typename Epilogue::AccDataType;
    using DsDataType                  = typename Epilogue::DsDataType;
    static constexpr bool IsStreamK   = is_streamk_partitioner<Partitioner>::value;
    static constexpr index_t kBlockSize = Pipeline::LaunchSize;

    static dim3 BlockSize() { return dim3(is_wave32() ? kBlockSize / 2 : kBlockSize); }
    static constexpr index_t GetSmemSize()
    {
        return std::max(Pipeline::GetSmemSize(), Epilogue::GetSmemSize());
    }
    static dim3 GridSize(const Kargs& kargs)
    {
        if constexpr(IsStreamK)
            return kargs.tile_partitioner.grid_size();
        else if constexpr(std::is_void_v<Partitioner>)
            return dim3(1);
        else
            return dim3(Partitioner::GridSize(kargs.GemmM, kargs.GemmN),
                        kargs.GemmBatch,
                        kargs.k_batch);
    }
    static bool IsSupportedArgument(const Kargs& kargs)
    {
        if constexpr(Pipeline::Async)
            if(get_device_name() != "gfx950")
                return false;
        if constexpr(IsStreamK)
        {
            const auto name = get_device_name();
            if((name != "gfx90a" && name != "gfx942" && name != "gfx950") || kargs.k_batch != 1)
                return false;
        }
        return kargs.k_batch >= 1 && kargs.channels % Traits::VectorSizeB == 0;
    }
    std::string GetInstanceString() const { return "double"; }
    __device__ void operator()(Kargs& kargs) const
    {
        if(kargs.GemmM < 0)
            __builtin_trap();
    }

    protected:
    static Kargs made(const Args& args, index_t m, index_t n, index_t k)
    {
        Kargs kargs{};
        kargs.GemmM     = m;
        kargs.GemmN     = n;
        kargs.GemmK     = k;
        kargs.GemmBatch = static_cast<index_t>(args.G_) / Traits::NumGroupsToMerge;
        kargs.k_batch   = args.k_batch;
        kargs.in_ptr    = args.in_ptr;
        kargs.wei_ptr   = args.wei_ptr;
        kargs.out_ptr   = args.out_ptr;
        kargs.channels  = static_cast<index_t>(args.C_);
        return kargs;
    }
};

template <typename Traits, typename Partitioner, typename Pipeline, typename Epilogue>
struct GroupedConvolutionForwardKernel
    : KernelDouble<GroupedConvFwdHostArgs<>, Traits, Partitioner, Pipeline, Epilogue>
{
    using Base =
        KernelDouble<GroupedConvFwdHostArgs<>, Traits, Partitioner, Pipeline, Epilogue>;
    using GroupedConvFwdKernelArgsSpecialized = typename Base::Kargs;

    static auto MakeKernelArgs(const GroupedConvFwdHostArgs<>& args)
    {
        return Base::made(
            args,
            static_cast<index_t>(args.N_ * args.volume(args.output_spatial_lengths_)),
            static_cast<index_t>(args.K_),
            static_cast<index_t>(args.C_ * args.volume(args.filter_spatial_lengths_)));
    }
};

template <typename Traits, typename Partitioner, typename Pipeline, typename Epilogue>
struct GroupedConvolutionBackwardDataKernel
    : KernelDouble<GroupedConvBwdDataHostArgs, Traits, Partitioner, Pipeline, Epilogue>
{
    using Base =
        KernelDouble<GroupedConvBwdDataHostArgs, Traits, Partitioner, Pipeline, Epilogue>;
    using GroupedConvBwdDataKernelArgsSpecialized = typename Base::Kargs;

    static auto MakeKernelArgs(const GroupedConvBwdDataHostArgs& args)
    {
        return Base::made(
            args,
            static_cast<index_t>(args.N_ * args.volume(args.input_spatial_lengths_)),
            static_cast<index_t>(args.C_),
            static_cast<index_t>(args.K_ * args.volume(args.filter_spatial_lengths_)));
    }
};

template <typename Traits, typename Partitioner, typename Pipeline, typename Epilogue>
struct GroupedConvolutionBackwardWeightKernel
    : KernelDouble<GroupedConvBwdWeightHostArgs, Traits, Partitioner, Pipeline, Epilogue>
{
    using Self = GroupedConvolutionBackwardWeightKernel;
    using Base =
        KernelDouble<GroupedConvBwdWeightHostArgs, Traits, Partitioner, Pipeline, Epilogue>;
    using GroupedConvBwdWeightKernelArgsSpecialized = typename Base::Kargs;

    // Asks the runtime for what is not given, and for how much the kernel could be split.
    static auto MakeKernelArgs(const GroupedConvBwdWeightHostArgs& args,
                               int num_cu    = 0,
                               int occupancy = 0)
    {
        auto kargs = Base::made(
            args,
            static_cast<index_t>(args.K_),
            static_cast<index_t>(args.C_ * args.volume(args.filter_spatial_lengths_)),
            static_cast<index_t>(args.N_ * args.volume(args.output_spatial_lengths_)));
        if(occupancy == 0 && (Base::IsStreamK || kargs.k_batch < 0))
            hip_check_error(hipOccupancyMaxActiveBlocksPerMultiprocessor(
                &occupancy,
                kentry<1, Self, typename Base::Kargs>,
                static_cast<int>(Base::BlockSize().x),
                0));
        if constexpr(Base::IsStreamK)
            kargs.tile_partitioner = Partitioner(kargs.GemmM * kargs.GemmBatch,
                                                 kargs.GemmN,
                                                 kargs.GemmK,
                                                 num_cu * occupancy);
        return kargs;
    }
    static index_t GetWorkSpaceSize(const typename Base::Kargs& kargs)
    {
        if constexpr(Base::IsStreamK)
            return kargs.tile_partitioner.get_workspace_size(
                       sizeof(typename Epilogue::AccDataType)) *
                   kargs.GemmBatch;
        else
            return 0;
    }
    static void SetWorkSpacePointer(typename Base::Kargs& kargs, void* workspace)
    {
        kargs.workspace_ptr = workspace;
    }
};

// The second stage of two.

template <typename Waves, typename Block, typename Wave, typename T>
struct ElementWiseShape
{
    static constexpr index_t kBlockSize = 512;
};
template <typename X, typename Compute, typename Y, typename Shape_, typename Operation>
struct ElementWisePipelineProblem
{
    using Shape = Shape_;
    using XType = X;
    using YType = Y;
};
struct ElementWiseDefaultPolicy
{
};
template <typename Problem, typename Policy>
struct ElementWiseKernel
{
    static constexpr index_t kBlockSize = Problem::Shape::kBlockSize;
    static constexpr index_t BlockSize() { return kBlockSize; }
    template <typename Lengths, typename Strides>
    __device__ void operator()(Lengths,
                               Strides,
                               Strides,
                               const tuple<const typename Problem::XType*>&,
                               typename Problem::YType* target) const
    {
        if(target == nullptr)
            __builtin_trap();
    }
};

// Depthwise.

template <typename In,
          typename Wei,
          typename Acc,
          typename Out,
          index_t BlockSize_,
          index_t TileH,
          index_t TileW,
          index_t FilterH,
          index_t FilterW,
          index_t StrideH,
          index_t StrideW,
          index_t DilationH,
          index_t DilationW,
          index_t PadH,
          index_t PadW,
          index_t NBatch,
          index_t SubTileH,
          index_t SubTileW,
          index_t InVec,
          index_t OutVec>
struct DepthwiseConvFwdTraits
{
    static constexpr index_t BlockSize = BlockSize_;
};

template <typename Traits>
struct DepthwiseConvFwdPipeline
{
    static constexpr bool Async         = false;
    static constexpr index_t LaunchSize = Traits::BlockSize;
    static constexpr index_t GetSmemSize() { return 256; }
};

} // namespace ck_tile
