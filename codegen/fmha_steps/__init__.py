"""C++ of the kernels before and after attention."""
