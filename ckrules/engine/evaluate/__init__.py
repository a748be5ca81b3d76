"""Back ends: each module here evaluates the same expressions in its own way."""
