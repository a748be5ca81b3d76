// ckrules 0.0.0: keeps what a kernel says about refused arguments, instead of printing
// it. Include it before every other CK header.
#pragma once

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>

#if __has_include("ck_tile/core/utility/env.hpp")
#include "ck_tile/core/utility/env.hpp"
#endif

namespace ckrules {

inline std::string& last_error()
{
    thread_local std::string text;
    return text;
}

template <typename... Words>
void refuse(const Words&... words)
{
    std::ostringstream text;
    (text << ... << words);
    last_error() = text.str();
}

} // namespace ckrules

#define CK_TILE_ERROR(...) ::ckrules::refuse(__VA_ARGS__)
