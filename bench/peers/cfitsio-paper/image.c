/* The experiments of S. Eguchi 2013: an image of double precision is read whole by CFITSIO and summed (section 4); a cube of
 * single precision is read whole and integrated along its first axis, the spectral one, or over its planes (section 5.2).
 *
 * One request per line on stdin (flat JSON without escapes), one reply line on stdout. This file is compiled twice: with
 * CFITSIO as it is, where the `method` is "library", and with its swapping switched off (UNSWAPPED), where the bytes are swapped
 * "on ahead", by all threads before the sum, or "just in time", inside the sum. Sums have one accumulator per thread and no
 * vector instructions, as in the paper. `parts` has the seconds of reading (on-ahead conversion included) and of the sum.
 */
#include <fitsio.h>
#include <omp.h>
#include <pthread.h>
#include <stdint.h>

#include "request.h"

#define MOST_THREADS 256
#define AXES 9

static inline uint64_t bit_shift(uint64_t a) {
    return (a & 0x00000000000000FFULL) << 56 | (a & 0x000000000000FF00ULL) << 40 | (a & 0x0000000000FF0000ULL) << 24 |
           (a & 0x00000000FF000000ULL) << 8 | (a & 0x000000FF00000000ULL) >> 8 | (a & 0x0000FF0000000000ULL) >> 24 |
           (a & 0x00FF000000000000ULL) >> 40 | (a & 0xFF00000000000000ULL) >> 56;
}

static inline double swapped(const double *pixel) {
    uint64_t bits;
    double real;
    memcpy(&bits, pixel, sizeof bits);
    bits = bit_shift(bits);
    memcpy(&real, &bits, sizeof real);
    return real;
}

struct share {
    double *at;
    long long count;
};

static void *convert_share(void *given) {
    struct share *share = given;
    for (long long i = 0; i < share->count; i++) share->at[i] = swapped(&share->at[i]);
    return NULL;
}

static int convert(double *pixels, long long count, int threads) {
    pthread_t others[MOST_THREADS];
    struct share shares[MOST_THREADS];
    long long each = (count + threads - 1) / threads;
    int started = 0;
    for (int i = 0; i < threads; i++) {
        long long first = i * each < count ? i * each : count, last = first + each < count ? first + each : count;
        shares[i] = (struct share){pixels + first, last - first};
    }
    while (started < threads - 1 && !pthread_create(&others[started], NULL, convert_share, &shares[started + 1])) started++;
    convert_share(&shares[0]);
    for (int i = 0; i < started; i++) pthread_join(others[i], NULL);
    return started == threads - 1;
}

static double sum_of(const double *pixels, long long count) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(auto)
    for (long long i = 0; i < count; i++) sum += pixels[i];
    return sum;
}

static double sum_of_swapped(const double *pixels, long long count) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(auto)
    for (long long i = 0; i < count; i++) sum += swapped(&pixels[i]);
    return sum;
}

/* The whole image of type `wanted`; the caller frees it. NULL and CFITSIO's status where that failed. */
static void *read_image(const char *path, int wanted, LONGLONG *axes, long long *count, int *status) {
    fitsfile *file = NULL;
    int naxis = 0, bitpix = 0, any_null = 0, closing = 0, type = wanted == DOUBLE_IMG ? TDOUBLE : TFLOAT;
    void *pixels = NULL;
    fits_open_file(&file, path, READONLY, status);
    fits_get_img_paramll(file, AXES, &bitpix, &naxis, axes, status);
    if (*status) return NULL;
    *count = 1;
    for (int i = 0; i < naxis; i++) *count *= axes[i];
    if (bitpix != wanted) *status = BAD_BITPIX;
    if (!*status && !(pixels = malloc(*count * -bitpix / 8))) *status = MEMORY_ALLOCATION;
    fits_read_img(file, type, 1, *count, NULL, pixels, &any_null, status);
    fits_close_file(file, &closing);
    return pixels;
}

/* A pixel of a cube in the machine's order. */
static inline float pixel_of(const float *pixel, int is_swapped) {
    uint32_t bits;
    float real;
    if (!is_swapped) return *pixel;
    memcpy(&bits, pixel, sizeof bits);
    bits = __builtin_bswap32(bits);
    memcpy(&real, &bits, sizeof real);
    return real;
}

/* Integrates a cube into `sums`, a number per pixel of a plane or per plane. */
static void integrate(const float *cube, const LONGLONG *axes, int into_image, int is_swapped, double *sums) {
    long long plane = axes[0] * axes[1];
    for (long long z = 0; z < axes[2]; z++) {
        const float *pixels = cube + z * plane;
        if (into_image) {
            for (long long i = 0; i < plane; i++) sums[i] += pixel_of(&pixels[i], is_swapped);
        } else {
            double sum = 0;
            for (long long i = 0; i < plane; i++) sum += pixel_of(&pixels[i], is_swapped);
            sums[z] = sum;
        }
    }
}

static void reply_error(int status) {
    char text[FLEN_STATUS];
    fits_get_errstatus(status, text);
    printf("{\"error\": \"CFITSIO status %d: %s\"}\n", status, text);
}

/* An image or a spectrum of a cube, by one thread: the sum of its numbers, and of each times its position. */
static void reply_extracted(const char *path, const char *what, int is_swapped) {
    int status = 0, into_image = !strcmp(what, "image");
    long long count = 0, results;
    LONGLONG axes[AXES] = {0};
    double total = 0, weighted = 0, *sums = NULL;
    struct spent start = begin();
    float *cube = read_image(path, FLOAT_IMG, axes, &count, &status);
    struct spent read = since(start);
    results = into_image ? axes[0] * axes[1] : axes[2];
    if (!status && !(sums = calloc(results, sizeof *sums))) status = MEMORY_ALLOCATION;
    if (!status) integrate(cube, axes, into_image, is_swapped, sums);
    free(cube);
    struct spent all = since(start);
    for (long long i = 0; sums && i < results; i++) total += sums[i], weighted += sums[i] * (i + 1);
    free(sums);
    if (status) {
        reply_error(status);
        return;
    }
    reply_spent(all);
    printf("\"parts\": {\"read\": %.9f}, \"answer\": {\"extracted-%s\": [%.17g, %.17g]}}\n", read.seconds, what, total, weighted);
}

static void reply(const char *line) {
    char path[4096], method[32] = "", what[32];
    int status = 0, threads = number_of(line, "threads", 1);
    long long count = 0;
    LONGLONG axes[AXES] = {0};
#ifdef UNSWAPPED
    int known = text_of(line, "method", method, sizeof method) && (!strcmp(method, "on ahead") || !strcmp(method, "just in time"));
#else
    int known = text_of(line, "method", method, sizeof method) && !strcmp(method, "library");
#endif
    if (!known || !text_of(line, "path", path, sizeof path) || threads < 1 || threads > MOST_THREADS) {
        printf("{\"unsupported\": \"this build of CFITSIO does not convert by '%s'\"}\n", method);
        return;
    }
    if (text_of(line, "extract", what, sizeof what)) {
        reply_extracted(path, what, !strcmp(method, "just in time"));
        return;
    }
    omp_set_num_threads(threads);
    struct spent start = begin();
    double *pixels = read_image(path, DOUBLE_IMG, axes, &count, &status);
    if (!status && !strcmp(method, "on ahead") && !convert(pixels, count, threads)) status = MEMORY_ALLOCATION;
    struct spent read = since(start);
    double sum = status ? 0 : strcmp(method, "just in time") ? sum_of(pixels, count) : sum_of_swapped(pixels, count);
    struct spent summed = since(start);
    free(pixels);
    struct spent all = since(start);
    if (status) {
        reply_error(status);
        return;
    }
    reply_spent(all);
    printf("\"parts\": {\"read\": %.9f, \"sum\": %.9f}, \"answer\": {\"sum\": %.17g}}\n", read.seconds,
           summed.seconds - read.seconds, sum);
}

int main(int argc, char **argv) {
    char line[8192];
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        float version;
        fits_get_version(&version);
        printf("CFITSIO %.4g, gcc %s -O2 -fopenmp\n", version, __VERSION__);
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        reply(line);
        fflush(stdout);
    }
    return 0;
}
