/* The kernels of a folder from C: which take a problem, which is fastest, and running it.

   `ckrules build DIR --library` makes libckrules_dispatcher.so and copies this file beside it; the
   structures of problems and buffers are in DIR/runtime. Asking and choosing touch no GPU; the HIP
   runtime is opened by the first launch.

     ckrules_gemm sizes = {m, n, k, 1, 1, 1};
     ckrules_call call  = {sizeof(call), 0, "standard", "dtype=fp16,layout=rcr", NULL,
                           {sizeof(ckrules_problem), 0, sizeof(sizes), &sizes}};
     int64_t bytes      = ckrules_dispatcher_workspace(&call);
     uint64_t tensors[] = {a, b, c};
     ckrules_buffers on = {sizeof(on), 3, tensors, workspace};
     if(ckrules_dispatcher_launch(&call, &on, stream) != CKRULES_OK)
         puts(ckrules_dispatcher_error());

   Results replace what was there and are not scaled (alpha = 1, beta = 0): no kernel can do else.
   All functions may be called from several threads. */
#ifndef CKRULES_DISPATCHER_H
#define CKRULES_DISPATCHER_H

#include "runtime/ckrules_attention.h"
#include "runtime/ckrules_conv.h"
#include "runtime/ckrules_gemm.h"
#include "runtime/ckrules_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum
{
    CKRULES_OK        = 0,
    CKRULES_BAD_CALL  = -1, /* arguments that make no sense, or mean several operations */
    CKRULES_NO_KERNEL = -2, /* no kernel takes the problem */
    CKRULES_FAILED    = -3  /* a file or the GPU's runtime refused */
};

/* What is to be computed, and by which kernels. */
typedef struct ckrules_call
{
    uint32_t size; /* sizeof(ckrules_call) */
    uint32_t reserved;
    const char* variant; /* such as forward or standard */
    const char* fields;  /* what kernels must have, such as dtype=fp16,layout=rcr; NULL: anything */
    const char* kernel;  /* the only one to be asked, by its name; NULL: the fastest that takes it */
    ckrules_problem problem; /* a ckrules_convolution, ckrules_gemm or ckrules_attention, by the variant */
} ckrules_call;

/* Where a time comes from. */
enum
{
    CKRULES_UNKNOWN   = 0, /* nothing is known of the times of such kernels */
    CKRULES_MEASURED  = 1, /* on just this problem, before the library was built */
    CKRULES_ESTIMATED = 2, /* from the kernel's sizes and the speeds of the GPU */
    CKRULES_LEARNED   = 3  /* by a model of measurements of kernels like it */
};

/* The kernel that a call chooses. */
typedef struct ckrules_choice
{
    uint32_t size;       /* sizeof(ckrules_choice), set by the caller */
    uint32_t candidates; /* kernels that take the problem */
    const char* kernel;
    double microseconds; /* of a launch; less than 0: unknown */
    double copying;      /* microseconds of filling larger tensors and cutting the result out */
    uint32_t source;     /* CKRULES_MEASURED, CKRULES_LEARNED, CKRULES_ESTIMATED or CKRULES_UNKNOWN */
    uint32_t reserved;
} ckrules_choice;

/* The library's kernels; NULL beyond the last. Fields are ;name=value;name=value; */
CKRULES_API int ckrules_dispatcher_count(void);
CKRULES_API const char* ckrules_dispatcher_name(int index);
CKRULES_API const char* ckrules_dispatcher_fields(int index);

/* Chooses the fastest of the kernels that take the problem as it is. Times are measured ones, else
   learned, else estimated: an estimate has to be a quarter less to come before one of the others. Where nothing is
   known of any of them it is the first of the list. Kernels that would compute wrong sums of such
   sizes count as not taking them. */
CKRULES_API int ckrules_dispatcher_select(const ckrules_call* call, ckrules_choice* choice);

/* The same for problems that no kernel takes as they are: writes the problem that is to be run
   instead, of call->problem.bytes, with larger channels, groups, M, N or K, or just the problem if
   a kernel takes it. Nothing is copied: set the inputs into larger tensors with zeros behind them,
   launch with this problem and the choice's kernel, and cut out the result.

     ckrules_gemm padded;
     if(ckrules_dispatcher_pad(&call, &padded, &choice) == CKRULES_OK)
         call.problem.data = &padded, call.kernel = choice.kernel; */
CKRULES_API int ckrules_dispatcher_pad(const ckrules_call* call, void* problem,
                                       ckrules_choice* choice);

/* Bytes on the device that a launch needs beside the tensors; negative: why not. Of stream-K
   kernels the GPU is asked, too. */
CKRULES_API int64_t ckrules_dispatcher_workspace(const ckrules_call* call);

/* Fills and launches on a stream (a hipStream_t, or NULL), waiting for nothing. Tensors are device
   addresses in the order of runtime/ckrules_conv.h, ckrules_gemm.h and ckrules_attention.h. */
CKRULES_API int ckrules_dispatcher_launch(const ckrules_call* call, const ckrules_buffers* buffers,
                                          void* stream);

/* The mean time of some launches after others that are not counted; waits for the stream. */
CKRULES_API int ckrules_dispatcher_measure(const ckrules_call* call, const ckrules_buffers* buffers,
                                           void* stream, int warmups, int repeats,
                                           float* milliseconds);

/* Why the last call of this thread failed. */
CKRULES_API const char* ckrules_dispatcher_error(void);

/* Gives back kernels and modules; the next call opens them again. What was launched has to be done. */
CKRULES_API void ckrules_dispatcher_close(void);

#ifdef __cplusplus
}
#endif

#endif
