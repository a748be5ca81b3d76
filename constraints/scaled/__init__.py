"""GEMMs whose operands have scales: flatmm, its form for mixtures of experts, and block scales."""
