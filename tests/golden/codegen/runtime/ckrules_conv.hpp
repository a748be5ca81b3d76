// ckrules 0.0.0: what host libraries of convolutions share.
#pragma once

#include "runtime/ckrules_conv.h"
#include "runtime/ckrules_host.hpp"

namespace ckrules {

// The problem, if it is one of the kernel's dimensions and has an output.
inline ckrules_convolution convolution(const ckrules_problem* given, const int32_t ndim)
{
    const auto problem = unpacked<ckrules_convolution>(given);
    if(problem.ndim != ndim)
        throw Refused("the kernel has " + std::to_string(ndim) + " spatial dimensions");
    const auto small = [](const int64_t value, const int64_t least) {
        if(value < least || value > INT32_MAX)
            throw std::invalid_argument(std::to_string(value) + " is out of range");
    };
    for(const auto value :
        {problem.groups, problem.batch, problem.out_channels, problem.in_channels})
        small(value, 1);
    small(problem.k_batch, 1);
    for(int32_t i = 0; i < ndim; ++i)
    {
        for(const auto value :
            {problem.input[i], problem.filter[i], problem.stride[i], problem.dilation[i]})
            small(value, 1);
        small(problem.left_pad[i], 0);
        small(problem.right_pad[i], 0);
        const int64_t reach = (problem.filter[i] - 1) * problem.dilation[i] + 1;
        if(problem.input[i] + problem.left_pad[i] + problem.right_pad[i] < reach)
            throw Refused("the filter is larger than the padded image");
    }
    return problem;
}

// Where the tensors are on the device.
struct ConvPlaces
{
    uint64_t input     = 0;
    uint64_t weight    = 0;
    uint64_t output    = 0;
    uint64_t workspace = 0;
};

inline ConvPlaces conv_places(const ckrules_buffers* buffers)
{
    const auto* tensors = checked(buffers, 3);
    return {tensors[0], tensors[1], tensors[2], buffers->workspace};
}

inline ck_tile::conv::ConvParam conv_param(const ckrules_convolution& problem, const int32_t ndim)
{
    const auto lengths = [ndim](const int64_t* first) {
        return std::vector<ck_tile::long_index_t>(first, first + ndim);
    };
    return ck_tile::conv::ConvParam(static_cast<ck_tile::long_index_t>(ndim),
                                    static_cast<ck_tile::long_index_t>(problem.groups),
                                    static_cast<ck_tile::long_index_t>(problem.batch),
                                    static_cast<ck_tile::long_index_t>(problem.out_channels),
                                    static_cast<ck_tile::long_index_t>(problem.in_channels),
                                    lengths(problem.filter),
                                    lengths(problem.input),
                                    lengths(problem.stride),
                                    lengths(problem.dilation),
                                    lengths(problem.left_pad),
                                    lengths(problem.right_pad));
}

} // namespace ckrules
