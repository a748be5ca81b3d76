"""What kernels that are GEMMs do on a device: how long they take."""
