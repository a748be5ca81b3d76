"""Data of the kernels before and after attention on a device."""
