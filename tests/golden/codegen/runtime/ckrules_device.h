// ckrules 0.0.0: what device units share. Include it before the CK headers.
#pragma once

#include <hip/hip_runtime.h>

// The host pass of a device unit only has to parse.
#if defined(__HIP_DEVICE_COMPILE__)
#define CKRULES_RUN(...) __VA_ARGS__
#else
#define CKRULES_RUN(...) static_cast<void>(kargs)
#endif

#define CKRULES_ENTRY(threads, blocks) __global__ void __launch_bounds__(threads, blocks)

#if defined(CKRULES_NO_DEVICE_LIBS) && defined(__HIP_DEVICE_COMPILE__)
// ROCm's device library is not linked (-nogpulib): the few of its functions that the HIP headers
// call, on the compiler's builtins. Weak, so that a device library that is linked wins.
#define CKRULES_OCKL extern "C" __device__ __attribute__((weak, const))

CKRULES_OCKL size_t __ockl_get_local_id(unsigned int dim)
{
    return dim == 0   ? __builtin_amdgcn_workitem_id_x()
           : dim == 1 ? __builtin_amdgcn_workitem_id_y()
                      : __builtin_amdgcn_workitem_id_z();
}

CKRULES_OCKL size_t __ockl_get_group_id(unsigned int dim)
{
    return dim == 0   ? __builtin_amdgcn_workgroup_id_x()
           : dim == 1 ? __builtin_amdgcn_workgroup_id_y()
                      : __builtin_amdgcn_workgroup_id_z();
}

// Blocks of the grid, the first of the hidden arguments (code object version 5 and later). HIP's
// grids are whole blocks.
CKRULES_OCKL size_t __ockl_get_num_groups(unsigned int dim)
{
    const auto* counts = (const unsigned int*)__builtin_amdgcn_implicitarg_ptr();
    return dim < 3 ? counts[dim] : 1;
}

CKRULES_OCKL unsigned int __ockl_mul_hi_u32(unsigned int a, unsigned int b)
{
    return static_cast<unsigned int>((static_cast<unsigned long long>(a) * b) >> 32);
}

CKRULES_OCKL int __ockl_mul_hi_i32(int a, int b)
{
    return static_cast<int>((static_cast<long long>(a) * b) >> 32);
}

CKRULES_OCKL unsigned int __ockl_clz_u32(unsigned int a) { return a ? __builtin_clz(a) : 32; }

CKRULES_OCKL uint64_t __ockl_clz_u64(uint64_t a) { return a ? __builtin_clzll(a) : 64; }
#undef CKRULES_OCKL

// What an assert prints with: it traps all the same, without a word.
#define CKRULES_SILENT extern "C" __device__ __attribute__((weak))

CKRULES_SILENT uint64_t __ockl_fprintf_stderr_begin() { return 0; }

CKRULES_SILENT uint64_t __ockl_fprintf_append_args(
    uint64_t, uint32_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint32_t)
{
    return 0;
}

CKRULES_SILENT uint64_t __ockl_fprintf_append_string_n(uint64_t, const char*, uint64_t, uint32_t)
{
    return 0;
}
#undef CKRULES_SILENT

// Every order and scope as the strictest that kernels ask for: of all, and of the whole GPU.
extern "C" __device__ __attribute__((weak)) void
__atomic_work_item_fence(__cl_mem_fence_flags, __memory_order, __memory_scope scope)
{
    if(scope == __memory_scope_all_svm_devices)
        __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
    else
        __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
#endif
