// POINT
// ckrules 0.0.0, rule book test, NAME
// Host library: what the kernel supports and how it is launched, without a GPU runtime.
// The interface is that of runtime/ckrules_kernel.h.
#define CKRULES_TYPES_ONLY 1
#include "runtime/ckrules_reason.hpp"

#include "NAME.hpp"

#include "runtime/ckrules_conv.hpp"

namespace {

namespace kernel = ns_NAME;

constexpr const char* entry_names[] = {
    "NAME__hot_full_set",
    "NAME__cold_odd_set",
    "NAME__cold_even_set",
};

constexpr ckrules_tensor tensors[] = {
    {"input", CKRULES_IN, 0},
    {"weight", CKRULES_IN, 0},
    {"output", CKRULES_OUT, 0},
};

const ckrules_info info = {
    sizeof(ckrules_info),
    CKRULES_ABI_VERSION,
    "NAME",
    "2025.11",
    "gfx942",
    "conv",
    "forward",
    "{\"variant\": \"forward\", \"arch\": \"gfx942\", \"dtype\": \"fp16\", \"ndim\": 2, \"layout\": \"nhwgc\", \"tile_m\": 128, \"tile_n\": 128, \"tile_k\": 64, \"wave_m\": 2, \"wave_n\": 2, \"wave_k\": 1, \"warp_tile_m\": 32, \"warp_tile_n\": 32, \"warp_tile_k\": 16, \"pipeline\": \"compv3\", \"scheduler\": \"intrawave\", \"epilogue\": \"cshuffle\", \"vector_a\": 8, \"vector_b\": 8, \"vector_c\": 8, \"double_smem_buffer\": false, \"num_wave_groups\": 1, \"num_groups_to_merge\": 1, \"pad_m\": true, \"pad_n\": true, \"pad_k\": true, \"specialization\": \"default\", \"two_stage\": false, \"explicit_gemm\": false, \"split_image\": false, \"streamk\": \"off\", \"streamk_persistent\": false, \"block_per_cu\": 0}",
    64,
    // The host pass takes a wave for 64 lanes (core/arch/arch.hpp, get_warp_size).
    static_cast<uint32_t>(kernel::Reference::kBlockSize / (64 / 64)),
    32768, // by the rule book; the code object's own figure decides
    3,
    0,
    3,
    entry_names,
    tensors,
};

// The entry for a number of K steps and a memory operation.
const char* entry_for(const kernel::HostArgs& args)
{
    const char* found = nullptr;
    kernel::with_tail(kernel::k_steps(args), [&](const auto hot, const auto tail) {
        const bool add = args.k_batch > 1;
        if(hot.value == true && tail.value == ck_tile::TailNumber::Full &&
           add == false)
            found = entry_names[0];
        if(hot.value == false && tail.value == ck_tile::TailNumber::Odd &&
           add == false)
            found = entry_names[1];
        if(hot.value == false && tail.value == ck_tile::TailNumber::Even &&
           add == false)
            found = entry_names[2];
    });
    if(found == nullptr)
        throw std::runtime_error("no entry for this number of K steps");
    return found;
}

kernel::HostArgs host_args(const ckrules_problem* given, const ckrules::ConvPlaces& places = {})
{
    constexpr int32_t ndim = 2;
    const auto problem     = ckrules::convolution(given, ndim);
    return kernel::HostArgs(ckrules::conv_param(problem, ndim),
                            ckrules::pointer(places.input),
                            ckrules::pointer(places.weight),
                            {},
                            ckrules::pointer(places.output),
                            problem.k_batch);
}

} // namespace

extern "C" {

CKRULES_API const ckrules_info* ckrules_describe(void) { return &info; }

CKRULES_API const char* ckrules_last_error(void) { return ckrules::last_error().c_str(); }

CKRULES_API int ckrules_is_supported(const ckrules_problem* problem)
{
    return ckrules::guarded([&]() {
        const auto args = host_args(problem);
        return ckrules::supported(kernel::supported, kernel::prepare(args).kargs);
    });
}

CKRULES_API int64_t ckrules_workspace_bytes(const ckrules_problem* problem,
                                            [[maybe_unused]] const ckrules_room* room)
{
    int64_t bytes = 0;
    const int status = ckrules::guarded([&]() {
        [[maybe_unused]] const auto args = host_args(problem);
        return true;
    });
    return status == 1 ? bytes : -1;
}

CKRULES_API int ckrules_plan_create(const ckrules_problem* problem,
                                    [[maybe_unused]] const ckrules_room* room,
                                    const ckrules_buffers* buffers,
                                    ckrules_plan** plan)
{
    return ckrules::guarded([&]() {
        if(plan == nullptr)
            throw std::invalid_argument("there is no place for the plan");
        const auto places = ckrules::conv_places(buffers);
        auto args         = host_args(problem, places);
        const auto prepared = kernel::prepare(args);
        if(!ckrules::supported(kernel::supported, prepared.kargs))
            return false;
        auto steps = std::make_unique<ckrules::Plan>();
        steps->launch(entry_for(args), prepared.grid, info.block_size, info.lds_bytes, prepared.kargs);
        *plan = ckrules::release(std::move(steps));
        return true;
    });
}

CKRULES_API void ckrules_plan_free(ckrules_plan* plan) { ckrules::free_plan(plan); }

} // extern "C"
