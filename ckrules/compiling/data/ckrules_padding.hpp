/* Larger problems for kernels that take no others, least work first, as the families' padding.py
   has them, and what copying into larger tensors costs. */
#pragma once

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "ckrules_timing.hpp"

namespace ckrules_runtime {

constexpr int64_t kVectors[] = {1, 2, 4, 8, 16}; /* elements that are loaded or stored at once */

/* A size rounded up to vectors, and to whole steps of a further kind. */
inline std::set<int64_t> rounded(int64_t size, int64_t further)
{
    std::set<int64_t> found;
    for(const int64_t step : kVectors)
        found.insert((size + step - 1) / step * step);
    found.insert((size + further - 1) / further * further);
    return found;
}

/* Three sizes with all that they are rounded up to, least work first. */
struct Sizes
{
    int64_t a, b, c;

    bool operator<(const Sizes& other) const
    {
        const __int128 mine = __int128(a) * b * c, its = __int128(other.a) * other.b * other.c;
        if(mine != its)
            return mine < its;
        return a != other.a ? a < other.a : b != other.b ? b < other.b : c < other.c;
    }
};

inline std::set<Sizes> all_of(const std::set<int64_t>& as, const std::set<int64_t>& bs,
                              const std::set<int64_t>& cs)
{
    std::set<Sizes> found;
    for(const int64_t a : as)
        for(const int64_t b : bs)
            for(const int64_t c : cs)
                found.insert({a, b, c});
    return found;
}

/* Channels of a group are padded, and groups for kernels that merge them. */
inline std::vector<ckrules_convolution> larger(const ckrules_convolution& p, int64_t merged)
{
    const std::set<int64_t> groups = {p.groups, (p.groups + merged - 1) / merged * merged};
    std::vector<ckrules_convolution> found;
    for(const Sizes& s : all_of(groups, rounded(p.in_channels, 1), rounded(p.out_channels, 1)))
    {
        ckrules_convolution each = p;
        each.groups = s.a, each.in_channels = s.b, each.out_channels = s.c;
        if(std::memcmp(&each, &p, sizeof(p)) != 0)
            found.push_back(each);
    }
    return found;
}

/* M, N and K are padded to vectors or whole block tiles (an array of three). Of weights that were
   shuffled beforehand only M is: N and K are in the shuffle. Neither groups nor matrices with
   strides have room between them. */
inline std::vector<ckrules_gemm> larger(const ckrules_gemm& p, const int* tile, bool shuffled)
{
    std::vector<ckrules_gemm> found;
    if(p.groups != 1 || p.stride_a != 0 || p.stride_b != 0 || p.stride_c != 0)
        return found;
    const std::set<int64_t> n = shuffled ? std::set<int64_t>{p.n} : rounded(p.n, tile[1]);
    const std::set<int64_t> k = shuffled ? std::set<int64_t>{p.k} : rounded(p.k, tile[2] * p.k_batch);
    for(const Sizes& s : all_of(rounded(p.m, tile[0]), n, k))
    {
        ckrules_gemm each = p;
        each.m = s.a, each.n = s.b, each.k = s.c;
        if(std::memcmp(&each, &p, sizeof(p)) != 0)
            found.push_back(each);
    }
    return found;
}

/* Bytes that are read or written to fill a larger tensor and cut a result out of one. */
inline double moved(double small, double large, double bytes)
{
    return small == large ? 0.0 : (small + large) * bytes;
}

inline double moved(const ckrules_convolution& small, const ckrules_convolution& large,
                    const ckrules_speed& s)
{
    const Elements a = elements(small), b = elements(large);
    return moved(a.input, b.input, s.bytes_a) + moved(a.weight, b.weight, s.bytes_b) +
           moved(a.output, b.output, s.bytes_c);
}

inline double moved(const ckrules_gemm& small, const ckrules_gemm& large, const ckrules_speed& s)
{
    const auto each = [](const ckrules_gemm& p, int64_t rows, int64_t columns) {
        return static_cast<double>(p.batch) * static_cast<double>(rows) *
               static_cast<double>(columns);
    };
    return moved(each(small, small.m, small.k), each(large, large.m, large.k), s.bytes_a) +
           moved(each(small, small.n, small.k), each(large, large.n, large.k), s.bytes_b) +
           moved(each(small, small.m, small.n), each(large, large.m, large.n), s.bytes_c) *
               (1.0 + s.ds);
}

} // namespace ckrules_runtime
