"""C++ of attention backward."""
