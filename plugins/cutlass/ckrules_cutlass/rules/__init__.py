"""The rules of kernels, a module a topic; headers are those of CUTLASS 4.2.0."""
