"""Depthwise convolutions on a device: smoke set and tensors."""
