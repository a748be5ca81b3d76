"""Expressions made simpler, bounded and lowered to total ones."""
