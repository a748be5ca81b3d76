"""Attention of CK Tile, backward: the kernel of dQ, dK and dV."""
