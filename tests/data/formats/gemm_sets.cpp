#include "ck_tile/dispatcher.hpp"
DECL_KERNEL_SET(compute,
    .add(Signature().dtype("fp16").layout("rcr"), Algorithm().tile(128, 128, 64).wave(2, 2).warp(32, 32).pipeline("compv4"), "gfx942")
    .add(Signature().dtype("int8", "int8", "int32", "int32").layout("row", "col", "row"), Algorithm().tile(96, 128, 64).wave(2, 2, 1).warp(32, 32, 16).pipeline("compv3").pad(false, false, false), "gfx942")
    .add(Signature().dtype("fp16").layout("rcr").elementwise("MultiDAdd", 1), Algorithm().tile(128, 128, 64))
    .add("fp16", "rcr", 256, 256, 64)
);
DECL_KERNEL(Signature().dtype("fp8").layout("rcr"), Algorithm().preshuffle(true).tile(64, 128, 128).warp(16, 16, 64));
DECL_KERNEL_SIMPLE(bf16, rcr, 128, 128, 32);
DECL_KERNEL_ALL(bf16, rcr);
