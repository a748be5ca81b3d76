#pragma once
#include "ck_tile/dispatcher.hpp"
