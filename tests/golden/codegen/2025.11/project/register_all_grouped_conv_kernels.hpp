// {"ck": "2025.11", "arch": "gfx942", "kernels": 4}
// ckrules 0.0.0, rule book test
// For those who include from this folder: the registration stands with the wrappers.
#pragma once

#include "dispatcher_wrappers/register_all_grouped_conv_kernels.hpp"
