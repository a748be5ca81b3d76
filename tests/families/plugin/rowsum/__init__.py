"""A family from outside the package: kernels that add up the rows of a matrix."""
