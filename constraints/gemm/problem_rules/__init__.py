"""What kernels refuse of matrix products, and which they compute wrong."""
