"""Data of attention backward on a device."""
