"""C++ of GEMM kernels whose operands have scales."""
