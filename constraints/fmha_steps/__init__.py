"""Attention of CK Tile: the kernels before and after, which have no matrix product."""
