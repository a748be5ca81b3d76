"""What editors show about configurations while they are written: ``ckrules lsp``."""
