/* CFITSIO: the sum of the primary image, read with fits_read_img in chunks.
 *
 * One request per line on stdin (flat JSON without escapes), one reply line on stdout. "chunk" is the number of
 * bytes to read at a time; 0 takes what fits_get_rowsize recommends. Opening, reading, converting and summing are
 * timed, closing too. NULL as the null value switches CFITSIO's search for NaN off, which is its fastest way.
 * The sum runs in eight accumulators: a single one would wait for the adder and measure that instead of reading.
 */
#include <fitsio.h>

#include "request.h"

#define LANES 8

static double sum_of(const double *pixels, long long count) {
    double lanes[LANES] = {0}, sum = 0;
    long long i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int lane = 0; lane < LANES; lane++) lanes[lane] += pixels[i + lane];
    for (; i < count; i++) sum += pixels[i];
    for (int lane = 0; lane < LANES; lane++) sum += lanes[lane];
    return sum;
}

/* Sum of all pixels; `chunk_pixels` 0 asks CFITSIO and says what it answered. Returns CFITSIO's status. */
static int sum_image(const char *path, long long *chunk_pixels, double *sum) {
    fitsfile *file = NULL;
    int status = 0, naxis = 0, bitpix = 0, closing = 0;
    LONGLONG axes[9] = {0}, total = 1;
    fits_open_file(&file, path, READONLY, &status);
    fits_get_img_paramll(file, 9, &bitpix, &naxis, axes, &status);
    if (status) return status;
    for (int i = 0; i < naxis; i++) total *= axes[i];
    if (*chunk_pixels <= 0) {
        long recommended = 0;
        fits_get_rowsize(file, &recommended, &status);
        *chunk_pixels = recommended;
    }
    if (*chunk_pixels > total) *chunk_pixels = total;
    double *buffer = malloc(*chunk_pixels * sizeof *buffer);
    if (!buffer) status = MEMORY_ALLOCATION;
    *sum = 0;
    for (LONGLONG first = 1; !status && first <= total; first += *chunk_pixels) {
        LONGLONG left = total - first + 1;
        LONGLONG count = left < *chunk_pixels ? left : *chunk_pixels;
        int any_null = 0;
        fits_read_img(file, TDOUBLE, first, count, NULL, buffer, &any_null, &status);
        if (!status) *sum += sum_of(buffer, count);
    }
    free(buffer);
    fits_close_file(file, &closing);
    return status;
}

int main(int argc, char **argv) {
    char line[8192], path[4096], model[64], text[FLEN_STATUS];
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        float version;
        fits_get_version(&version);
        printf("CFITSIO %.4g, gcc %s -O3 -march=native\n", version, __VERSION__);
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        if (!text_of(line, "model", model, sizeof model) || strcmp(model, "sum") ||
            !text_of(line, "path", path, sizeof path)) {
            printf("{\"unsupported\": \"only the model sum, of a path without quotes\"}\n");
        } else {
            long long chunk = number_of(line, "chunk", 0) / (long long)sizeof(double);
            double sum = 0, start = now();
            int status = sum_image(path, &chunk, &sum);
            double seconds = now() - start;
            if (status) {
                fits_get_errstatus(status, text);
                printf("{\"error\": \"CFITSIO status %d: %s\"}\n", status, text);
            } else {
                printf("{\"seconds\": %.9f, \"answer\": {\"sum\": %.17g, \"chunk_pixels\": %lld}}\n", seconds, sum,
                       chunk);
            }
        }
        fflush(stdout);
    }
    return 0;
}
