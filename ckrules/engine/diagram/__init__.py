"""Compiled spaces: layered decision diagrams built with numpy, and what they answer."""
