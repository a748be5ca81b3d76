"""Convolutions on a device: smoke set, tensors, and the reference they are compared with."""
