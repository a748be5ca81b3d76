/* Pads problems of odd and of the largest sizes; the sanitizer ends it where a number overflows. */
#include <cstdio>

#include "ckrules_padding.hpp"

int main()
{
    using namespace ckrules_runtime;
    const int tile[] = {256, 256, 64};
    const int64_t sizes[] = {INT64_MIN, -3, 0, 1, 7, INT64_MAX / 3, INT64_MAX - 5, INT64_MAX};
    size_t count = 0;
    for(const int64_t size : sizes)
        for(const int64_t other : sizes)
        {
            ckrules_gemm g = {};
            g.m = size, g.n = other, g.k = size, g.batch = 1, g.groups = 1;
            g.k_batch = decltype(g.k_batch)(other);
            count += larger(g, tile, false, 0).size();
            ckrules_convolution c = {};
            c.groups = size, c.in_channels = other, c.out_channels = size;
            count += larger(c, 0).size() + larger(c, 32).size();
        }
    if(up(7, 4) != 8 || up(8, 4) != 8 || up(INT64_MAX - 1, 4) != INT64_MAX - 1 || up(7, 0) != 7)
        return 1;
    std::printf("%d\n", int(count > 0));
}
