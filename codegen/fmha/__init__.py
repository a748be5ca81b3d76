"""C++ of attention."""
