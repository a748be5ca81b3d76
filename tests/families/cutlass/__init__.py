"""The plug-in of CUTLASS's Hopper GEMMs, without a GPU and without nvcc."""
