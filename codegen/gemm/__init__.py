"""C++ of GEMM kernels."""
