// What the HIP headers of 5.2 (Debian's) take for granted and newer compilers no longer bring;
// given with -include. Written for ckrules; not part of HIP.
#pragma once

// Lanes of a wave: not told by the compiler any more, so it follows from the family of the GPU.
#if !defined(__AMDGCN_WAVEFRONT_SIZE)
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
#define __AMDGCN_WAVEFRONT_SIZE 32
#else
#define __AMDGCN_WAVEFRONT_SIZE 64
#endif
#endif

// Reciprocals of fp16: macros, so that a compiler that does declare the functions is content, too.
#if defined(__AMDGCN__)
#define __llvm_amdgcn_rcp_f16(x) (static_cast<_Float16>(__builtin_amdgcn_rcph(x)))

typedef _Float16 ckrules_half2 __attribute__((ext_vector_type(2)));

static __attribute__((device, always_inline)) inline ckrules_half2
ckrules_rcp_half2(ckrules_half2 x)
{
    return ckrules_half2{__llvm_amdgcn_rcp_f16(x.x), __llvm_amdgcn_rcp_f16(x.y)};
}
#define __llvm_amdgcn_rcp_2f16(x) (ckrules_rcp_half2(x))
#endif
