"""Matrix multiplication: C = A B, with weights shuffled beforehand, and with further tensors D."""
