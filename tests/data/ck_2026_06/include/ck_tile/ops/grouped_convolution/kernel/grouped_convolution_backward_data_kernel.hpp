#pragma once
#include "ck_tile/double.hpp"
