/* The limit of programs that read images by CFITSIO: this library comes before CFITSIO, and answers a read of pixels by
 * copying their bytes from the page cache, without swapping or checking them. The program computes with wrong numbers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <fitsio.h>
#include <unistd.h>

static size_t size_of(int type) {
    return type == TDOUBLE || type == TLONGLONG ? 8 : type == TFLOAT || type == TINT ? 4 : type == TSHORT ? 2 : 1;
}

/* Copies the bytes of pixels from number `first` on; 0 where CFITSIO has to read. */
static int copy(fitsfile *file, size_t size, LONGLONG first, LONGLONG count, char *values, int *status) {
    char url[FLEN_FILENAME], name[FLEN_FILENAME];
    LONGLONG head, data, end;
    size_t done = 0, bytes = count * size;
    ssize_t got = 1;
    if (bytes < 1 << 18 || ffflnm(file, url, status) || ffrtnm(url, name, status) ||
        ffghadll(file, &head, &data, &end, status))
        return 0;
    int descriptor = open(name, O_RDONLY);
    if (descriptor < 0) return 0;
    for (; got > 0 && done < bytes; done += got > 0 ? got : 0)
        got = pread(descriptor, values + done, bytes - done, data + (first - 1) * size + done);
    close(descriptor);
    return done == bytes;
}

int ffgpv(fitsfile *file, int type, LONGLONG first, LONGLONG count, void *null, void *values, int *any, int *status) {
    int (*own)(fitsfile *, int, LONGLONG, LONGLONG, void *, void *, int *, int *);
    *(void **)&own = dlsym(RTLD_NEXT, "ffgpv");
    if (!copy(file, size_of(type), first, count, values, status))
        return own(file, type, first, count, null, values, any, status);
    if (any) *any = 0;
    return *status;
}

int ffgpxv(fitsfile *file, int type, long *first, LONGLONG count, void *null, void *values, int *any, int *status) {
    int (*own)(fitsfile *, int, long *, LONGLONG, void *, void *, int *, int *);
    int axes = 0, is_start = 1;
    *(void **)&own = dlsym(RTLD_NEXT, "ffgpxv");
    ffgidm(file, &axes, status);
    for (int axis = 0; axis < axes; axis++) is_start &= first[axis] == 1;
    if (!is_start || !copy(file, size_of(type), 1, count, values, status))
        return own(file, type, first, count, null, values, any, status);
    if (any) *any = 0;
    return *status;
}
