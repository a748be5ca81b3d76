"""C++ of grouped convolutions: the names that CK gives things, the model, and the templates."""
