"""Attention of CK Tile, forward: softmax(Q K) V in one kernel, and its forms for caches of K and V."""
