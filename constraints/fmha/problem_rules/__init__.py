"""FPROB: the problems that attention kernels compute right."""
