/* Larger problems for kernels that take no others, least work first, as the families' padding.py
   has them, and what copying into larger tensors costs. */
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "ckrules_timing.hpp"

namespace ckrules_runtime {

constexpr int64_t kVectors[] = {1, 2, 4, 8, 16}; /* elements that are loaded or stored at once */

/* A size rounded up to a whole step; the size itself where no number is as large. */
inline int64_t up(int64_t size, int64_t step)
{
    const int64_t rest = step > 0 && size > 0 ? size % step : 0;
    return rest == 0 || size > INT64_MAX - (step - rest) ? size : size + (step - rest);
}

/* A size rounded up to vectors, and to whole steps of a further kind. */
inline std::set<int64_t> rounded(int64_t size, int64_t further)
{
    std::set<int64_t> found;
    for(const int64_t step : kVectors)
        found.insert(up(size, step));
    found.insert(up(size, further));
    return found;
}

/* Three sizes with all that they are rounded up to, least work first. */
struct Sizes
{
    int64_t a, b, c;

    /* Beyond the largest number that there is, all are alike. */
    __int128 work() const
    {
        const __int128 most = __int128((static_cast<unsigned __int128>(1) << 127) - 1);
        if(a <= 0 || b <= 0 || c <= 0)
            return 0;
        return __int128(a) * b > most / c ? most : __int128(a) * b * c;
    }

    bool operator<(const Sizes& other) const
    {
        const __int128 mine = work(), its = other.work();
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
    const std::set<int64_t> groups = {p.groups, up(p.groups, merged)};
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
   strides have room between them. Where int4 elements lie in eights, those of a size that 8 does not
   divide lie otherwise. */
inline std::vector<ckrules_gemm> larger(const ckrules_gemm& p, const int* tile, bool shuffled,
                                        int eights)
{
    const auto alike = [eights](int axis, int64_t small, int64_t large) {
        return (eights & axis) == 0 || (small % 8 == 0) == (large % 8 == 0);
    };
    std::vector<ckrules_gemm> found;
    if(p.groups != 1 || p.stride_a != 0 || p.stride_b != 0 || p.stride_c != 0)
        return found;
    const std::set<int64_t> n = shuffled ? std::set<int64_t>{p.n} : rounded(p.n, tile[1]);
    int64_t step = 0; /* of K; none where it is larger than all numbers */
    if(__builtin_mul_overflow(int64_t{tile[2]}, int64_t{p.k_batch}, &step))
        step = 0;
    const std::set<int64_t> k = shuffled ? std::set<int64_t>{p.k} : rounded(p.k, step);
    for(const Sizes& s : all_of(rounded(p.m, tile[0]), n, k))
    {
        ckrules_gemm each = p;
        each.m = s.a, each.n = s.b, each.k = s.c;
        if(std::memcmp(&each, &p, sizeof(p)) != 0 && alike(1, p.m, s.a) && alike(2, p.n, s.b) &&
           alike(4, p.k, s.c))
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
