"""CUTLASS's Hopper GEMMs as a family of ckrules from outside, and the device ``cuda``."""
