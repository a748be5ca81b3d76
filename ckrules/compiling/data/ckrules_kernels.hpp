/* The kernels of a dispatcher library: each is opened where the library lies when it is first asked.
   NAME.host.so says what it supports and how it is launched, NAME.hsaco is its code. */
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ckrules_conv.h"
#include "ckrules_gemm.h"
#include "ckrules_hip.hpp"
#include "ckrules_kernel.h"
#include "ckrules_model.hpp"
#include "ckrules_padding.hpp"
#include "ckrules_rules.hpp"
#include "ckrules_timing.hpp"

/* A kernel of the list in ckrules_library.h. */
struct ckrules_listed
{
    const char* name;
    const char* variant;
    const char* fields;              /* ;dtype=fp16;layout=rcr;... */
    const char* computes;            /* kernels of equal texts compute the same of equal problems */
    int upstream;                    /* whether upstream's calls run it: 1 products, 2 convolutions */
    int ndim;
    int bytes[3];                    /* of elements of A, B and C */
    int shape[9];                    /* block tile, warp tile, waves */
    int problems;                    /* 0: convolutions, 1: products, 2: others */
    size_t least;                    /* bytes of its problems at the least */
    int shuffled;                    /* 1: N and K are in the way in which its weights lie */
    int eights;                      /* along M (1), N (2), K (4) int4 operands lie in eights */
    int merged;                      /* groups that it computes as one */
    const ckrules_speed* speed;      /* NULL: nothing is known of the times of such kernels */
    const ckrules_learned* learned;  /* NULL: there is no model of such kernels */
    bool (*right)(const void* data); /* false: it takes the problem and computes wrong sums */
};

/* A run on a device that was remembered. */
struct ckrules_timed
{
    int kernel; /* its place in the list */
    int right;  /* 0: it miscomputed the problem, crashed or hung */
    double microseconds;
    const char* problem; /* its bytes */
    size_t bytes;
};

struct ckrules_list
{
    const ckrules_listed* kernels;
    size_t count;
    const ckrules_timed* times;
    size_t time_count;
    const char* refused_gemm; /* why upstream's calls cannot be answered, or NULL */
    const char* refused_conv;
    const char* registry; /* JSON */
    double caution;       /* so much faster an estimate must be to come before a measured time */
    double copying;       /* bytes that the memory moves in a microsecond; 0: unknown */
};

extern const ckrules_list ckrules_all;

namespace ckrules_runtime {

constexpr int kWarmups = 3;
constexpr int kTimed   = 10;

inline std::mutex lock;

/* A kernel's code on one GPU: HIP's modules belong to the GPU that is current when they are loaded. */
struct Loaded
{
    std::string code;
    void* module = nullptr;
    std::map<std::string, void*> functions;
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
    const ckrules_info* info                          = nullptr;
    Loaded* on                                        = nullptr; /* of the GPU that is current */
    std::map<int, Loaded> loaded;                                /* by GPU */
};

/* The folder of this library. */
inline std::string own_folder()
{
    Dl_info info;
    std::string folder = ".";
    if(dladdr(reinterpret_cast<void*>(&own_folder), &info) != 0 && info.dli_fname != nullptr)
    {
        const std::string path = info.dli_fname;
        const size_t slash     = path.rfind('/');
        folder                 = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    }
    char* const whole = realpath(folder.c_str(), nullptr);
    if(whole != nullptr)
        folder = whole;
    std::free(whole);
    return folder;
}

/* Asked when the library is loaded: its name may be relative, and programs change folders. */
inline const std::string home = own_folder();

inline std::string beside(const char* name, const char* suffix)
{
    return home + "/" + name + suffix;
}

inline bool open_kernel(Kernel& k)
{
    if(k.library != nullptr)
        return true;
    const std::string path = beside(k.listed->name, ".host.so");
    void* found            = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if(found == nullptr)
    {
        const char* said = dlerror();
        error            = said ? said : k.listed->name;
        return false;
    }
    decltype(&ckrules_describe) describe = nullptr;
    if(!symbol(found, "ckrules_is_supported", k.supported) ||
       !symbol(found, "ckrules_workspace_bytes", k.workspace) ||
       !symbol(found, "ckrules_plan_create", k.plan_create) ||
       !symbol(found, "ckrules_plan_free", k.plan_free) ||
       !symbol(found, "ckrules_last_error", k.last_error) ||
       !symbol(found, "ckrules_describe", describe))
    {
        error = path + ": not a host library of a kernel";
        dlclose(found);
        return false;
    }
    k.info = describe();
    if(k.info->abi_version != CKRULES_ABI_VERSION)
    {
        error = path + ": interface " + std::to_string(k.info->abi_version) + ", expected " +
                std::to_string(CKRULES_ABI_VERSION) + ": build it again";
        k.info = nullptr;
        dlclose(found);
        return false;
    }
    k.library = found;
    return true;
}

/* Has the code on the GPU that is current. */
inline bool load_code(Kernel& k)
{
    int device = 0;
    if(!done(hip.device(&device), "hipGetDevice"))
        return false;
    k.on = &k.loaded[device];
    if(k.on->module != nullptr)
        return true;
    const std::string path = beside(k.listed->name, ".hsaco");
    std::FILE* file        = std::fopen(path.c_str(), "rb");
    if(file == nullptr)
    {
        error = path + ": cannot be read";
        return false;
    }
    char part[65536];
    k.on->code.clear(); /* of a load that failed */
    for(size_t n = 0; (n = std::fread(part, 1, sizeof(part), file)) > 0;)
        k.on->code.append(part, n);
    const bool whole = std::ferror(file) == 0;
    std::fclose(file);
    if(!whole)
    {
        error = path + ": cannot be read to its end";
        return false;
    }
    return done(hip.module_load(&k.on->module, k.on->code.data()), "hipModuleLoadData");
}

inline bool launch(Kernel& k, const ckrules_step& step, void* stream)
{
    void*& function = k.on->functions[step.entry];
    if(function == nullptr &&
       !done(hip.module_function(&function, k.on->module, step.entry), "hipModuleGetFunction"))
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

inline bool carry_out(Kernel& k, const ckrules_plan& plan, uint32_t kind, void* stream)
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

/* What a stream-K kernel is told of the GPU; NULL for others. */
inline bool find_room(Kernel& k, ckrules_room& room, const ckrules_room*& given)
{
    constexpr int kComputeUnits = 63; /* hipDeviceAttributeMultiprocessorCount */
    given                       = nullptr;
    if(k.info->needs_room == 0)
        return true;
    int device     = 0;
    void* function = nullptr;
    room           = ckrules_room{sizeof(ckrules_room), 0, 0, 0};
    const int threads = static_cast<int>(k.info->block_size);
    if(!done(hip.device(&device), "hipGetDevice") ||
       !done(hip.attribute(&room.compute_units, kComputeUnits, device), "hipDeviceGetAttribute") ||
       !done(hip.module_function(&function, k.on->module, k.info->entries[0]),
             "hipModuleGetFunction") ||
       !done(hip.occupancy(&room.blocks_per_cu, function, threads, 0),
             "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"))
        return false;
    given = &room;
    return true;
}

/* The steps of a problem, given back when the block ends. */
struct Plan
{
    Kernel& kernel;
    ckrules_plan* steps = nullptr;

    bool make(const ckrules_problem& problem, const ckrules_room* room,
              const ckrules_buffers& buffers)
    {
        if(kernel.plan_create(&problem, room, &buffers, &steps) == 1)
            return true;
        error = kernel.last_error();
        steps = nullptr;
        return false;
    }

    ~Plan()
    {
        if(steps != nullptr)
            kernel.plan_free(steps);
    }
};

/* The mean of the runs in milliseconds, or -1. Fills are not part of the time. */
inline float measured(Kernel& k, const ckrules_plan& plan, void* stream, int warmups, int repeats)
{
    Event start, stop;
    bool good    = start.get() && stop.get();
    double total = 0.0;
    for(int i = 0; good && i < warmups + repeats; ++i)
    {
        float span = 0.0f;
        good       = carry_out(k, plan, CKRULES_FILL_ZERO, stream) &&
               done(hip.event_record(start.at, stream), "hipEventRecord") &&
               carry_out(k, plan, CKRULES_LAUNCH, stream) &&
               done(hip.event_record(stop.at, stream), "hipEventRecord") &&
               done(hip.event_wait(stop.at), "hipEventSynchronize") &&
               done(hip.event_elapsed(&span, start.at, stop.at), "hipEventElapsedTime");
        total += i < warmups ? 0.0 : span;
    }
    good = done(hip.stream_wait(stream), "hipStreamSynchronize") && good;
    return good ? static_cast<float>(total / repeats) : -1.0f;
}

/* The library's kernels, in the order of the folder's list. */
inline std::vector<Kernel>& all()
{
    static std::vector<Kernel> kernels = [] {
        std::vector<Kernel> found(ckrules_all.count);
        for(size_t i = 0; i < found.size(); ++i)
            found[i].listed = &ckrules_all.kernels[i];
        return found;
    }();
    return kernels;
}

/* Gives back what a kernel has opened; it can be opened again. */
inline void close(Kernel& k)
{
    for(const auto& each : k.loaded)
        if(each.second.module != nullptr)
            hip.module_unload(each.second.module);
    if(k.library != nullptr)
        dlclose(k.library);
    const ckrules_listed* const listed = k.listed;
    k        = Kernel{};
    k.listed = listed;
}

/* What is remembered of a kernel on just this problem; NULL: nothing. */
inline const ckrules_timed* remembered(const Kernel& k, const ckrules_problem& problem)
{
    for(size_t i = 0; i < ckrules_all.time_count; ++i)
    {
        const ckrules_timed& t = ckrules_all.times[i];
        if(&ckrules_all.kernels[t.kernel] == k.listed && t.bytes == problem.bytes &&
           std::memcmp(t.problem, problem.data, t.bytes) == 0)
            return &t;
    }
    return nullptr;
}

/* Where a time comes from; CKRULES_MEASURED and the others of ckrules_dispatcher.h. */
enum class Source : uint32_t
{
    unknown   = 0,
    measured  = 1,
    estimated = 2,
    learned   = 3
};

struct Time
{
    double microseconds = -1.0; /* less than 0: unknown */
    Source source       = Source::unknown;

    /* What kernels are compared by. */
    double cost() const
    {
        if(source == Source::unknown)
            return std::numeric_limits<double>::infinity();
        return microseconds * (source == Source::estimated ? ckrules_all.caution : 1.0);
    }
};

/* The time on a problem that the kernel takes: measured, else learned, else estimated. */
inline Time time_of(const Kernel& k, const ckrules_problem& problem)
{
    const ckrules_timed* const found = remembered(k, problem);
    if(found != nullptr && found->right != 0)
        return {found->microseconds, Source::measured};
    const ckrules_listed& listed = *k.listed;
    if(listed.speed == nullptr)
        return {};
    const Todo todo{problem, listed.problems != 0 ? nullptr : listed.variant};
    const Work own = todo.work(*listed.speed, listed.merged);
    if(listed.learned == nullptr)
        return {estimated(*listed.speed, own), Source::estimated};
    const double learned_time = learned(*listed.learned, *listed.speed, own, todo);
    return {learned_time, listed.learned->like != 0 ? Source::learned : Source::estimated};
}

/* Whether a kernel takes a problem, and says why not in error. */
inline bool takes(Kernel& k, const ckrules_problem& problem)
{
    if(!open_kernel(k))
        return false;
    if(k.supported(&problem) != 1)
    {
        error = std::string(k.listed->name) + ": " + k.last_error();
        return false;
    }
    const ckrules_timed* const seen = remembered(k, problem);
    const bool unsound = k.listed->right != nullptr && !k.listed->right(problem.data);
    if(unsound || (seen != nullptr && seen->right == 0))
    {
        error = std::string(k.listed->name) +
                (unsound ? ": it computes wrong sums of such sizes" : ": it failed on this problem");
        return false;
    }
    return true;
}

/* The product of the sizes that padding may change. */
inline double sizes_padded(const Kernel& k, const ckrules_problem& problem)
{
    const auto each = [](int64_t size) { return static_cast<double>(size); };
    if(k.listed->problems > 1)
        return 1.0;
    if(k.listed->problems != 0)
    {
        const auto p = sizes_of<ckrules_gemm>(problem);
        return each(p.m) * each(p.n) * each(p.k);
    }
    const auto p = sizes_of<ckrules_convolution>(problem);
    return each(p.groups) * each(p.in_channels) * each(p.out_channels);
}

/* The least larger problem that a kernel takes, of those with the sizes of a list, as bytes, and
   the microseconds of copying; no bytes if there is none. */
template <typename Sizes>
std::string first_taken(Kernel& k, const Sizes& small, const std::vector<Sizes>& list,
                        double& copying)
{
    for(const Sizes& each : list)
    {
        if(!takes(k, {sizeof(ckrules_problem), 0, sizeof(each), &each}))
            continue;
        const ckrules_speed* const speed = k.listed->speed;
        copying = speed != nullptr ? moved(small, each, *speed) / ckrules_all.copying : 0.0;
        return {reinterpret_cast<const char*>(&each), sizeof(each)};
    }
    return {};
}

inline std::string padded(Kernel& k, const ckrules_problem& problem, double& copying)
{
    const ckrules_listed& listed = *k.listed;
    if(listed.problems > 1 || !open_kernel(k) ||
       k.supported(&problem) < 0) /* sizes that make no sense */
        return {};
    if(listed.problems == 0)
    {
        const auto small = sizes_of<ckrules_convolution>(problem);
        return first_taken(k, small, larger(small, listed.merged), copying);
    }
    const auto small = sizes_of<ckrules_gemm>(problem);
    return first_taken(k, small, larger(small, listed.shape, listed.shuffled != 0, listed.eights),
                       copying);
}

} // namespace ckrules_runtime
