"""PROB: the problems that a grouped-convolution kernel takes and computes right."""
