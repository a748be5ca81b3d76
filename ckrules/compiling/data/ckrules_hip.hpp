/* The HIP functions that a dispatcher library calls, opened by the first run: CKRULES_HIP_LIBRARY
   names another library than libamdhip64.so. Only the module API, memory and events are used. */
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <string>

namespace ckrules_runtime {

constexpr size_t kHostToDevice = 1;
constexpr size_t kDeviceToHost = 2;

inline thread_local std::string error;

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
    Function<int*> device                                   = nullptr;
    Function<int*, int, int> attribute                      = nullptr;
    Function<int*, void*, int, size_t> occupancy            = nullptr;
    const char* (*said)(int)                                = nullptr;
    bool open                                               = false;
};

inline Hip hip;

template <typename F>
bool symbol(void* library, const char* name, F& target)
{
    target = reinterpret_cast<F>(dlsym(library, name));
    if(target == nullptr)
        error = std::string("the HIP library has no ") + name;
    return target != nullptr;
}

inline bool open_hip()
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
               symbol(library, "hipStreamSynchronize", hip.stream_wait) &&
               symbol(library, "hipGetDevice", hip.device) &&
               symbol(library, "hipDeviceGetAttribute", hip.attribute) &&
               symbol(library, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                      hip.occupancy);
    hip.said = reinterpret_cast<const char* (*)(int)>(dlsym(library, "hipGetErrorString"));
    return hip.open;
}

inline bool done(int status, const char* what)
{
    if(status != 0)
    {
        const char* said = hip.said != nullptr ? hip.said(status) : nullptr;
        error = std::string(what) + ": HIP error " + std::to_string(status) +
                (said != nullptr ? std::string(", ") + said : "");
    }
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

} // namespace ckrules_runtime
