/* Reads every image and every numeric column of files by all functions that the interposing library stands before, in all
 * types, with all null policies and several ranges, and prints a hash of everything that each call returns. The output
 * with and without the library must be the same. */
#include <fitsio.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *values;
static char *flags;
static size_t room;
static int any_null, status;
static long calls;
/* Whether the image is compressed: CFITSIO uses the null value of integers then, whether there is one or not, and null
 * pixels that are marked have what memory had. */
static int tiled;

/* What the arrays have before each call: null elements that are marked keep it. */
static void fill(size_t count)
{
    if (count * 8 > room) {
        room = count * 8;
        values = realloc(values, room);
        flags = realloc(flags, count + 8);
    }
    for (size_t i = 0; i < count * 8; i++) values[i] = (unsigned char)(i * 7 + 3);
    memset(flags, 9, count);
    any_null = -3;
    status = 0;
}

static uint64_t hash_of(const void *bytes, size_t count, uint64_t hash)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++) hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

static void show(const char *name, int type, const char *what, size_t count, int result)
{
    char message[FLEN_ERRMSG];
    uint64_t hash = hash_of(values, count * 8, 14695981039346656037u);
    hash = hash_of(flags, count, hash);
    printf("%s %d %s: %016llx %d %d %d", name, type, what, (unsigned long long)hash, any_null, status, result);
    while (fits_read_errmsg(message)) printf(" [%s]", message);
    printf("\n");
    calls++;
}

#define TYPES(DO) \
    DO(b, TBYTE, unsigned char, 100) DO(sb, TSBYTE, signed char, -100) DO(ui, TUSHORT, unsigned short, 60000) \
    DO(i, TSHORT, short, -30000) DO(uk, TUINT, unsigned int, 4000000000u) DO(k, TINT, int, -2000000000) \
    DO(uj, TULONG, unsigned long, 77) DO(j, TLONG, long, -77) DO(ujj, TULONGLONG, ULONGLONG, 78) \
    DO(jj, TLONGLONG, LONGLONG, -78) DO(e, TFLOAT, float, -1.5f) DO(d, TDOUBLE, double, -2.5)

/* CFITSIO refuses these types for compressed images, after leaving any_null as memory had it. */
#define HAS(code) (!tiled || ((code) != TLONGLONG && (code) != TULONGLONG))

/* A run of pixels by each function, plain, with a null value and with flags. */
static void run(fitsfile *f, int naxis, long *naxes, LONGLONG first, LONGLONG count)
{
    char what[80];
    snprintf(what, sizeof what, "%lld+%lld", (long long)first, (long long)count);
    size_t n = count > 0 ? (size_t)count : 0;
    long start[99];
    LONGLONG wide[99], rest = first - 1;
    for (int i = 0; i < naxis; i++) {
        start[i] = wide[i] = (naxes[i] ? rest % naxes[i] : 0) + 1;
        rest = naxes[i] ? rest / naxes[i] : 0;
    }
#define RUN(letter, code, type, null) if (HAS(code)) { \
    type none = 0, some = (type)null; int r; \
    fill(n); r = ffgpv(f, code, first, count, tiled ? &none : NULL, values, &any_null, &status); show("ffgpv", code, what, n, r); \
    fill(n); r = ffgpv(f, code, first, count, &some, values, &any_null, &status); show("ffgpv", code, what, n, r); \
    if (!tiled) { fill(n); r = ffgpf(f, code, first, count, values, flags, &any_null, &status); show("ffgpf", code, what, n, r); } \
    fill(n); r = ffgpv##letter(f, 1, first, count, none, (type *)values, NULL, &status); show("ffgpv_", code, what, n, r); \
    fill(n); r = ffgpv##letter(f, 1, first, count, some, (type *)values, &any_null, &status); show("ffgpv_", code, what, n, r); \
    if (!tiled) { fill(n); r = ffgpf##letter(f, 1, first, count, (type *)values, flags, &any_null, &status); show("ffgpf_", code, what, n, r); } \
    fill(n); r = ffgpxv(f, code, start, count, &some, values, &any_null, &status); show("ffgpxv", code, what, n, r); \
    fill(n); r = ffgpxvll(f, code, wide, count, tiled ? &none : NULL, values, &any_null, &status); show("ffgpxvll", code, what, n, r); \
    if (!tiled) { fill(n); r = ffgpxf(f, code, start, count, values, flags, &any_null, &status); show("ffgpxf", code, what, n, r); } \
    if (!tiled) { fill(n); r = ffgpxfll(f, code, wide, count, values, flags, &any_null, &status); show("ffgpxfll", code, what, n, r); } }
    TYPES(RUN)
}

/* A section, and a whole plane or cube. */
static void section(fitsfile *f, int naxis, long *naxes, long *first, long *last, long *step)
{
    char what[400] = "";
    size_t n = 1;
    for (int i = 0; i < naxis; i++) {
        snprintf(what + strlen(what), sizeof what - strlen(what), "%ld:%ld:%ld,", first[i], last[i], step[i]);
        n *= labs(last[i] - first[i]) / (step[i] > 0 ? step[i] : 1) + 1;
    }
#define SECTION(letter, code, type, null) if (HAS(code)) { \
    type none = 0, some = (type)null; int r; \
    fill(n); r = ffgsv(f, code, first, last, step, &none, values, &any_null, &status); show("ffgsv", code, what, n, r); \
    fill(n); r = ffgsv(f, code, first, last, step, &some, values, &any_null, &status); show("ffgsv", code, what, n, r); \
    fill(n); r = ffgsv##letter(f, 0, naxis, naxes, first, last, step, some, (type *)values, &any_null, &status); show("ffgsv_", code, what, n, r); \
    if (!tiled) { fill(n); r = ffgsf##letter(f, 0, naxis, naxes, first, last, step, (type *)values, flags, &any_null, &status); show("ffgsf_", code, what, n, r); } }
    TYPES(SECTION)
}

static void planes(fitsfile *f, LONGLONG x, LONGLONG y, LONGLONG z)
{
    size_t n = (size_t)(x * y * z), wide = (size_t)((x + 2) * (y + 1) * z);
#define PLANES(letter, code, type, null) if (HAS(code)) { \
    type some = (type)null; int r; \
    fill(n); r = ffg2d##letter(f, 1, some, x, x, y, (type *)values, &any_null, &status); show("ffg2d", code, "plane", n, r); \
    fill(n); r = ffg3d##letter(f, 1, some, x, y, x, y, z, (type *)values, &any_null, &status); show("ffg3d", code, "cube", n, r); \
    fill(wide); r = ffg3d##letter(f, 1, some, x + 2, y + 1, x, y, z, (type *)values, &any_null, &status); show("ffg3d", code, "apart", wide, r); }
    TYPES(PLANES)
}

static void column(fitsfile *f, int number, LONGLONG row, LONGLONG element, LONGLONG count)
{
    char what[80];
    snprintf(what, sizeof what, "%d:%lld.%lld+%lld", number, (long long)row, (long long)element, (long long)count);
    size_t n = count > 0 ? (size_t)count : 0;
#define COLUMN(letter, code, type, null) { \
    type none = 0, some = (type)null; int r; \
    fill(n); r = ffgcv(f, code, number, row, element, count, NULL, values, &any_null, &status); show("ffgcv", code, what, n, r); \
    fill(n); r = ffgcv(f, code, number, row, element, count, &some, values, &any_null, &status); show("ffgcv", code, what, n, r); \
    fill(n); r = ffgcf(f, code, number, row, element, count, values, flags, &any_null, &status); show("ffgcf", code, what, n, r); \
    fill(n); r = ffgcv##letter(f, number, row, element, count, none, (type *)values, NULL, &status); show("ffgcv_", code, what, n, r); \
    fill(n); r = ffgcv##letter(f, number, row, element, count, some, (type *)values, &any_null, &status); show("ffgcv_", code, what, n, r); \
    fill(n); r = ffgcf##letter(f, number, row, element, count, (type *)values, flags, &any_null, &status); show("ffgcf_", code, what, n, r); }
    TYPES(COLUMN)
}

static void image(fitsfile *f)
{
    int naxis = 0, s = 0;
    long naxes[99] = {0}, first[99], last[99], step[99];
    ffgidm(f, &naxis, &s);
    ffgisz(f, 99, naxes, &s);
    if (s || naxis < 1 || naxis > 9) return;
    LONGLONG n = 1;
    for (int i = 0; i < naxis; i++) n *= naxes[i];
    if (n > 3000000) return;
    run(f, naxis, naxes, 1, n);
    run(f, naxis, naxes, n / 3 + 1, n / 2);
    if (!tiled) {
        /* CFITSIO reads memory that it does not have here if the image is compressed. */
        run(f, naxis, naxes, 1, n + 1);
        run(f, naxis, naxes, n + 1, 1);
        run(f, naxis, naxes, 1, 0);
    }
    for (int way = 0; way < (tiled ? 3 : 4); way++) {
        for (int i = 0; i < naxis; i++) {
            first[i] = way == 1 ? naxes[i] / 4 + 1 : 1;
            last[i] = way == 2 && naxes[i] > 1 ? naxes[i] - 1 : naxes[i];
            step[i] = way == 2 ? 3 : 1;
            if (way == 3) { first[i] = naxes[i]; last[i] = 1; }
        }
        if (n > 0) section(f, naxis, naxes, first, last, step);
    }
    if (naxis > 1 && n > 0) planes(f, naxes[0], naxes[1], naxis > 2 ? naxes[2] : 1);
    /* Scaling and null values that the program sets. */
    fits_set_bscale(f, 0.25, 3.0, &s);
    fits_set_imgnull(f, 7, &s);
    run(f, naxis, naxes, 1, n);
}

static void table(fitsfile *f)
{
    int columns = 0, s = 0;
    LONGLONG rows = 0;
    ffgncl(f, &columns, &s);
    ffgnrwll(f, &rows, &s);
    if (columns > 40) columns = 40;
    for (int number = 1; number <= columns; number++) {
        int type;
        LONGLONG repeat, width;
        if (ffgtclll(f, number, &type, &repeat, &width, &s) > 0) return;
        if (repeat < 1 || rows < 1 || repeat * rows > 1000000) continue;
        column(f, number, 1, 1, repeat * rows);
        column(f, number, rows / 3 + 1, repeat / 2 + 1, repeat * (rows - rows / 3) - repeat / 2);
        column(f, number, 1, 1, repeat * rows + 1);
        column(f, number, rows + 1, 1, 1);
        if (type > 0 && type != TSTRING) {
            fits_set_tscale(f, number, -2.0, 1.0, &s);
            fits_set_btblnull(f, number, 3, &s);
            column(f, number, 1, 1, repeat * rows);
        }
    }
}

int main(int count, char **paths)
{
    for (int i = 1; i < count; i++) {
        fitsfile *f = NULL;
        int s = 0, number = 0, type;
        char message[FLEN_ERRMSG];
        /* After an error nothing of the arguments is used. */
        status = 207;
        ffgpv(NULL, TFLOAT, 1, 1000000, NULL, NULL, NULL, &status);
        printf("%s: ", paths[i]);
        if (fits_open_diskfile(&f, paths[i], READONLY, &s)) {
            printf("not opened: %d\n", s);
            while (fits_read_errmsg(message)) {}
            continue;
        }
        ffthdu(f, &number, &s);
        printf("%d HDUs\n", number);
        for (int hdu = 1; hdu <= number && hdu < 40; hdu++) {
            s = 0;
            if (ffmahd(f, hdu, &type, &s) > 0) break;
            printf("HDU %d\n", hdu);
            tiled = fits_is_compressed_image(f, &s);
            if (type == IMAGE_HDU || fits_is_compressed_image(f, &s)) image(f);
            if (type == BINARY_TBL) table(f);
        }
        s = 0;
        fits_close_file(f, &s);
        while (fits_read_errmsg(message)) {}
    }
    printf("%ld calls\n", calls);
    return 0;
}
