"""Which kernel is fast: estimates, models learned from measurements, ranking and search."""
