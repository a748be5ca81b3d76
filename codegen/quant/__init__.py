"""C++ of quantised GEMM kernels."""
