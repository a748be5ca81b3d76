// The dispatcher's interface as generated wrappers use it; see README.md.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ck_tile {
namespace dispatcher {

enum struct DataType
{
    FP16,
    BF16,
    FP32,
};
enum struct Pipeline
{
    Mem,
    CompV1,
    CompV2,
    CompV3,
    CompV4,
    CompV5,
    CompV6,
    CompAsync,
    BasicAsyncV1,
    Wavelet,
};
enum struct Scheduler
{
    Default,
    Intrawave,
    Interwave,
};
enum struct Epilogue
{
    None,
    Default,
    CShuffle,
};

struct GroupedConvKernelKey
{
    struct
    {
        DataType dtype_in, dtype_wei, dtype_out, dtype_acc;
        std::string layout, conv_type;
        int num_dims, groups;
    } signature;
    struct
    {
        std::array<int, 3> tile_shape, wave_shape, warp_tile_shape;
        Pipeline pipeline;
        Scheduler scheduler;
        Epilogue epilogue;
    } algorithm;
    std::string gfx_arch;
};

struct GroupedConvKernelInstance
{
    template <typename Run>
    GroupedConvKernelInstance(GroupedConvKernelKey k, std::string n, Run)
        : key(std::move(k)), name(std::move(n))
    {
    }
    GroupedConvKernelKey key;
    std::string name;
};
using GroupedConvKernelInstancePtr = std::shared_ptr<GroupedConvKernelInstance>;

struct GroupedConvRegistry
{
    enum struct Priority
    {
        Low,
        Normal,
        High,
    };
    static GroupedConvRegistry& instance()
    {
        static GroupedConvRegistry registry;
        return registry;
    }
    void register_kernel(GroupedConvKernelInstancePtr kernel, Priority)
    {
        kernels.push_back(std::move(kernel));
    }
    std::vector<GroupedConvKernelInstancePtr> kernels;
};

} // namespace dispatcher
} // namespace ck_tile
