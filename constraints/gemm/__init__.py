"""Matrix multiplication: C = A B, with pre-shuffled weights, and with further D tensors."""
