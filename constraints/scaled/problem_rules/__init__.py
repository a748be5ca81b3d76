"""Rules on a GEMM with scales and a product together."""
