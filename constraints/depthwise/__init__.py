"""Depthwise forward convolution: one channel per group, no GEMM."""
