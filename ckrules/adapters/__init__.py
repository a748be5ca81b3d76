"""Spaces and restrictions as other tools write them."""
