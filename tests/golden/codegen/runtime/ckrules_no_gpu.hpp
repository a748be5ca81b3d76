// ckrules 0.0.0: what CK asks the GPU's runtime on the host, answered for the GPU that
// the kernel is built for, so that a host library works where there is neither GPU nor runtime.
// Include it before the CK headers, with CKRULES_ARCH and CKRULES_MAJOR defined. The definitions
// stay inside the library (runtime/ckrules_exports.map).
#pragma once

#include <cstddef>
#include <cstring>

#include <hip/hip_runtime.h>

extern "C" {

hipError_t hipGetDevice(int* device)
{
    *device = 0;
    return hipSuccess;
}

// get_device_name() and is_wave32() read these two members.
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int)
{
    *properties       = hipDeviceProp_t{};
    properties->major = CKRULES_MAJOR;
    std::strncpy(
        properties->gcnArchName, CKRULES_ARCH, sizeof(properties->gcnArchName) - 1);
    return hipSuccess;
}

// Nobody may guess how busy the GPU is: callers say how many blocks there is room for.
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int*, const void*, int, std::size_t)
{
    return hipErrorNotSupported;
}

const char* hipGetErrorString(hipError_t) { return "a host library has no GPU runtime"; }

// Kernels whose address is taken are registered with the runtime and have a function to launch
// them.
void** __hipRegisterFatBinary(const void*)
{
    static void* handle = nullptr;
    return &handle;
}

void __hipUnregisterFatBinary(void**) {}

void __hipRegisterFunction(void**,
                           const void*,
                           char*,
                           const char*,
                           unsigned int,
                           void*,
                           void*,
                           dim3*,
                           dim3*,
                           int*)
{
}

hipError_t __hipPopCallConfiguration(dim3*, dim3*, std::size_t*, hipStream_t*)
{
    return hipErrorNotSupported;
}

hipError_t
hipLaunchKernel(const void*, dim3, dim3, void**, std::size_t, hipStream_t)
{
    return hipErrorNotSupported;
}

} // extern "C"
