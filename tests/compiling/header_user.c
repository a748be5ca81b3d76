/* A program that uses ckrules_dispatcher.h over one forward kernel. */
#include <stdio.h>
#include <string.h>

#include "ckrules_dispatcher.h"

int hipMalloc(void**, size_t);
int hipFree(void*);
int standin_launches(void);
int standin_left(void);

int main(void)
{
    ckrules_convolution sizes = {2,      1,      1,      1,      8,      8,     {5, 6, 0},
                                 {3, 3, 0}, {1, 1, 0}, {1, 1, 0}, {1, 1, 0}, {1, 1, 0}};
    ckrules_problem problem = {sizeof(problem), 0, sizeof(sizes), &sizes};
    ckrules_call call       = {sizeof(call), 0, "forward", "ndim=2,arch=gfx942", NULL, problem};
    ckrules_choice choice   = {sizeof(choice), 0, NULL, 0.0, 0.0, 0, 0};
    ckrules_convolution padded;
    void* memory[3];
    uint64_t tensors[3];
    float time = 0.0f;
    printf("%d %s\n", ckrules_dispatcher_count(), ckrules_dispatcher_name(0));
    printf("fields: %d\n", strstr(ckrules_dispatcher_fields(0), ";family=conv;arch=gfx942;") != NULL);
    int status = ckrules_dispatcher_select(&call, &choice);
    printf("chosen: %d %s %u %d %d\n", status, choice.kernel, choice.candidates,
           choice.microseconds > 0.0, choice.source == CKRULES_ESTIMATED);
    printf("workspace: %d\n", (int)ckrules_dispatcher_workspace(&call));
    for(int i = 0; i < 3; ++i)
    {
        hipMalloc(&memory[i], 1152);
        tensors[i] = (uint64_t)memory[i];
    }
    ckrules_buffers buffers = {sizeof(buffers), 3, tensors, 0};
    status                  = ckrules_dispatcher_launch(&call, &buffers, NULL);
    printf("launched: %d %d\n", status, standin_launches());
    status = ckrules_dispatcher_measure(&call, &buffers, NULL, 2, 5, &time);
    printf("measured: %d %.2f %d\n", status, time, standin_launches());
    status = ckrules_dispatcher_launch(&call, NULL, NULL);
    printf("no buffers: %d %s\n", status, ckrules_dispatcher_error());
    call.fields = "dtype=fp64,ndim=2";
    status      = ckrules_dispatcher_select(&call, &choice);
    printf("other type: %d %s\n", status, ckrules_dispatcher_error());
    call.fields = "typ=fp16";
    status      = ckrules_dispatcher_select(&call, &choice);
    printf("field: %d %s\n", status, ckrules_dispatcher_error());
    call.fields = NULL;
    call.kernel = "nobody";
    status      = ckrules_dispatcher_select(&call, &choice);
    printf("name: %d %s\n", status, ckrules_dispatcher_error());
    call.kernel       = NULL;
    sizes.in_channels = 7;
    status            = ckrules_dispatcher_launch(&call, &buffers, NULL);
    printf("odd: %d %.*s\n", status, (int)(strchr(ckrules_dispatcher_error(), ':') + 1 - ckrules_dispatcher_error()), ckrules_dispatcher_error());
    status               = ckrules_dispatcher_pad(&call, &padded, &choice);
    printf("padded: %d %d %d %d\n", status, (int)padded.in_channels, (int)padded.out_channels,
           choice.copying > 0.0);
    call.problem.data = &padded;
    call.kernel       = choice.kernel;
    status            = ckrules_dispatcher_launch(&call, &buffers, NULL);
    printf("launched: %d %d\n", status, standin_launches());
    buffers.tensor_count = 2;
    status               = ckrules_dispatcher_launch(&call, &buffers, NULL);
    printf("tensors: %d %s\n", status, ckrules_dispatcher_error());
    for(int i = 0; i < 3; ++i)
        hipFree(memory[i]);
    ckrules_dispatcher_close();
    printf("left: %d\n", standin_left());
    return 0;
}
