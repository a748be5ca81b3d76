// The dispatcher's registry as generated wrappers use it; see README.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ck_tile {
namespace dispatcher {

enum class Priority
{
    Low,
    Normal,
    High,
};
enum class GroupedConvOp
{
    Forward,
    BackwardData,
    BackwardWeight,
};
struct GroupedConvProblem
{
    int groups = 1;
};

struct GroupedConvKernelKey
{
    std::string dtype_in, dtype_wei, dtype_out, layout;
    int ndim_spatial = 2;
    GroupedConvOp op = GroupedConvOp::Forward;
    int tile_m = 1, tile_n = 128, tile_k = 128;
    int wave_m = 2, wave_n = 2, wave_k = 1;
    int warp_m = 32, warp_n = 32, warp_k = 16;
    std::string pipeline = "compv3", scheduler = "intrawave", epilogue = "cshuffle";
    int vector_size_a = 4, vector_size_b = 8, vector_size_c = 8;
    int block_per_cu = 1, num_wave_groups = 1, num_groups_to_merge = 1;
    std::string specialization    = "default";
    bool large_tensor             = false;
    bool streamk_enabled          = false;
    std::string streamk_reduction = "none";
    bool streamk_persistent       = false;
    std::string arch              = "gfx942";
};

class GroupedConvKernelInstance
{
    public:
    using RunFn         = std::function<float(const GroupedConvProblem&, void*)>;
    using IsSupportedFn = std::function<bool(const GroupedConvProblem&)>;

    GroupedConvKernelInstance(const GroupedConvKernelKey& key,
                              const std::string& name,
                              RunFn run,
                              IsSupportedFn is_supported = nullptr,
                              const std::string&         = "")
        : key_(key), name_(name), run_(std::move(run)), is_supported_(std::move(is_supported))
    {
    }
    const GroupedConvKernelKey& key() const { return key_; }
    const std::string& name() const { return name_; }

    private:
    GroupedConvKernelKey key_;
    std::string name_;
    RunFn run_;
    IsSupportedFn is_supported_;
};
using GroupedConvKernelInstancePtr = std::shared_ptr<GroupedConvKernelInstance>;

struct GroupedConvRegistry
{
    static GroupedConvRegistry& instance()
    {
        static GroupedConvRegistry registry;
        return registry;
    }
    bool register_kernel(const GroupedConvKernelKey&,
                         GroupedConvKernelInstancePtr kernel,
                         Priority = Priority::Normal)
    {
        kernels.push_back(std::move(kernel));
        return true;
    }
    std::vector<GroupedConvKernelInstancePtr> kernels;
};

} // namespace dispatcher
} // namespace ck_tile
