/* The dispatcher library of a folder of kernels, with the names and signatures of CK's own
   (dispatcher/bindings/ctypes/gemm_ctypes_lib.cpp and conv_ctypes_lib.cpp, version 2.0.0).

   `ckrules build --library` compiles it with ckrules_library.h, which lists the kernels. Kernels are
   opened where the library lies: NAME.host.so says what they support and how they are launched,
   NAME.hsaco is their code. The HIP runtime is opened by the first run, and only its module API and
   memory are used; CKRULES_HIP_LIBRARY names another library than libamdhip64.so. */
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ckrules_conv.h"
#include "ckrules_gemm.h"
#include "ckrules_kernel.h"

/* A kernel of the list in ckrules_library.h. */
struct ckrules_listed
{
    const char* name;
    const char* variant;
    int gemm;
    int ndim;
    int bytes[3]; /* of elements of A, B and C */
    int shape[9]; /* block tile, warp tile, waves */
};

#include "ckrules_library.h"

namespace {

constexpr int kWarmups = 3;
constexpr int kTimed   = 10;
constexpr size_t kHostToDevice = 1;
constexpr size_t kDeviceToHost = 2;

std::mutex lock;
thread_local std::string error;

/* A HIP function, by the pieces of its type that the module API has. */
template <typename... Args>
using Function = int (*)(Args...);

struct Hip
{
    Function<void**, const void*> module_load               = nullptr;
    Function<void*> module_unload                           = nullptr;
    Function<void**, void*, const char*> module_function    = nullptr;
    Function<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
             void**, void**>
        launch                                              = nullptr;
    Function<void**, size_t> allocate                       = nullptr;
    Function<void*> free                                    = nullptr;
    Function<void*, const void*, size_t, int> copy          = nullptr;
    Function<void*, int, size_t, void*> fill                = nullptr;
    Function<void**> event_create                           = nullptr;
    Function<void*> event_destroy                           = nullptr;
    Function<void*, void*> event_record                     = nullptr;
    Function<void*> event_wait                              = nullptr;
    Function<float*, void*, void*> event_elapsed            = nullptr;
    Function<void*> stream_wait                             = nullptr;
    bool open                                               = false;
} hip;

template <typename F>
bool symbol(void* library, const char* name, F& target)
{
    target = reinterpret_cast<F>(dlsym(library, name));
    if(target == nullptr)
        error = std::string("the HIP library has no ") + name;
    return target != nullptr;
}

bool open_hip()
{
    if(hip.open)
        return true;
    const char* given = std::getenv("CKRULES_HIP_LIBRARY");
    void* library     = nullptr;
    for(const char* name : {given, "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"})
    {
        if(library == nullptr && name != nullptr)
            library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if(given != nullptr)
            break;
    }
    if(library == nullptr)
    {
        const char* said = dlerror();
        error            = std::string("no HIP runtime: ") + (said ? said : "libamdhip64.so");
        return false;
    }
    hip.open = symbol(library, "hipModuleLoadData", hip.module_load) &&
               symbol(library, "hipModuleUnload", hip.module_unload) &&
               symbol(library, "hipModuleGetFunction", hip.module_function) &&
               symbol(library, "hipModuleLaunchKernel", hip.launch) &&
               symbol(library, "hipMalloc", hip.allocate) && symbol(library, "hipFree", hip.free) &&
               symbol(library, "hipMemcpy", hip.copy) &&
               symbol(library, "hipMemsetAsync", hip.fill) &&
               symbol(library, "hipEventCreate", hip.event_create) &&
               symbol(library, "hipEventDestroy", hip.event_destroy) &&
               symbol(library, "hipEventRecord", hip.event_record) &&
               symbol(library, "hipEventSynchronize", hip.event_wait) &&
               symbol(library, "hipEventElapsedTime", hip.event_elapsed) &&
               symbol(library, "hipStreamSynchronize", hip.stream_wait);
    return hip.open;
}

bool done(int status, const char* what)
{
    if(status != 0)
        error = std::string(what) + ": HIP error " + std::to_string(status);
    return status == 0;
}

/* Frees what was allocated when the block ends. */
struct Memory
{
    void* at = nullptr;
    bool get(size_t size) { return size == 0 || done(hip.allocate(&at, size), "hipMalloc"); }
    ~Memory()
    {
        if(at != nullptr)
            hip.free(at);
    }
};

struct Event
{
    void* at = nullptr;
    bool get() { return done(hip.event_create(&at), "hipEventCreate"); }
    ~Event()
    {
        if(at != nullptr)
            hip.event_destroy(at);
    }
};

/* One kernel, opened when it is first asked. */
struct Kernel
{
    const ckrules_listed* listed = nullptr;
    void* library                = nullptr;
    decltype(&ckrules_is_supported) supported         = nullptr;
    decltype(&ckrules_workspace_bytes) workspace      = nullptr;
    decltype(&ckrules_plan_create) plan_create        = nullptr;
    decltype(&ckrules_plan_free) plan_free            = nullptr;
    decltype(&ckrules_last_error) last_error          = nullptr;
    void* module                                      = nullptr;
    std::string code;
    std::map<std::string, void*> functions;
};

std::vector<Kernel> gemms;
std::vector<Kernel> convolutions;
bool gemm_open = false;
bool conv_open = false;

std::string beside(const char* name, const char* suffix)
{
    Dl_info info;
    std::string folder = ".";
    if(dladdr(reinterpret_cast<void*>(&beside), &info) != 0 && info.dli_fname != nullptr)
    {
        const std::string path = info.dli_fname;
        const size_t slash     = path.rfind('/');
        folder                 = slash == std::string::npos ? "." : path.substr(0, slash);
    }
    return folder + "/" + name + suffix;
}

bool open_kernel(Kernel& k)
{
    if(k.library != nullptr)
        return true;
    void* found = dlopen(beside(k.listed->name, ".host.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if(found == nullptr)
    {
        const char* said = dlerror();
        error            = said ? said : k.listed->name;
        return false;
    }
    if(!symbol(found, "ckrules_is_supported", k.supported) ||
       !symbol(found, "ckrules_workspace_bytes", k.workspace) ||
       !symbol(found, "ckrules_plan_create", k.plan_create) ||
       !symbol(found, "ckrules_plan_free", k.plan_free) ||
       !symbol(found, "ckrules_last_error", k.last_error))
    {
        dlclose(found);
        return false;
    }
    k.library = found;
    return true;
}

bool load_code(Kernel& k)
{
    if(k.module != nullptr)
        return true;
    const std::string path = beside(k.listed->name, ".hsaco");
    std::FILE* file        = std::fopen(path.c_str(), "rb");
    if(file == nullptr)
    {
        error = path + ": cannot be read";
        return false;
    }
    char part[65536];
    for(size_t n = 0; (n = std::fread(part, 1, sizeof(part), file)) > 0;)
        k.code.append(part, n);
    std::fclose(file);
    return done(hip.module_load(&k.module, k.code.data()), "hipModuleLoadData");
}

bool launch(Kernel& k, const ckrules_step& step, void* stream)
{
    void*& function = k.functions[step.entry];
    if(function == nullptr &&
       !done(hip.module_function(&function, k.module, step.entry), "hipModuleGetFunction"))
        return false;
    size_t size   = step.args_size;
    void* extra[] = {reinterpret_cast<void*>(1), const_cast<void*>(step.args),
                     reinterpret_cast<void*>(2), &size, reinterpret_cast<void*>(3)};
    const auto& g = step.grid;
    const auto& b = step.block;
    return done(
        hip.launch(function, g[0], g[1], g[2], b[0], b[1], b[2], 0, stream, nullptr, extra),
        "hipModuleLaunchKernel");
}

bool carry_out(Kernel& k, const ckrules_plan& plan, uint32_t kind, void* stream)
{
    for(uint32_t i = 0; i < plan.step_count; ++i)
    {
        const ckrules_step& step = plan.steps[i];
        if(step.kind != kind)
            continue;
        if(kind == CKRULES_LAUNCH)
        {
            if(!launch(k, step, stream))
                return false;
        }
        else if(!done(hip.fill(reinterpret_cast<void*>(step.address), 0, step.bytes, stream),
                      "hipMemsetAsync"))
            return false;
    }
    return true;
}

/* The mean of the timed runs in milliseconds, or -3. Fills are not part of the time. */
float timed(Kernel& k, const ckrules_problem& problem, const uint64_t* tensors, uint32_t count,
            void* stream)
{
    const int64_t bytes = k.workspace(&problem, nullptr);
    Memory workspace;
    if(bytes < 0 || !load_code(k) || !workspace.get(static_cast<size_t>(bytes)))
        return -3.0f;
    const ckrules_buffers buffers{sizeof(ckrules_buffers), count, tensors,
                                  reinterpret_cast<uint64_t>(workspace.at)};
    ckrules_plan* plan = nullptr;
    if(k.plan_create(&problem, nullptr, &buffers, &plan) != 1)
    {
        error = k.last_error();
        return -3.0f;
    }
    Event start, stop;
    bool good    = start.get() && stop.get();
    double total = 0.0;
    for(int i = 0; good && i < kWarmups + kTimed; ++i)
    {
        float span = 0.0f;
        good       = carry_out(k, *plan, CKRULES_FILL_ZERO, stream) &&
               done(hip.event_record(start.at, stream), "hipEventRecord") &&
               carry_out(k, *plan, CKRULES_LAUNCH, stream) &&
               done(hip.event_record(stop.at, stream), "hipEventRecord") &&
               done(hip.event_wait(stop.at), "hipEventSynchronize") &&
               done(hip.event_elapsed(&span, start.at, stop.at), "hipEventElapsedTime");
        total += i < kWarmups ? 0.0 : span;
    }
    good = done(hip.stream_wait(stream), "hipStreamSynchronize") && good;
    k.plan_free(plan);
    return good ? static_cast<float>(total / kTimed) : -3.0f;
}

void list(std::vector<Kernel>& found, bool gemm)
{
    for(const ckrules_listed& each : ckrules_listed_kernels)
    {
        if(each.gemm != (gemm ? 1 : 0) || each.name == nullptr)
            continue;
        Kernel k;
        k.listed = &each;
        found.push_back(k);
    }
}

void close(std::vector<Kernel>& kernels)
{
    for(Kernel& k : kernels)
    {
        if(k.module != nullptr)
            hip.module_unload(k.module);
        if(k.library != nullptr)
            dlclose(k.library);
    }
    kernels.clear();
}

int put(const char* name, char* buffer, int size)
{
    std::strncpy(buffer, name, static_cast<size_t>(size) - 1);
    buffer[size - 1] = '\0';
    return 0;
}

/* The first kernel of the list that takes the problem. */
Kernel* first(std::vector<Kernel>& kernels, const ckrules_problem& problem, const char* variant,
              int ndim)
{
    for(Kernel& k : kernels)
    {
        if(variant != nullptr && (std::strcmp(k.listed->variant, variant) != 0 || k.listed->ndim != ndim))
            continue;
        if(open_kernel(k) && k.supported(&problem) == 1)
            return &k;
    }
    return nullptr;
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
    return first(gemms, problem_of(&sizes, sizeof(sizes)), nullptr, 0);
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
    return first(convolutions, problem, kVariants[p->direction], sizes.ndim);
}

int has(const char* variant)
{
    for(const ckrules_listed& each : ckrules_listed_kernels)
        if(each.name != nullptr && each.gemm == 0 && std::strcmp(each.variant, variant) == 0)
            return 1;
    return 0;
}

} // namespace

#define CKRULES_EXPORT extern "C" __attribute__((visibility("default")))

/* Why the last call of this thread failed; not one of upstream's. */
CKRULES_EXPORT const char* ckrules_dispatcher_error() { return error.c_str(); }

CKRULES_EXPORT int dispatcher_initialize()
{
    const std::lock_guard<std::mutex> guard(lock);
    if(!gemm_open)
        list(gemms, true);
    gemm_open = true;
    return 0;
}

CKRULES_EXPORT int dispatcher_init() { return dispatcher_initialize(); }

CKRULES_EXPORT int dispatcher_get_kernel_count()
{
    const std::lock_guard<std::mutex> guard(lock);
    return static_cast<int>(gemms.size());
}

CKRULES_EXPORT const char* dispatcher_get_kernel_name()
{
    for(const ckrules_listed& each : ckrules_listed_kernels)
        if(each.name != nullptr && each.gemm == 1)
            return each.name;
    return "";
}

CKRULES_EXPORT int dispatcher_get_kernel_name_at(int index, char* buffer, int size)
{
    const std::lock_guard<std::mutex> guard(lock);
    if(buffer == nullptr || size <= 0 || index < 0 || index >= static_cast<int>(gemms.size()))
        return -1;
    return put(gemms[static_cast<size_t>(index)].listed->name, buffer, size);
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
            *targets[i] = gemms[0].listed->shape[i];
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

CKRULES_EXPORT const char* dispatcher_export_registry_json() { return ckrules_registry_json; }

CKRULES_EXPORT void dispatcher_cleanup()
{
    const std::lock_guard<std::mutex> guard(lock);
    close(gemms);
    gemm_open = false;
}

CKRULES_EXPORT int conv_dispatcher_init()
{
    const std::lock_guard<std::mutex> guard(lock);
    if(!conv_open)
        list(convolutions, false);
    conv_open = true;
    return 0;
}

CKRULES_EXPORT int conv_dispatcher_cleanup()
{
    const std::lock_guard<std::mutex> guard(lock);
    close(convolutions);
    conv_open = false;
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
    return put(convolutions[static_cast<size_t>(index)].listed->name, buffer, size);
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
