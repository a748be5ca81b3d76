"""Data of matrix products on a device."""
