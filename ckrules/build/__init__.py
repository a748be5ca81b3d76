"""What needs a C++ compiler: the toolchain on this machine and the compile oracle."""
