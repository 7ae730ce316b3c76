/* CFITSIO: what P. Teuben 2013 asks of a package, of a cube of single precision: the whole as an array, its statistics, the sum
 * with another cube, and Hanning smoothing along x, y or z, where the first and the last sample are repeated at the edge.
 *
 * One request per line on stdin (flat JSON without escapes), one reply line on stdout. Rows are taken as many at a time as make
 * about 64 KiB; along y planes, along z three planes that take turns. NULL as the null value switches CFITSIO's search for NaN
 * off. Opening, creating and closing files are timed.
 */
#include <fitsio.h>
#include <math.h>
#include <stdint.h>

#include "request.h"

#define AXES 3
#define BAND 16384

struct cube {
    fitsfile *file;
    LONGLONG axes[AXES], plane, total;
};

static void open_cube(struct cube *cube, const char *path, int *status) {
    int naxis = 0, bitpix = 0;
    fits_open_file(&cube->file, path, READONLY, status);
    fits_get_img_paramll(cube->file, AXES, &bitpix, &naxis, cube->axes, status);
    if (!*status && (bitpix != FLOAT_IMG || naxis != AXES)) *status = BAD_BITPIX;
    cube->plane = cube->axes[0] * cube->axes[1];
    cube->total = cube->plane * cube->axes[2];
}

static void create_like(fitsfile **file, const char *path, const struct cube *cube, int *status) {
    remove(path);
    fits_create_file(file, path, status);
    if (!*status) fits_copy_header(cube->file, *file, status);
}

static void read_pixels(const struct cube *cube, LONGLONG first, LONGLONG count, float *into, int *status) {
    int any_null = 0;
    fits_read_img(cube->file, TFLOAT, first + 1, count, NULL, into, &any_null, status);
}

static void write_pixels(fitsfile *file, LONGLONG first, LONGLONG count, float *from, int *status) {
    fits_write_img(file, TFLOAT, first + 1, count, from, status);
}

/* As many whole rows as make a band. */
static LONGLONG band_of(const struct cube *cube) {
    LONGLONG rows = BAND / cube->axes[0];
    return (rows < 1 ? 1 : rows) * cube->axes[0];
}

struct statistics {
    double sum, squares, least, most;
};

#define LANES 16

static void statistics_of(const struct cube *cube, float *pixels, struct statistics *found, int *status) {
    double sums[LANES] = {0}, squares[LANES] = {0};
    float least[LANES], most[LANES];
    LONGLONG band = band_of(cube);
    for (int lane = 0; lane < LANES; lane++) least[lane] = INFINITY, most[lane] = -INFINITY;
    for (LONGLONG first = 0; !*status && first < cube->total; first += band) {
        LONGLONG count = cube->total - first < band ? cube->total - first : band;
        read_pixels(cube, first, count, pixels, status);
        for (LONGLONG i = 0; i < count; i += LANES)
            for (int lane = 0; lane < LANES && i + lane < count; lane++) {
                float pixel = pixels[i + lane];
                sums[lane] += pixel;
                squares[lane] += (double)pixel * pixel;
                least[lane] = pixel < least[lane] ? pixel : least[lane];
                most[lane] = pixel > most[lane] ? pixel : most[lane];
            }
    }
    *found = (struct statistics){0, 0, INFINITY, -INFINITY};
    for (int lane = 0; lane < LANES; lane++) {
        found->sum += sums[lane];
        found->squares += squares[lane];
        found->least = fmin(found->least, least[lane]);
        found->most = fmax(found->most, most[lane]);
    }
}

static void add(const struct cube *one, const struct cube *other, fitsfile *out, float *a, float *b, int *status) {
    LONGLONG band = band_of(one);
    for (LONGLONG first = 0; !*status && first < one->total; first += band) {
        LONGLONG count = one->total - first < band ? one->total - first : band;
        read_pixels(one, first, count, a, status);
        read_pixels(other, first, count, b, status);
        for (LONGLONG i = 0; i < count; i++) a[i] += b[i];
        write_pixels(out, first, count, a, status);
    }
}

static void hanning_x(const struct cube *cube, fitsfile *out, float *a, float *b, int *status) {
    LONGLONG band = band_of(cube), n = cube->axes[0];
    for (LONGLONG first = 0; !*status && first < cube->total; first += band) {
        LONGLONG count = cube->total - first < band ? cube->total - first : band;
        read_pixels(cube, first, count, a, status);
        for (LONGLONG row = 0; row < count; row += n) {
            float *from = a + row, *to = b + row;
            to[0] = 0.75f * from[0] + 0.25f * from[1];
            for (LONGLONG i = 1; i < n - 1; i++) to[i] = 0.25f * from[i - 1] + 0.5f * from[i] + 0.25f * from[i + 1];
            to[n - 1] = 0.75f * from[n - 1] + 0.25f * from[n - 2];
        }
        write_pixels(out, first, count, b, status);
    }
}

static void smooth(const float *before, const float *here, const float *after, float *to, LONGLONG count) {
    for (LONGLONG i = 0; i < count; i++) to[i] = 0.25f * before[i] + 0.5f * here[i] + 0.25f * after[i];
}

static void hanning_y(const struct cube *cube, fitsfile *out, float *a, float *b, int *status) {
    LONGLONG n = cube->axes[0], rows = cube->axes[1];
    for (LONGLONG z = 0; !*status && z < cube->axes[2]; z++) {
        read_pixels(cube, z * cube->plane, cube->plane, a, status);
        for (LONGLONG y = 0; y < rows; y++) {
            float *here = a + y * n;
            smooth(y ? here - n : here, here, y < rows - 1 ? here + n : here, b + y * n, n);
        }
        write_pixels(out, z * cube->plane, cube->plane, b, status);
    }
}

/* `a` has room for three planes. */
static void hanning_z(const struct cube *cube, fitsfile *out, float *a, float *b, int *status) {
    LONGLONG planes = cube->axes[2], size = cube->plane;
    read_pixels(cube, 0, size, a, status);
    for (LONGLONG z = 0; !*status && z < planes; z++) {
        float *here = a + z % 3 * size, *after = z < planes - 1 ? a + (z + 1) % 3 * size : here;
        if (after != here) read_pixels(cube, (z + 1) * size, size, after, status);
        smooth(z ? a + (z + 2) % 3 * size : here, here, after, b, size);
        write_pixels(out, z * size, size, b, status);
    }
}

static void reply(const char *line) {
    char model[64] = "", path[4096] = "", other_path[4096] = "", output[4096] = "", axis[8] = "", text[FLEN_STATUS];
    struct cube cube = {0}, other = {0};
    struct statistics found = {0};
    fitsfile *out = NULL;
    float *a = NULL, *b = NULL;
    int status = 0, closing = 0;
    text_of(line, "model", model, sizeof model);
    text_of(line, "path", path, sizeof path);
    text_of(line, "second", other_path, sizeof other_path);
    text_of(line, "output", output, sizeof output);
    text_of(line, "axis", axis, sizeof axis);
    int reading = !strcmp(model, "read"), measuring = !strcmp(model, "stats");
    int adding = !strcmp(model, "add"), smoothing = !strcmp(model, "hanning");
    if (!reading && !measuring && !adding && !smoothing) {
        printf("{\"unsupported\": \"the models are read, stats, add and hanning\"}\n");
        return;
    }
    struct spent start = begin();
    open_cube(&cube, path, &status);
    if (adding) open_cube(&other, other_path, &status);
    if (adding || smoothing) create_like(&out, output, &cube, &status);
    LONGLONG room = band_of(&cube) > cube.plane ? band_of(&cube) : cube.plane;
    a = malloc((reading ? cube.total : 3 * room) * sizeof *a);
    b = malloc(room * sizeof *b);
    if (!status && (!a || !b)) status = MEMORY_ALLOCATION;
    if (!status && reading) read_pixels(&cube, 0, cube.total, a, &status);
    if (!status && measuring) statistics_of(&cube, a, &found, &status);
    if (!status && adding) add(&cube, &other, out, a, b, &status);
    if (!status && smoothing && *axis == 'x') hanning_x(&cube, out, a, b, &status);
    if (!status && smoothing && *axis == 'y') hanning_y(&cube, out, a, b, &status);
    if (!status && smoothing && *axis == 'z') hanning_z(&cube, out, a, b, &status);
    if (out) fits_close_file(out, &status);
    if (cube.file) fits_close_file(cube.file, &closing);
    if (other.file) fits_close_file(other.file, &closing);
    struct spent all = since(start);
    if (status) {
        fits_get_errstatus(status, text);
        printf("{\"error\": \"CFITSIO status %d: %s\"}\n", status, text);
    } else {
        reply_spent(all);
        if (reading) {
            uint64_t bits = 0;
            for (LONGLONG i = 0; i < cube.total; i++) {
                uint32_t pixel;
                memcpy(&pixel, &a[i], sizeof pixel);
                bits += pixel;
            }
            printf("\"answer\": {\"bits\": %llu}}\n", (unsigned long long)bits);
        } else if (measuring) {
            double n = cube.total, mean = found.sum / n, square = found.squares / n;
            printf("\"answer\": {\"count\": %lld, \"sum\": %.17g, \"mean\": %.17g, \"rms\": %.17g, \"std\": %.17g, ",
                   (long long)cube.total, found.sum, mean, sqrt(square), sqrt(square - mean * mean));
            printf("\"min\": %.17g, \"max\": %.17g}}\n", found.least, found.most);
        } else {
            printf("\"answer\": {}}\n");
        }
    }
    free(a);
    free(b);
}

int main(int argc, char **argv) {
    char line[16384];
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        float version;
        fits_get_version(&version);
        printf("CFITSIO %.4g, gcc %s -O3 -march=native\n", version, __VERSION__);
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        reply(line);
        fflush(stdout);
    }
    return 0;
}
