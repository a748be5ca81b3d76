"""Where the kernels check their arguments, as sources of rules."""

from __future__ import annotations

KERNELS = "ops/grouped_convolution/kernel/grouped_convolution"
FORWARD = f"{KERNELS}_forward_kernel.hpp: IsSupportedArgument"
DATA = f"{KERNELS}_backward_data_kernel.hpp: IsSupportedArgument"
WEIGHT = f"{KERNELS}_backward_weight_kernel.hpp: IsSupportedArgument"
ALL = [FORWARD, DATA, WEIGHT]
