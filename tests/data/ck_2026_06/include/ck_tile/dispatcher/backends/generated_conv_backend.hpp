// How the dispatcher runs a launcher; see README.md.
#pragma once

#include "ck_tile/dispatcher/grouped_conv_registry.hpp"
#include "ck_tile/double.hpp"

namespace ck_tile {
namespace dispatcher {
namespace backends {

template <int NDim>
inline conv::ConvParam conv_param(const GroupedConvProblem& p)
{
    static_assert(NDim == 2 || NDim == 3);
    const std::vector<long_index_t> ones(NDim, 1);
    return {NDim, p.groups, 1, 1, 1, ones, ones, ones, ones, ones, ones};
}

#define MAKERS(direction, HostArgs)                                                           \
    template <typename Launcher, int NDim>                                                    \
    inline GroupedConvKernelInstance::RunFn make_conv_##direction##_run_fn()                  \
    {                                                                                         \
        return [](const GroupedConvProblem& p, void*) -> float {                              \
            HostArgs args(conv_param<NDim>(p), nullptr, nullptr, {}, nullptr, 1);             \
            return Launcher::launch(args, stream_config{});                                   \
        };                                                                                    \
    }                                                                                         \
    template <typename Launcher, int NDim>                                                    \
    inline GroupedConvKernelInstance::IsSupportedFn make_conv_##direction##_is_supported_fn() \
    {                                                                                         \
        return [](const GroupedConvProblem& p) -> bool {                                      \
            return Launcher::is_supported(conv_param<NDim>(p), 1);                            \
        };                                                                                    \
    }
MAKERS(fwd, GroupedConvFwdHostArgs<>)
MAKERS(bwd_data, GroupedConvBwdDataHostArgs)
MAKERS(bwd_weight, GroupedConvBwdWeightHostArgs)
#undef MAKERS

} // namespace backends
} // namespace dispatcher
} // namespace ck_tile
