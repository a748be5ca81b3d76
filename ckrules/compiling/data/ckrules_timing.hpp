/* The estimated time of a kernel on a problem, as constraints/tile_gemm/device/timing.py has it:
   blocks come in rounds, a round goes through K in steps, a step takes as long as its slowest part.
   What a kernel's time follows from before there is a problem is a row of the library's list. */
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ckrules_conv.h"
#include "ckrules_gemm.h"
#include "ckrules_kernel.h"

/* Times are in clocks unless they are said to be in microseconds. */
struct ckrules_speed
{
    double units; /* compute units */
    double clock_mhz;
    double memory;    /* bytes in a microsecond that kernels reach */
    double launch;    /* microseconds */
    double staggered; /* 1: blocks of a compute unit hide each other's start and end */
    double tile_m, tile_n, tile_k;
    double resident; /* blocks that a compute unit holds at once */
    double idle;     /* how much longer matrix instructions take in a block of few waves */
    double matrix, vector, lds, l2, loads; /* of a step */
    double slower;                 /* how much longer steps take than their slowest part */
    double wait;                   /* what a step at least takes */
    double overlaps;               /* 1: loads are under way while it computes */
    double first;                  /* before a block's loop */
    double last;                   /* storing an output tile */
    double bytes_a, bytes_b, bytes_c; /* of an element */
    double ds;                        /* tensors D */
    double two_stage;                 /* 1: sums go through memory in fp32 */
    double peak;                      /* matrix operations of a compute unit in a clock, at most */
    double bandwidth;                 /* bytes in a microsecond, at most */
    double cache;                     /* bytes of the last level */
};

namespace ckrules_runtime {

/* A problem as products: the sizes of one, how many there are, and bytes that are moved. */
struct Work
{
    double m, n, k, count, bytes;
};

inline double over(const int64_t (&sizes)[3], int ndim)
{
    double found = 1.0;
    for(int i = 0; i < ndim; ++i)
        found *= static_cast<double>(sizes[i]);
    return found;
}

/* The size of a convolution's output along one dimension. */
inline double output(const ckrules_convolution& p, int i)
{
    return static_cast<double>((p.input[i] + p.left_pad[i] + p.right_pad[i] -
                                (p.filter[i] - 1) * p.dilation[i] - 1) /
                                   p.stride[i] +
                               1);
}

/* The points of it. */
inline double outputs(const ckrules_convolution& p)
{
    double found = 1.0;
    for(int i = 0; i < p.ndim; ++i)
        found *= output(p, i);
    return found;
}

/* Elements of input, weight and output. */
struct Elements
{
    double input, weight, output;
};

inline Elements elements(const ckrules_convolution& p)
{
    const double groups = static_cast<double>(p.groups), batch = static_cast<double>(p.batch);
    const double c = static_cast<double>(p.in_channels), k = static_cast<double>(p.out_channels);
    return {batch * groups * c * over(p.input, p.ndim), groups * k * c * over(p.filter, p.ndim),
            batch * groups * k * outputs(p)};
}

/* Kernels that merge groups compute every pair of the merged ones. */
inline Work work(const ckrules_convolution& p, const ckrules_speed& s, const char* variant,
                 double merged)
{
    const double batch = static_cast<double>(p.batch), split = static_cast<double>(p.k_batch);
    const double c = static_cast<double>(p.in_channels), k = static_cast<double>(p.out_channels);
    const double taps = over(p.filter, p.ndim);
    const Elements e  = elements(p);
    double m = batch * outputs(p), n = k, depth = c * taps;
    double read = e.input + e.weight, written = e.output;
    if(std::strcmp(variant, "bwd_data") == 0)
    {
        m = batch * over(p.input, p.ndim), n = c, depth = k * taps;
        read = e.output + e.weight, written = e.input;
    }
    else if(std::strcmp(variant, "bwd_weight") == 0)
    {
        m = k, n = c * taps, depth = batch * outputs(p);
        read = e.input + e.output, written = e.weight;
    }
    const double stored = written * (s.bytes_c * split + s.two_stage * 8.0);
    return {m * merged, n * merged, std::ceil(depth / split),
            std::ceil(static_cast<double>(p.groups) / merged) * split,
            read * s.bytes_a + stored};
}

/* The sizes of every group of a product, the first of which is in p. */
template <typename Each>
void for_each_group(const ckrules_gemm& p, const void* data, Each each)
{
    each(static_cast<double>(p.m), static_cast<double>(p.n));
    for(int64_t i = 1; i < p.groups; ++i)
    {
        ckrules_gemm_group group;
        std::memcpy(&group,
                    static_cast<const char*>(data) + sizeof(p) +
                        static_cast<size_t>(i - 1) * sizeof(group),
                    sizeof(group));
        each(static_cast<double>(group.m), static_cast<double>(group.n));
    }
}

/* Groups count as products of their mean size. */
inline Work work(const ckrules_gemm& p, const void* data, const ckrules_speed& s)
{
    double m = 0.0, n = 0.0, area = 0.0;
    for_each_group(p, data, [&](double rows, double columns) {
        m += rows;
        n += columns;
        area += rows * columns;
    });
    const double batch = static_cast<double>(p.batch), split = static_cast<double>(p.k_batch);
    const double groups = static_cast<double>(p.groups), k = static_cast<double>(p.k);
    const double read   = batch * m * k * s.bytes_a + batch * n * k * s.bytes_b;
    const double stored = batch * area * s.bytes_c * (split + s.ds);
    return {m / groups, n / groups, std::ceil(k / split), batch * groups * split, read + stored};
}

/* The bytes of a problem as what they mean. */
template <typename Sizes>
Sizes sizes_of(const ckrules_problem& problem)
{
    Sizes found{};
    std::memcpy(&found, problem.data, sizeof(found));
    return found;
}

/* A problem of either kind. */
struct Todo
{
    const ckrules_problem& problem;
    const char* variant; /* of convolutions; NULL: it is a product */

    Work work(const ckrules_speed& s, double merged) const
    {
        if(variant == nullptr)
            return ckrules_runtime::work(sizes_of<ckrules_gemm>(problem), problem.data, s);
        return ckrules_runtime::work(sizes_of<ckrules_convolution>(problem), s, variant, merged);
    }

    double flops() const
    {
        if(variant == nullptr)
        {
            const auto p = sizes_of<ckrules_gemm>(problem);
            double area  = 0.0;
            for_each_group(p, problem.data, [&](double m, double n) { area += m * n; });
            return 2.0 * static_cast<double>(p.batch) * area * static_cast<double>(p.k);
        }
        const auto p = sizes_of<ckrules_convolution>(problem);
        return 2.0 * elements(p).output * over(p.filter, p.ndim) *
               static_cast<double>(p.in_channels);
    }
};

/* The blocks of a launch in their rounds. */
struct Launch
{
    const ckrules_speed& s;
    const Work& w;
    double blocks_m, blocks_n, blocks, steps;
    double full, rest;

    Launch(const ckrules_speed& speed, const Work& todo) : s(speed), w(todo)
    {
        blocks_m = std::ceil(w.m / s.tile_m);
        blocks_n = std::ceil(w.n / s.tile_n);
        blocks   = blocks_m * blocks_n * w.count;
        steps    = std::ceil(w.k / s.tile_k);

        full = std::floor(blocks / (s.units * s.resident));
        rest = std::ceil((blocks - full * s.units * s.resident) / s.units);
    }

    /* What a unit takes of a block's step where a compute unit has so many: what fewer waves than
       SIMDs leave idle, other blocks may use. */
    double beside(double unit, double held) const
    {
        return unit / std::min(s.idle, std::max(held, 1.0));
    }

    /* Clocks of one block's step there. */
    double step(double held) const
    {
        const double units = beside(std::max(s.matrix, s.vector), held);
        return std::max(std::max(units, s.lds), std::max(s.l2, s.loads)) * s.slower;
    }

    /* Clocks of one round's loops, of so many blocks on each compute unit. */
    double loop(double held, double step, double wait) const
    {
        /* Blocks that share a compute unit hide each other's latency. */
        const double own = s.overlaps > 0.0 ? 0.0 : wait / std::max(held, 1.0);
        return steps * std::max(held * step + own, wait);
    }

    /* What comes before and after one round's loops. */
    double ends(double held) const { return s.first + held * s.last; }

    /* Clocks of all rounds, from those of one. */
    template <typename Each>
    double rounds(Each each) const
    {
        return full * each(s.resident) + (rest > 0.0 ? each(rest) : 0.0);
    }

    /* From the first load to the last store; no block is faster beside others. */
    double busy() const
    {
        const double alone = loop(1.0, step(1.0), s.wait);
        if(s.staggered == 0.0)
            return rounds([&](double held) {
                return std::max(loop(held, step(held), s.wait), alone) + ends(held);
            });
        return rounds([&](double held) {
                   return std::max(held * (steps * step(held) + s.last), alone + ends(1.0));
               }) +
               ends(1.0);
    }

    double microseconds() const
    {
        return s.launch + std::max(busy() / s.clock_mhz, w.bytes / s.memory);
    }
};

/* Microseconds of a launch. */
inline double estimated(const ckrules_speed& s, const Work& w)
{
    return Launch(s, w).microseconds();
}

} // namespace ckrules_runtime
