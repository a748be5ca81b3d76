// One warp tile multiplied once, so that its matrix instructions can be counted.
// Give the types as PROBE_A, PROBE_B, PROBE_ACC and the shape as PROBE_M, PROBE_N, PROBE_K.
#include "ck_tile/core.hpp"
#include "ck_tile/ops/gemm/warp/warp_gemm.hpp"
#include "ck_tile/ops/gemm/warp/warp_gemm_dispatcher.hpp"

using namespace ck_tile;

template <typename A, typename B, typename Acc, int M, int N, int K>
__global__ void probe(const A* a, const B* b, Acc* c)
{
    using Tile = WarpGemmDispatcher<A, B, Acc, M, N, K, false>;
    typename Tile::AWarpTensor a_tile;
    typename Tile::BWarpTensor b_tile;
    typename Tile::CWarpTensor c_tile;
    constexpr int a_size = Tile::AWarpTensor::get_thread_buffer_size();
    constexpr int b_size = Tile::BWarpTensor::get_thread_buffer_size();
    constexpr int c_size = Tile::CWarpTensor::get_thread_buffer_size();
    for(int i = 0; i < a_size; i++)
        a_tile.get_thread_buffer().data[i] = a[threadIdx.x * a_size + i];
    for(int i = 0; i < b_size; i++)
        b_tile.get_thread_buffer().data[i] = b[threadIdx.x * b_size + i];
    for(int i = 0; i < c_size; i++)
        c_tile.get_thread_buffer().data[i] = Acc(0);
    Tile{}(c_tile, a_tile, b_tile);
    for(int i = 0; i < c_size; i++)
        c[threadIdx.x * c_size + i] = c_tile.get_thread_buffer().data[i];
}

template __global__ void probe<PROBE_A, PROBE_B, PROBE_ACC, PROBE_M, PROBE_N, PROBE_K>(
    const PROBE_A*, const PROBE_B*, PROBE_ACC*);
