/* A library that is wrong on purpose: it changes a bit of the last element that ffgpve reads. The
 * test of the comparison preloads it. */
#define _GNU_SOURCE
#include <dlfcn.h>

typedef int Read(void *, long, long long, long long, float, float *, int *, int *);

int ffgpve(void *file, long group, long long first, long long count, float null, float *array,
           int *anynul, int *status) {
    Read *real = (Read *)dlsym(RTLD_NEXT, "ffgpve");
    const int result = real(file, group, first, count, null, array, anynul, status);
    if (result == 0 && count > 0)
        ((unsigned *)array)[count - 1] ^= 1;
    return result;
}
