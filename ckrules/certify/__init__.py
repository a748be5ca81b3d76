"""The rules held against the compiler: sample, predict, ask, compare."""
