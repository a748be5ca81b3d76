"""Generated kernels become code objects; results go to one SQLite file."""
