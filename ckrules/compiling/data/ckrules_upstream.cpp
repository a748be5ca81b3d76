/* CK's own calls, with its names and signatures (dispatcher/bindings/ctypes/gemm_ctypes_lib.cpp and
   conv_ctypes_lib.cpp, version 2.0.0), so that programs written against these load the library
   unchanged. They name no type, layout or GPU: which kernels they mean is decided when the library
   is built. */
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "ckrules_kernels.hpp"

using namespace ckrules_runtime;

namespace {

std::vector<Kernel*> gemms;
std::vector<Kernel*> convolutions;
bool gemm_open = false;
bool conv_open = false;

/* -1 where calls could mean several kinds of kernels. */
int list(std::vector<Kernel*>& found, bool& open, int calls, const char* refused)
{
    if(refused != nullptr)
    {
        error = refused;
        return -1;
    }
    for(Kernel& k : all())
        if(!open && k.listed->upstream == calls)
            found.push_back(&k);
    open = true;
    return 0;
}

void leave(std::vector<Kernel*>& kernels, bool& open)
{
    for(Kernel* k : kernels)
        close(*k);
    kernels.clear();
    open = false;
}

/* The first kernel with the name's variant, NULL if there is none. */
const ckrules_listed* listed(int calls, const char* variant)
{
    for(size_t i = 0; i < ckrules_all.count; ++i)
    {
        const ckrules_listed& each = ckrules_all.kernels[i];
        if(each.upstream == calls && (variant == nullptr || std::strcmp(each.variant, variant) == 0))
            return &each;
    }
    return nullptr;
}

int put(const char* name, char* buffer, int size)
{
    std::strncpy(buffer, name, static_cast<size_t>(size) - 1);
    buffer[size - 1] = '\0';
    return 0;
}

/* The fastest kernel that takes the problem, by measured and estimated times. */
Kernel* best(std::vector<Kernel*>& kernels, const ckrules_problem& problem, const char* variant,
             int ndim)
{
    Kernel* found = nullptr;
    double cost   = 0.0;
    for(Kernel* k : kernels)
    {
        if(variant != nullptr &&
           (std::strcmp(k->listed->variant, variant) != 0 || k->listed->ndim != ndim))
            continue;
        if(!takes(*k, problem))
            continue;
        const double own = time_of(*k, problem).cost();
        if(found == nullptr || own < cost)
        {
            found = k;
            cost  = own;
        }
    }
    return found;
}

/* The mean of the timed runs in milliseconds, or -3. */
float timed(Kernel& k, const ckrules_problem& problem, const uint64_t* tensors, uint32_t count,
            void* stream)
{
    const int64_t bytes = k.workspace(&problem, nullptr);
    Memory workspace;
    if(bytes < 0 || !load_code(k) || !workspace.get(static_cast<size_t>(bytes)))
        return -3.0f;
    const ckrules_buffers buffers{sizeof(ckrules_buffers), count, tensors,
                                  reinterpret_cast<uint64_t>(workspace.at)};
    Plan plan{k};
    if(!plan.make(problem, nullptr, buffers))
        return -3.0f;
    const float mean = measured(k, *plan.steps, stream, kWarmups, kTimed);
    return mean < 0.0f ? -3.0f : mean;
}

ckrules_problem problem_of(const void* data, size_t size)
{
    return {sizeof(ckrules_problem), 0, size, data};
}

/* One product, with its sums in one part. */
ckrules_gemm product(int64_t m, int64_t n, int64_t k) { return {m, n, k, 1, 1, 1}; }

Kernel* select_gemm(const ckrules_gemm& sizes)
{
    if(!gemm_open || sizes.m <= 0 || sizes.n <= 0 || sizes.k <= 0)
        return nullptr;
    return best(gemms, problem_of(&sizes, sizeof(sizes)), nullptr, 0);
}

} // namespace

/* Upstream's problem: channels are totals over the groups, padding is the same on both sides. */
struct ConvProblemC
{
    int32_t N, G, C, K;
    int32_t input_d, input_h, input_w;
    int32_t filter_z, filter_y, filter_x;
    int32_t stride_d, stride_h, stride_w;
    int32_t pad_d, pad_h, pad_w;
    int32_t dilation_d, dilation_h, dilation_w;
    int32_t direction; /* 0 forward, 1 backward data, 2 backward weight */
    int32_t split_k;   /* of backward weight */
};

namespace {

const char* const kVariants[] = {"forward", "bwd_data", "bwd_weight"};

bool converted(const ConvProblemC& p, ckrules_convolution& to)
{
    if(p.direction < 0 || p.direction > 2 || p.G < 1 || p.C % p.G != 0 || p.K % p.G != 0)
        return false;
    const bool deep     = p.input_d > 1 || p.filter_z > 1;
    const int32_t all[] = {p.input_d,    p.input_h,    p.input_w,    p.filter_z, p.filter_y, p.filter_x,
                           p.stride_d,   p.stride_h,   p.stride_w,   p.dilation_d, p.dilation_h,
                           p.dilation_w, p.pad_d,      p.pad_h,      p.pad_w};
    int64_t* const lists[] = {to.input, to.filter, to.stride, to.dilation, to.left_pad};
    to.ndim                = deep ? 3 : 2;
    to.k_batch             = p.direction == 2 && p.split_k > 1 ? p.split_k : 1;
    to.groups              = p.G;
    to.batch               = p.N;
    to.out_channels        = p.K / p.G;
    to.in_channels         = p.C / p.G;
    for(int list = 0; list < 5; ++list)
        for(int axis = 0; axis < 3; ++axis)
            lists[list][axis] = deep ? all[3 * list + axis] : axis < 2 ? all[3 * list + axis + 1] : 0;
    std::memcpy(to.right_pad, to.left_pad, sizeof(to.right_pad));
    return true;
}

Kernel* select_conv(const ConvProblemC* p, ckrules_convolution& sizes)
{
    if(!conv_open || p == nullptr || !converted(*p, sizes))
        return nullptr;
    const ckrules_problem problem = problem_of(&sizes, sizeof(sizes));
    return best(convolutions, problem, kVariants[p->direction], sizes.ndim);
}

int has(const char* variant) { return listed(2, variant) != nullptr ? 1 : 0; }

} // namespace

#define CKRULES_EXPORT extern "C" __attribute__((visibility("default")))

CKRULES_EXPORT int dispatcher_initialize()
{
    const std::lock_guard<std::mutex> guard(lock);
    return list(gemms, gemm_open, 1, ckrules_all.refused_gemm);
}

CKRULES_EXPORT int dispatcher_init() { return dispatcher_initialize(); }

CKRULES_EXPORT int dispatcher_get_kernel_count()
{
    const std::lock_guard<std::mutex> guard(lock);
    return static_cast<int>(gemms.size());
}

CKRULES_EXPORT const char* dispatcher_get_kernel_name()
{
    const ckrules_listed* const first = listed(1, nullptr);
    return first != nullptr ? first->name : "";
}

CKRULES_EXPORT int dispatcher_get_kernel_name_at(int index, char* buffer, int size)
{
    const std::lock_guard<std::mutex> guard(lock);
    if(buffer == nullptr || size <= 0 || index < 0 || index >= static_cast<int>(gemms.size()))
        return -1;
    return put(gemms[static_cast<size_t>(index)]->listed->name, buffer, size);
}

CKRULES_EXPORT int dispatcher_get_kernel_config(int* tile_m, int* tile_n, int* tile_k,
                                                int* warp_tile_m, int* warp_tile_n,
                                                int* warp_tile_k, int* warp_m, int* warp_n,
                                                int* warp_k)
{
    const std::lock_guard<std::mutex> guard(lock);
    if(gemms.empty())
        return -1;
    int* const targets[] = {tile_m, tile_n, tile_k, warp_tile_m, warp_tile_n,
                            warp_tile_k, warp_m, warp_n, warp_k};
    for(int i = 0; i < 9; ++i)
        if(targets[i] != nullptr)
            *targets[i] = gemms[0]->listed->shape[i];
    return 0;
}

CKRULES_EXPORT int dispatcher_is_supported(int64_t m, int64_t n, int64_t k)
{
    const std::lock_guard<std::mutex> guard(lock);
    return select_gemm(product(m, n, k)) != nullptr ? 1 : 0;
}

CKRULES_EXPORT int dispatcher_select_kernel(int64_t m, int64_t n, int64_t k, char* buffer, int size)
{
    const std::lock_guard<std::mutex> guard(lock);
    Kernel* const found = buffer != nullptr && size > 0 ? select_gemm(product(m, n, k)) : nullptr;
    return found != nullptr ? put(found->listed->name, buffer, size) : -1;
}

/* The matrices are on the host. 0: done, -1: failed, -2: no kernel takes the sizes. */
CKRULES_EXPORT int dispatcher_run_gemm(const void* a, const void* b, void* c, int64_t m, int64_t n,
                                       int64_t k, float* time_ms)
{
    const std::lock_guard<std::mutex> guard(lock);
    if(!gemm_open || a == nullptr || b == nullptr || c == nullptr || m <= 0 || n <= 0 || k <= 0)
        return -1;
    const ckrules_gemm sizes = product(m, n, k);
    Kernel* const found = select_gemm(sizes);
    if(found == nullptr)
    {
        if(time_ms != nullptr)
            *time_ms = -1.0f;
        return -2;
    }
    const int* const bytes = found->listed->bytes;
    const size_t of_a = static_cast<size_t>(m * k) * bytes[0];
    const size_t of_b = static_cast<size_t>(n * k) * bytes[1];
    const size_t of_c = static_cast<size_t>(m * n) * bytes[2];
    if(!open_hip())
        return -1;
    Memory on_a, on_b, on_c;
    if(!on_a.get(of_a) || !on_b.get(of_b) || !on_c.get(of_c) ||
       !done(hip.copy(on_a.at, a, of_a, kHostToDevice), "hipMemcpy") ||
       !done(hip.copy(on_b.at, b, of_b, kHostToDevice), "hipMemcpy"))
        return -1;
    const uint64_t tensors[] = {reinterpret_cast<uint64_t>(on_a.at),
                                reinterpret_cast<uint64_t>(on_b.at),
                                reinterpret_cast<uint64_t>(on_c.at)};
    const float time = timed(*found, problem_of(&sizes, sizeof(sizes)), tensors, 3, nullptr);
    if(time < 0.0f || !done(hip.copy(c, on_c.at, of_c, kDeviceToHost), "hipMemcpy"))
        return -1;
    if(time_ms != nullptr)
        *time_ms = time;
    return 0;
}

CKRULES_EXPORT const char* dispatcher_export_registry_json() { return ckrules_all.registry; }

CKRULES_EXPORT void dispatcher_cleanup()
{
    const std::lock_guard<std::mutex> guard(lock);
    leave(gemms, gemm_open);
}

CKRULES_EXPORT int conv_dispatcher_init()
{
    const std::lock_guard<std::mutex> guard(lock);
    return list(convolutions, conv_open, 2, ckrules_all.refused_conv);
}

CKRULES_EXPORT int conv_dispatcher_cleanup()
{
    const std::lock_guard<std::mutex> guard(lock);
    leave(convolutions, conv_open);
    return 0;
}

CKRULES_EXPORT const char* conv_dispatcher_version() { return "2.0.0"; }
CKRULES_EXPORT int conv_dispatcher_has_kernels() { return has("forward"); }
CKRULES_EXPORT int conv_dispatcher_has_bwd_data() { return has("bwd_data"); }
CKRULES_EXPORT int conv_dispatcher_has_bwd_weight() { return has("bwd_weight"); }

CKRULES_EXPORT int conv_dispatcher_get_kernel_count()
{
    const std::lock_guard<std::mutex> guard(lock);
    return static_cast<int>(convolutions.size());
}

CKRULES_EXPORT int conv_dispatcher_get_kernel_name(int index, char* buffer, int size)
{
    const std::lock_guard<std::mutex> guard(lock);
    const int count = static_cast<int>(convolutions.size());
    if(buffer == nullptr || size <= 0 || index < 0 || index >= count)
        return -1;
    return put(convolutions[static_cast<size_t>(index)]->listed->name, buffer, size);
}

CKRULES_EXPORT int conv_dispatcher_is_supported(const ConvProblemC* problem)
{
    const std::lock_guard<std::mutex> guard(lock);
    ckrules_convolution sizes{};
    return select_conv(problem, sizes) != nullptr ? 1 : 0;
}

CKRULES_EXPORT int conv_dispatcher_select_kernel(const ConvProblemC* problem, char* buffer, int size)
{
    const std::lock_guard<std::mutex> guard(lock);
    ckrules_convolution sizes{};
    Kernel* const found = buffer != nullptr && size > 0 ? select_conv(problem, sizes) : nullptr;
    return found != nullptr ? put(found->listed->name, buffer, size) : -1;
}

/* The tensors are on the device. By direction: input, weight, output; output's gradient, weight,
   input's gradient; input, output's gradient, weight's gradient. Milliseconds, or -1 for a faulty
   call, -2 if no kernel takes the problem, -3 if it failed. */
CKRULES_EXPORT float conv_dispatcher_run(const void* a, const void* b, void* c,
                                         const ConvProblemC* problem, void* stream)
{
    const std::lock_guard<std::mutex> guard(lock);
    const bool whole = a != nullptr && b != nullptr && c != nullptr && problem != nullptr;
    if(!conv_open || !whole || problem->direction < 0 || problem->direction > 2)
        return -1.0f;
    ckrules_convolution sizes{};
    Kernel* const found = select_conv(problem, sizes);
    if(found == nullptr)
        return -2.0f;
    if(!open_hip())
        return -3.0f;
    const uint64_t x = reinterpret_cast<uint64_t>(a), y = reinterpret_cast<uint64_t>(b),
                   z = reinterpret_cast<uint64_t>(c);
    /* Kernels take input, weight and output in this order, whatever is computed. */
    const uint64_t orders[3][3] = {{x, y, z}, {z, y, x}, {x, z, y}};
    return timed(*found, problem_of(&sizes, sizeof(sizes)), orders[problem->direction], 3, stream);
}
