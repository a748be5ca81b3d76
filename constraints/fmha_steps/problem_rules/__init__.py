"""KPROB: the problems that the kernels before and after attention compute right."""
