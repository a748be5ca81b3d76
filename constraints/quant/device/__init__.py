"""Data of matrix products with scales on a device."""
