/* ckrules 0.0.0: the C interface of NAME.host.so.

   A host library answers what its kernel supports and lays out its launch; it needs no GPU and no
   GPU runtime. The device code is in NAME.hsaco beside it. To run a problem:

     1. ckrules_is_supported(&problem) == 1
     2. where ckrules_describe()->needs_room: find out what the GPU has room for
     3. allocate the tensors and ckrules_workspace_bytes(&problem, &room) bytes on the device
     4. ckrules_plan_create(&problem, &room, &buffers, &plan)
     5. for every step in order: fill bytes with zero, or hipModuleLaunchKernel of the entry with
        the step's argument bytes (HIP_LAUNCH_PARAM_BUFFER_POINTER and _SIZE)
     6. ckrules_plan_free(plan)

   Functions that return int give 1 for yes or done, 0 if the kernel refuses the problem and -1 for
   a faulty call; ckrules_last_error() says why, for the calling thread. All functions may be
   called from several threads. Structures begin with their size, which the caller sets where it
   fills one in, so that later versions can add members at the end. */
#ifndef CKRULES_KERNEL_H
#define CKRULES_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define CKRULES_ABI_VERSION 3

#if defined(_WIN32)
#define CKRULES_API __declspec(dllexport)
#else
#define CKRULES_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A problem of the kernel's family: bytes whose layout the family says, in ckrules_conv.h for the
   families conv and depthwise. They need not be aligned. */
typedef struct ckrules_problem
{
    uint32_t size; /* sizeof(ckrules_problem) */
    uint32_t reserved;
    uint64_t bytes; /* of data */
    const void* data;
} ckrules_problem;

/* What the GPU has room for. A stream-K kernel shares its work out over as many blocks as run at
   once, and they wait for each other: with more blocks than there is room for it may hang. Other
   kernels do not read it and take NULL. */
typedef struct ckrules_room
{
    uint32_t size;         /* sizeof(ckrules_room) */
    int32_t compute_units; /* hipDeviceProp_t.multiProcessorCount */
    int32_t blocks_per_cu; /* hipModuleOccupancyMaxActiveBlocksPerMultiprocessor of the entry */
    int32_t reserved;
} ckrules_room;

/* Device addresses of the tensors, in the order of ckrules_info.tensors, and of the workspace. */
typedef struct ckrules_buffers
{
    uint32_t size; /* sizeof(ckrules_buffers) */
    uint32_t tensor_count;
    const uint64_t* tensors;
    uint64_t workspace;
} ckrules_buffers;

enum
{
    CKRULES_IN    = 1, /* the kernel reads it */
    CKRULES_OUT   = 2, /* the kernel writes it */
    CKRULES_INOUT = 3  /* the kernel reads and writes it */
};

typedef struct ckrules_tensor
{
    const char* name;
    uint32_t direction;
    uint32_t reserved;
} ckrules_tensor;

/* What the kernel is. The strings live as long as the library is loaded. */
typedef struct ckrules_info
{
    uint32_t size;
    uint32_t abi_version;
    const char* name;
    const char* ck;      /* CK release, such as 2025.11 */
    const char* arch;    /* GPU, such as gfx942 */
    const char* family;  /* such as conv: says the layout of problems */
    const char* variant; /* such as forward */
    const char* config;  /* the whole configuration as JSON */
    uint32_t wave_size;
    uint32_t block_size; /* threads of a block */
    uint32_t lds_bytes;  /* static LDS of a block; nothing has to be given at the launch */
    uint32_t entry_count;
    uint32_t needs_room; /* 1: workspace and plan take a ckrules_room */
    uint32_t tensor_count;
    const char* const* entries; /* the code object's kernels */
    const ckrules_tensor* tensors;
} ckrules_info;

enum
{
    CKRULES_FILL_ZERO = 0, /* set bytes at address to zero; not part of the kernel's time */
    CKRULES_LAUNCH    = 1  /* launch entry */
};

typedef struct ckrules_step
{
    uint32_t kind;
    uint32_t lds_bytes; /* static, for information: pass 0 dynamic bytes */
    uint64_t address;   /* CKRULES_FILL_ZERO */
    uint64_t bytes;
    const char* entry; /* CKRULES_LAUNCH */
    uint32_t grid[3];  /* in blocks */
    uint32_t block[3]; /* in threads */
    const void* args;
    uint64_t args_size;
} ckrules_step;

typedef struct ckrules_plan
{
    uint32_t size;
    uint32_t step_count;
    const ckrules_step* steps;
} ckrules_plan;

CKRULES_API const ckrules_info* ckrules_describe(void);
CKRULES_API const char* ckrules_last_error(void);
CKRULES_API int ckrules_is_supported(const ckrules_problem* problem);
CKRULES_API int64_t ckrules_workspace_bytes(const ckrules_problem* problem,
                                            const ckrules_room* room); /* -1: faulty call */
CKRULES_API int ckrules_plan_create(const ckrules_problem* problem,
                                    const ckrules_room* room,
                                    const ckrules_buffers* buffers,
                                    ckrules_plan** plan);
CKRULES_API void ckrules_plan_free(ckrules_plan* plan);

#ifdef __cplusplus
}
#endif

#endif
