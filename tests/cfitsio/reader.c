/* A plug-in that reads with the CFITSIO that it is linked with: `plugins` loads two of them. */
#include <fitsio.h>
#include <stdint.h>
#include <stdlib.h>

static fitsfile *file;

/* Open a file; return CFITSIO's status. */
int reader_open(const char *path) {
    int status = 0;
    ffopen(&file, path, READONLY, &status);
    return status;
}

/* Read the image as doubles; return a hash, or the negative status. */
long long reader_read(double null) {
    LONGLONG lengths[9] = {0}, total = 1;
    int bitpix = 0, axes = 0, status = 0, anynul = 0;
    uint64_t state = 1469598103934665603u;
    ffgiprll(file, 9, &bitpix, &axes, lengths, &status);
    for (int axis = 0; axis < axes; axis++)
        total *= lengths[axis];
    double *values = calloc((size_t)total, sizeof(double));
    ffgpvd(file, 0, 1, total, null, values, &anynul, &status);
    for (LONGLONG k = 0; k < total; k++) {
        union {
            double value;
            uint64_t bits;
        } cell = {values[k]};
        state = (state ^ cell.bits) * 1099511628211u;
    }
    free(values);
    return status > 0 ? -status : (long long)((state >> 1) + (uint64_t)anynul);
}

/* Let this CFITSIO read with another scale: the other one must not notice. */
int reader_scale(double scale, double zero) {
    int status = 0;
    ffpscl(file, scale, zero, &status);
    return status;
}

int reader_close(void) {
    int status = 0;
    ffclos(file, &status);
    return status;
}
