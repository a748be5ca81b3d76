// Kernel sets as the dispatcher's examples write them.
#include "ck_tile/dispatcher/grouped_conv_kernel_decl.hpp"

using Sig = ck_tile::dispatcher::grouped_conv_decl::GroupedConvSignature;
using Algo = ck_tile::dispatcher::grouped_conv_decl::GroupedConvAlgorithm;

DECL_GROUPED_CONV_KERNEL_SET(forward_kernels,
    .add(Sig().dtype("fp16").layout("nhwgc").conv_type("forward").dims(2),
         Algo().tile(1, 128, 128).wave(2, 2, 1).warp(32, 32, 16).pipeline("compv3")
               .scheduler("intrawave").epilogue("cshuffle").vector_sizes(4, 8, 8),
         "gfx942")
    /* .add(Sig(), "not read") */
    // ckrules: ignore[TILE001] the tuner filters it
    .add(Sig().dtype("fp16").layout("nhwgc").conv_type("forward").dims(2),
         Algo().tile(1, 96, 128).wave(2, 2, 1).warp(32, 32, 16).pipeline("mem"), "gfx942")
    .add(Sig().dtype("bf16").layout("nhwgc").conv_type("bwd_weight").dims(2),
         Algo().tile(1, 64, 64).wave(2, 2, 1).warp(32, 32, 16).pipline("compv3")
               .vector_sizes(4, 8, 8).num_groups_to_merge(3)));

DECL_KERNEL_SET(gemm_kernels, .add("fp16", "rcr", 128, 128, 32));
