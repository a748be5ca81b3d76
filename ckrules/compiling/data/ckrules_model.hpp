/* The learned time of a kernel, as ckrules/ranking/learned.py has it: trees read the numbers of
   constraints/tile_gemm/device/timing.py and, of convolutions, of constraints/conv/device/timing.py
   (features and situation), which are computed here. A model is a row of the library's list, and so
   are the numbers of a kernel that no problem changes. */
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ckrules_timing.hpp"

/* The numbers that trees look at, in the order of the models' names: OF_ and the name. */
enum ckrules_number
{
    OF_AGAINST_REFERENCE,
    OF_ESTIMATE,
    OF_BLOCKS,
    OF_STEPS,
    OF_RESIDENT,
    OF_USEFUL_M,
    OF_USEFUL_N,
    OF_USEFUL_K,
    OF_TALL,
    OF_TILE_REUSE,
    OF_TILE_ASPECT,
    OF_TILE_K,
    OF_TILE,
    OF_WAVES,
    OF_OF_WAVE,
    OF_WARP_TILE,
    OF_RATE,
    OF_LDS,
    OF_VGPRS,
    OF_VECTOR,
    OF_INTERWAVE,
    OF_DEFAULT_EPILOGUE,
    OF_TAIL_1,
    OF_TAIL_2,
    OF_TAIL_4,
    OF_TAIL_8,
    OF_SHARE_OF_MATRIX_RATE,
    OF_SHARE_OF_LDS,
    OF_SHARE_OF_L2,
    OF_SHARE_OF_LOADS,
    OF_SHARE_OF_VECTOR_UNITS,
    OF_SHARE_OF_LATENCY,
    OF_SHARE_OF_MEMORY,
    OF_SHARE_OF_START_AND_END,
    OF_COMPV3,
    OF_COMPV4,
    OF_COMPV5,
    OF_M,
    OF_N,
    OF_K,
    OF_BATCH,
    OF_TILES_OF_4096,
    OF_INTENSITY,
    OF_IN_CACHE,
    OF_IDEAL,
    OF_EVEN_N,
    OF_EVEN_K,
    OF_TAPS,
    OF_STRIDE,
    OF_REUSE,
    OF_PADDED,
    OF_ROW,
    OF_CHANNELS,
    CKRULES_NUMBERS
};

/* A node: values up to the threshold go left; a child below 0 is the complement of a leaf. */
struct ckrules_node
{
    double threshold;
    short feature, decision, left, right;
};

/* Trees one after the other, whose leaves are added up. */
struct ckrules_trees
{
    const ckrules_node* nodes;
    const double* leaves;
    const unsigned char* sizes; /* leaves of each tree */
    size_t count;
};

/* What a model compares kernels with. */
struct ckrules_reference
{
    ckrules_speed speed;
    double merged;
};

struct ckrules_model
{
    const ckrules_reference* reference;
    size_t references;
    const ckrules_number* features; /* of a kernel and problem, then of the problem alone */
    size_t own, alone;
    const ckrules_trees* level; /* of the reference against its estimate */
    size_t levels;
};

/* What a model says of a kernel. */
struct ckrules_learned
{
    const ckrules_model* model;
    int like;                      /* 1: kernels like it were measured */
    const ckrules_trees* relative; /* what estimates leave out of it against the reference */
    size_t relatives;              /* 0: only its estimate is set against the reference */
    double fixed[CKRULES_NUMBERS]; /* what no problem changes; NaN: computed here */
};

namespace ckrules_runtime {

constexpr double kZero     = 1.0000000180025095e-35; /* as near to 0 counts as 0 */
constexpr int kDefaultLeft = 2, kMissingZero = 4, kMissingNan = 8;

inline bool goes_right(const ckrules_node& node, double value)
{
    const bool counts = (node.decision & kMissingNan) != 0;
    const bool nan    = std::isnan(value);
    if(nan && !counts)
        value = 0.0;
    const bool zero = (node.decision & kMissingZero) != 0 && std::fabs(value) <= kZero;
    if(zero || (nan && counts))
        return (node.decision & kDefaultLeft) == 0;
    return !(value <= node.threshold);
}

inline double sum(const ckrules_trees& trees, const std::vector<double>& values)
{
    double found             = 0.0;
    const ckrules_node* node = trees.nodes;
    const double* leaf       = trees.leaves;
    for(size_t i = 0; i < trees.count; ++i)
    {
        int at = trees.sizes[i] > 1 ? 0 : ~0;
        while(at >= 0)
        {
            const ckrules_node& here = node[at];
            const bool right = goes_right(here, values[static_cast<size_t>(here.feature)]);
            at = right ? here.right : here.left;
        }
        found += leaf[~at];
        node += trees.sizes[i] - 1;
        leaf += trees.sizes[i];
    }
    return found;
}

inline double mean(const ckrules_trees* trees, size_t count, const std::vector<double>& values)
{
    double found = 0.0;
    for(size_t i = 0; i < count; ++i)
        found += sum(trees[i], values);
    return found / static_cast<double>(count);
}

/* The largest power of two up to 64 that divides a size, as its exponent. */
inline double evenness(int64_t size)
{
    int found = 0;
    while(found < 6 && size % 2 == 0)
        size /= 2, ++found;
    return found;
}

/* What convolutions say of themselves beside their GEMM. */
inline void situation(const ckrules_convolution& p, double (&to)[CKRULES_NUMBERS])
{
    const double taps = over(p.filter, p.ndim);
    to[OF_TAPS]       = std::log2(taps);
    to[OF_STRIDE]     = std::log2(over(p.stride, p.ndim));
    to[OF_REUSE]      = std::log2(taps * outputs(p) / over(p.input, p.ndim));
    to[OF_PADDED]     = 0.0;
    for(int i = 0; i < p.ndim; ++i)
        if(p.left_pad[i] != 0 || p.right_pad[i] != 0)
            to[OF_PADDED] = 1.0;
    to[OF_ROW]      = std::log2(output(p, p.ndim - 1));
    to[OF_CHANNELS] = evenness(p.in_channels);
}

/* The numbers of a problem alone, as a kernel computes it that does only what it must. */
inline void situation(const Todo& todo, ckrules_speed s, double (&to)[CKRULES_NUMBERS])
{
    s.two_stage        = 0.0;
    const Work w       = todo.work(s, 1.0);
    const double flops = todo.flops(), rate = s.units * s.clock_mhz * s.peak;
    const double least = std::max(flops / rate, w.bytes / s.bandwidth);
    to[OF_M]             = std::log2(w.m);
    to[OF_N]             = std::log2(w.n);
    to[OF_K]             = std::log2(w.k);
    to[OF_BATCH]         = std::log2(w.count);
    to[OF_TILES_OF_4096] = std::log2(w.m * w.n * w.count / 4096 / s.units);
    to[OF_INTENSITY] =
        std::log2(flops / w.bytes / (s.peak * s.units * (s.clock_mhz / s.bandwidth)));
    to[OF_IN_CACHE] = std::log2(w.bytes / s.cache);
    to[OF_IDEAL]    = std::log2(std::max(least, 1e-3));
    to[OF_EVEN_N]   = evenness(static_cast<int64_t>(w.n));
    to[OF_EVEN_K]   = evenness(static_cast<int64_t>(w.k));
    if(todo.variant != nullptr)
        situation(sizes_of<ckrules_convolution>(todo.problem), to);
}

/* The numbers of a kernel on a problem; those of the problem alone are there. */
inline void features(const ckrules_speed& s, const Work& w, double (&to)[CKRULES_NUMBERS])
{
    const Launch l(s, w);
    const double total = l.microseconds();
    const double each  = l.blocks / s.units;
    to[OF_ESTIMATE]       = std::log2(total / std::exp2(to[OF_IDEAL]));
    to[OF_BLOCKS]         = std::log2(each);
    to[OF_STEPS]          = std::log2(l.steps);
    to[OF_USEFUL_M]       = w.m / (l.blocks_m * s.tile_m);
    to[OF_USEFUL_N]       = w.n / (l.blocks_n * s.tile_n);
    to[OF_USEFUL_K]       = w.k / (l.steps * s.tile_k);
    to[OF_TALL]           = std::log2(l.blocks_m / l.blocks_n);
    const int held[]   = {1, 2, 4, 8};
    for(int i = 0; i < 4; ++i)
        to[OF_TAIL_1 + i] = each / (std::ceil(each / held[i]) * held[i]);
    const auto share = [&](auto step, double wait) {
        const double loops =
            l.rounds([&](double held) { return l.loop(held, step(held) * s.slower, wait); });
        return loops / s.clock_mhz / total;
    };
    const auto shared = [&](double unit) {
        return share([&](double held) { return l.beside(unit, held); }, 0.0);
    };
    const auto each_own = [&](double step) { return share([&](double) { return step; }, 0.0); };
    to[OF_SHARE_OF_MATRIX_RATE]  = shared(s.matrix);
    to[OF_SHARE_OF_VECTOR_UNITS] = shared(s.vector);
    to[OF_SHARE_OF_LDS]          = each_own(s.lds);
    to[OF_SHARE_OF_L2]           = each_own(s.l2);
    to[OF_SHARE_OF_LOADS]        = each_own(s.loads);
    to[OF_SHARE_OF_LATENCY]      = share([](double) { return 0.0; }, s.wait);
    to[OF_SHARE_OF_MEMORY]       = w.bytes / s.memory / total;
    to[OF_SHARE_OF_START_AND_END] =
        l.rounds([&](double held) { return l.ends(held); }) / s.clock_mhz / total;
}

/* The values of the numbers that a part of a model names. */
inline std::vector<double> named(const ckrules_number* names, size_t count,
                                 const double (&values)[CKRULES_NUMBERS])
{
    std::vector<double> found(count);
    for(size_t i = 0; i < count; ++i)
    {
        const double value = values[names[i]];
        found[i]           = std::fabs(value) <= kZero ? 0.0 : value;
    }
    return found;
}

/* What a model says of a problem, whichever kernel of those for the same tensors; the last one
   asked for is kept. */
struct Asked
{
    const ckrules_model* model = nullptr;
    std::string key;                /* the problem's bytes, and what tensors kernels have */
    double base = 0.0, level = 0.0; /* logarithms to base 2 of microseconds */
    double numbers[CKRULES_NUMBERS]{};

    void ask(const ckrules_model& of, const Todo& todo, const ckrules_speed& s)
    {
        const double tensors[] = {s.bytes_a, s.bytes_b, s.bytes_c, s.ds};
        std::string now(static_cast<const char*>(todo.problem.data), todo.problem.bytes);
        now.append(reinterpret_cast<const char*>(tensors), sizeof(tensors));
        if(model == &of && key == now)
            return;
        situation(todo, s, numbers);
        base = 0.0;
        for(size_t i = 0; i < of.references; ++i)
        {
            const ckrules_reference& each = of.reference[i];
            base += std::log2(estimated(each.speed, todo.work(each.speed, each.merged)));
        }
        base /= static_cast<double>(of.references);
        level = base + mean(of.level, of.levels, named(of.features + of.own, of.alone, numbers));
        key   = std::move(now);
        model = &of;
    }
};

inline Asked asked_before; /* under the library's lock */

/* Microseconds of a launch. */
inline double learned(const ckrules_learned& kernel, const ckrules_speed& s, const Work& w,
                      const Todo& todo)
{
    const ckrules_model& model = *kernel.model;
    asked_before.ask(model, todo, s);
    double values[CKRULES_NUMBERS];
    std::memcpy(values, asked_before.numbers, sizeof(values));
    double relative = std::log2(estimated(s, w)) - asked_before.base;
    if(kernel.relatives != 0)
    {
        features(s, w, values);
        for(int i = 0; i < CKRULES_NUMBERS; ++i)
            if(!std::isnan(kernel.fixed[i]))
                values[i] = kernel.fixed[i];
        values[OF_AGAINST_REFERENCE] = relative;
        relative += mean(kernel.relative, kernel.relatives,
                         named(model.features, model.own + model.alone, values));
    }
    return std::exp2(asked_before.level + relative);
}

} // namespace ckrules_runtime
