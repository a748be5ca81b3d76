"""Running built kernels on a GPU, or on what a plug-in offers in its place."""
