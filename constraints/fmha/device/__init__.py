"""Data of attention on a device."""
