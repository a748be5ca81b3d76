/* ckrules 0.0.0: the problems of the families conv and depthwise, in the bytes of
   ckrules_problem (ckrules_kernel.h). The tensors are input, weight and output: forward writes
   output, bwd_data writes input, bwd_weight writes weight. */
#ifndef CKRULES_CONV_H
#define CKRULES_CONV_H

#include <stdint.h>

/* One grouped convolution. Channels are those of one group. Of the arrays the first ndim members
   count, slowest dimension first: width; height, width; depth, height, width. The others are 0. */
typedef struct ckrules_convolution
{
    int32_t ndim;
    int32_t k_batch; /* parts that the sum is split into; 1: not split */
    int64_t groups;
    int64_t batch;
    int64_t out_channels;
    int64_t in_channels;
    int64_t input[3];
    int64_t filter[3];
    int64_t stride[3];
    int64_t dilation[3];
    int64_t left_pad[3];
    int64_t right_pad[3];
} ckrules_convolution;

#endif
