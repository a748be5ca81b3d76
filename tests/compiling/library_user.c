/* A program written against upstream's dispatcher library: it declares what it calls itself. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct
{
    int N, G, C, K;
    int input_d, input_h, input_w;
    int filter_z, filter_y, filter_x;
    int stride_d, stride_h, stride_w;
    int pad_d, pad_h, pad_w;
    int dilation_d, dilation_h, dilation_w;
    int direction, split_k;
} ConvProblemC;

int dispatcher_init(void);
int dispatcher_get_kernel_count(void);
int dispatcher_is_supported(int64_t, int64_t, int64_t);
int dispatcher_run_gemm(const void*, const void*, void*, int64_t, int64_t, int64_t, float*);
int conv_dispatcher_init(void);
int conv_dispatcher_cleanup(void);
int conv_dispatcher_get_kernel_count(void);
int conv_dispatcher_is_supported(const ConvProblemC*);
int conv_dispatcher_select_kernel(const ConvProblemC*, char*, int);
float conv_dispatcher_run(const void*, const void*, void*, const ConvProblemC*, void*);
int hipMalloc(void**, size_t);
int hipFree(void*);
int standin_launches(void);
int standin_left(void);

int main(void)
{
    ConvProblemC p = {1, 1, 8, 8, 1, 5, 6, 1, 3, 3, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1};
    char name[16]  = "";
    float time     = 0.0f;
    void *x, *w, *y;
    printf("before init: %d\n", conv_dispatcher_is_supported(&p));
    dispatcher_init();
    conv_dispatcher_init();
    printf("kernels: %d %d\n", dispatcher_get_kernel_count(), conv_dispatcher_get_kernel_count());
    printf("supported: %d\n", conv_dispatcher_is_supported(&p));
    conv_dispatcher_select_kernel(&p, name, sizeof(name));
    printf("name: %s\n", name);
    hipMalloc(&x, 480);
    hipMalloc(&w, 1152);
    hipMalloc(&y, 480);
    printf("time: %.2f\n", conv_dispatcher_run(x, w, y, &p, NULL));
    printf("launches: %d\n", standin_launches());
    p.C = 7;
    printf("odd: %d %.0f\n", conv_dispatcher_is_supported(&p), conv_dispatcher_run(x, w, y, &p, NULL));
    printf("null: %.0f\n", conv_dispatcher_run(x, w, NULL, &p, NULL));
    printf("gemm: %d", dispatcher_is_supported(8, 8, 8));
    printf(" %d", dispatcher_run_gemm(x, w, y, 8, 8, 8, &time));
    printf(" %.0f\n", time);
    hipFree(x);
    hipFree(w);
    hipFree(y);
    conv_dispatcher_cleanup();
    printf("left: %d\n", standin_left());
    return 0;
}
