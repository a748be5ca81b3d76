"""Rules on a quantised GEMM and a product together."""
