"""BPROB: the problems whose gradients attention kernels compute right."""
