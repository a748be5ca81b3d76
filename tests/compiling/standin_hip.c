/* A TEST DOUBLE, no GPU: the functions of the HIP runtime that the dispatcher library calls.

   It checks what it is given and counts launches. Memory is the host's and a launch computes
   nothing, unless the test sets hooks that do it elsewhere (`standin_hooks`). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
    uint64_t (*allocate)(uint64_t size);
    void (*release)(uint64_t address);
    void (*write)(uint64_t address, const void* data, uint64_t size);
    void (*read)(uint64_t address, void* data, uint64_t size);
    void (*fill)(uint64_t address, int value, uint64_t size);
    void (*launch)(const char* entry, const uint32_t* grid, const uint32_t* block, const void* args,
                   uint64_t size);
} hooks_t;

static hooks_t hooks;
static int launches, modules, allocated, events;
static const char* code;

void standin_hooks(const hooks_t* given) { hooks = *given; }
int standin_launches(void) { return launches; }
/* What was made and not given back: modules, memory, events. */
int standin_left(void) { return modules + allocated + events; }

int hipModuleLoadData(void** module, const void* data)
{
    if(memcmp(data, "\177ELF", 4) != 0)
        return 200; /* hipErrorInvalidImage */
    ++modules;
    code    = data;
    *module = (void*)data;
    return 0;
}
int hipModuleUnload(void* module)
{
    --modules;
    return module == NULL;
}
int hipModuleGetFunction(void** function, void* module, const char* name)
{
    if(module != code || strstr(name, "__") == NULL)
        return 500; /* hipErrorNotFound */
    *function = strdup(name);
    return 0;
}
int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned lds, void* stream, void** params,
                          void** extra)
{
    const uint32_t grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
    if(gx * gy * gz < 1 || bx * by * bz < 1 || bx * by * bz > 1024 || lds != 0 || params != NULL)
        return 1; /* hipErrorInvalidValue */
    if(extra[0] != (void*)1 || extra[2] != (void*)2 || extra[4] != (void*)3)
        return 1;
    ++launches;
    if(hooks.launch != NULL)
        hooks.launch(function, grid, block, extra[1], *(size_t*)extra[3]);
    (void)stream;
    return 0;
}
int hipMalloc(void** address, size_t size)
{
    ++allocated;
    *address = hooks.allocate ? (void*)hooks.allocate(size) : malloc(size);
    return 0;
}
int hipFree(void* address)
{
    --allocated;
    if(hooks.release)
        hooks.release((uint64_t)address);
    else
        free(address);
    return 0;
}
int hipMemcpy(void* to, const void* from, size_t size, int kind)
{
    if(kind != 1 && kind != 2)
        return 21; /* hipErrorInvalidMemcpyDirection */
    if(hooks.write == NULL)
        memcpy(to, from, size);
    else if(kind == 1)
        hooks.write((uint64_t)to, from, size);
    else
        hooks.read((uint64_t)from, to, size);
    return 0;
}
int hipMemsetAsync(void* address, int value, size_t size, void* stream)
{
    (void)stream;
    if(hooks.fill)
        hooks.fill((uint64_t)address, value, size);
    else
        memset(address, value, size);
    return 0;
}
int hipEventCreate(void** event)
{
    ++events;
    *event = calloc(1, sizeof(int));
    return 0;
}
int hipEventDestroy(void* event)
{
    --events;
    free(event);
    return 0;
}
int hipEventRecord(void* event, void* stream)
{
    (void)stream;
    *(int*)event = launches;
    return 0;
}
int hipEventSynchronize(void* event) { return event == NULL; }
int hipEventElapsedTime(float* time, void* start, void* stop)
{
    *time = 0.25f * (float)(*(int*)stop - *(int*)start);
    return 0;
}
int hipStreamSynchronize(void* stream)
{
    (void)stream;
    return 0;
}
/* A GPU of four compute units that has room for two blocks on each. */
int hipGetDevice(int* device)
{
    *device = 0;
    return 0;
}
int hipDeviceGetAttribute(int* value, int attribute, int device)
{
    *value = 4;
    return attribute != 63 || device != 0; /* hipDeviceAttributeMultiprocessorCount */
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
                                                       size_t lds)
{
    *blocks = 2;
    return function == NULL || threads < 1 || lds != 0;
}
