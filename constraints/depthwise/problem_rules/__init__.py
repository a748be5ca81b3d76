"""PROB: the problems that a depthwise kernel takes."""
