"""The rules checked against the compiler: sample, predict, ask, compare."""
