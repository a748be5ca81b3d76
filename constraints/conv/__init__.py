"""Grouped convolution as a GEMM: forward, backward data and backward weight."""
