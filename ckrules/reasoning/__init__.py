"""Reasoning about rule books: why not, what is nearest, what differs, contradicts or is covered.

Everything here knows rules, spaces and a solver, and nothing of GPUs. Answers are checked by the
pointwise back end before they are returned; what a solver cannot decide raises `UndecidedError`.
"""
