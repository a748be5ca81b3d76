"""GEMMs of 8-bit types whose sums are scaled: by groups of A or of B, by row and column, or once."""
