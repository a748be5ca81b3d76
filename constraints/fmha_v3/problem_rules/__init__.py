"""TPROB: the problems that attention with two groups of waves computes right."""
