"""What runs of attention with two groups of waves are tried on."""
