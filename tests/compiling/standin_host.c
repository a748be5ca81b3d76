/* A TEST DOUBLE, no kernel: the host library of any kernel of a convolution, a product or
   attention. It takes problems whose channels, N and K, or head dimensions are multiples of VECTOR,
   and lays out no launch. */
#include <string.h>

#include "ckrules_attention.h"
#include "ckrules_conv.h"
#include "ckrules_gemm.h"
#include "ckrules_kernel.h"

#ifndef VECTOR
#define VECTOR 1
#endif
#ifndef VERSION
#define VERSION CKRULES_ABI_VERSION
#endif

static const char* said = "";
static const char* const entries[] = {"standin__one"};
static const ckrules_info info = {
    sizeof(ckrules_info), VERSION, "standin", "2025.11", "", "", "", "{}", 64, 256, 0,
    1, 0, 0, entries, NULL};

const ckrules_info* ckrules_describe(void) { return &info; }
const char* ckrules_last_error(void) { return said; }
int ckrules_is_supported(const ckrules_problem* problem)
{
    int64_t first, second;
    if(problem->bytes == sizeof(ckrules_convolution))
    {
        ckrules_convolution p;
        memcpy(&p, problem->data, sizeof(p));
        first = p.in_channels, second = p.out_channels;
    }
    else if(problem->bytes == sizeof(ckrules_attention))
    {
        ckrules_attention p;
        memcpy(&p, problem->data, sizeof(p));
        first = p.hdim, second = p.hdim_v;
    }
    else
    {
        ckrules_gemm p;
        memcpy(&p, problem->data, sizeof(p));
        first = p.n, second = p.k;
    }
    said = "the vector size does not divide it";
    if(first < 1 || second < 1)
        return -1;
    return first % VECTOR == 0 && second % VECTOR == 0;
}
int64_t ckrules_workspace_bytes(const ckrules_problem* problem, const ckrules_room* room)
{
    (void)problem, (void)room;
    return 0;
}
int ckrules_plan_create(const ckrules_problem* problem, const ckrules_room* room,
                        const ckrules_buffers* buffers, ckrules_plan** plan)
{
    (void)problem, (void)room, (void)buffers, (void)plan;
    return -1;
}
void ckrules_plan_free(ckrules_plan* plan) { (void)plan; }
