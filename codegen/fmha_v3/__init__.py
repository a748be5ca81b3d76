"""C++ of attention forward with two groups of waves."""
