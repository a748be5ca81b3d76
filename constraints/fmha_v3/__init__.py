"""Attention, forward, with two groups of waves: CK's pipeline v3."""
