/* Call every reading function of CFITSIO on a file and print one line a call: status, anynul, a
 * hash of the array with its guard bytes, a hash of the flags, and the message stack. The test runs
 * this program with and without the interposing library and compares the lines.
 *
 *     calls FILE [BUDGET]      BUDGET: elements to read per HDU, about (default 2e7)
 */
#include <fitsio.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* suffix of CFITSIO's names, type in C, code of the generic functions */
#define TYPES(X)                                                                                   \
    X(b, unsigned char, TBYTE)                                                                     \
    X(sb, signed char, TSBYTE)                                                                     \
    X(ui, unsigned short, TUSHORT)                                                                 \
    X(i, short, TSHORT)                                                                            \
    X(uk, unsigned int, TUINT)                                                                     \
    X(k, int, TINT)                                                                                \
    X(uj, unsigned long, TULONG)                                                                   \
    X(j, long, TLONG)                                                                              \
    X(ujj, ULONGLONG, TULONGLONG)                                                                  \
    X(jj, LONGLONG, TLONGLONG)                                                                     \
    X(e, float, TFLOAT)                                                                            \
    X(d, double, TDOUBLE)

/* the same for Fortran's names; LONG is INTEGER*4 there, and every argument is an address */
#define FORTRAN_TYPES(X)                                                                           \
    X(b, unsigned char)                                                                            \
    X(i, short)                                                                                    \
    X(j, int)                                                                                      \
    X(k, LONGLONG)                                                                                 \
    X(e, float)                                                                                    \
    X(d, double)

/* Functions of Fortran with 64-bit names for flags of images do not exist in CFITSIO. */
#define FORTRAN_NAMES(S, T)                                                                        \
    void ftgpv##S##_(int *, int *, int *, int *, T *, T *, int *, int *);                          \
    void ftgpv##S##ll_(int *, int *, LONGLONG *, LONGLONG *, T *, T *, int *, int *);              \
    void ftgpf##S##_(int *, int *, int *, int *, T *, int *, int *, int *);                        \
    void ftg2d##S##_(int *, int *, T *, int *, int *, int *, T *, int *, int *);                   \
    void ftg3d##S##_(int *, int *, T *, int *, int *, int *, int *, int *, T *, int *, int *);     \
    void ftgsv##S##_(int *, int *, int *, int *, int *, int *, int *, T *, T *, int *, int *);     \
    void ftgsf##S##_(int *, int *, int *, int *, int *, int *, int *, T *, int *, int *, int *);   \
    void ftgcv##S##_(int *, int *, int *, int *, int *, T *, T *, int *, int *);                   \
    void ftgcv##S##ll_(int *, int *, LONGLONG *, LONGLONG *, int *, T *, T *, int *, int *);       \
    void ftgcf##S##_(int *, int *, int *, int *, int *, T *, int *, int *, int *);                 \
    void ftgcf##S##ll_(int *, int *, LONGLONG *, LONGLONG *, int *, T *, int *, int *, int *);
FORTRAN_TYPES(FORTRAN_NAMES)

/* Fortran's units index this array. */
extern fitsfile *gFitsFiles[];
static int unit = 60;

enum { AXES = 9, GUARD = 64 };

/* A request for pixels: a run, and the section that is nearest to it. */
typedef struct {
    const char *name;
    LONGLONG first, count;
    long blc[AXES], trc[AXES], inc[AXES];
    LONGLONG section; /* pixels of the section */
} Span;

static struct {
    fitsfile *file;
    int hdu, axes, column, compressed;
    long lengths[AXES];
    LONGLONG lengths64[AXES];
    char label[96]; /* which HDU, and what was set before */
    double share;   /* of the large calls that are made */
    LONGLONG total; /* pixels */
    int bitpix;
    int is_short; /* the file ends within the HDU */
} at;

static char *array, *flags;
static size_t array_room, flags_room, array_bytes, flags_bytes, element_bytes;
static int status, anynul, entry;
static uint64_t calls;

/* Null values: no check, 0, a plain one, and NaN or the type's largest. */
static const char *const policies[] = {"none", "zero", "value", "special"};

static uint64_t mixed(uint64_t value) {
    value = (value ^ (value >> 31)) * 0x9E3779B97F4A7C15u;
    return value ^ (value >> 29);
}

static uint64_t hash(const char *bytes, size_t count) {
    uint64_t state = count;
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        state = (state ^ word) * 0x9E3779B97F4A7C15u;
        state ^= state >> 29;
    }
    for (; count > 0; bytes++, count--)
        state = mixed(state ^ (unsigned char)*bytes);
    return mixed(state);
}

static char *filled(char *block, size_t *room, size_t bytes) {
    if (bytes > *room) {
        free(block);
        *room = bytes + bytes / 2;
        block = malloc(*room);
        if (block == NULL) {
            puts("no memory");
            exit(3);
        }
    }
    memset(block, 0xA5, bytes);
    return block;
}

/* Prepare a call that writes `count` elements; return 0 if the budget has no room for it. */
static int begin(LONGLONG count, size_t size) {
    calls++;
    if (count > 4096 && (double)(mixed(calls) >> 11) * 0x1p-53 > at.share)
        return 0;
    size_t elements = count > 0 ? (size_t)count : 0;
    element_bytes = size;
    array_bytes = elements * size + GUARD;
    flags_bytes = elements * sizeof(int) + GUARD;
    array = filled(array, &array_room, array_bytes);
    flags = filled(flags, &flags_room, flags_bytes);
    anynul = 0x5A5A5A5A;
    ffcmsg();
    entry = calls % 97 == 0 ? 105 : 0;
    if (calls % 11 == 0)
        ffpmsg("a message from before");
    status = entry;
    return 1;
}

/* Undefined elements of packed images, under flags, are what was in CFITSIO's memory. */
static void clear_undefined(int is_fortran) {
    const size_t step = is_fortran ? sizeof(int) : 1;
    for (size_t k = 0; (k + 1) * element_bytes + GUARD <= array_bytes; k++)
        if (flags[k * step] == 1)
            memset(array + k * element_bytes, 0, element_bytes);
}

static void finish(const char *name, const char *type, const char *policy, const char *span) {
    char messages[6][FLEN_ERRMSG];
    int count = 0, is_unread = status == END_OF_FILE || status == READ_ERROR;
    while (count < 6 && ffgmsg(messages[count])) {
        is_unread |= strncmp(messages[count], "Error reading data buffer", 25) == 0;
        is_unread |= strcmp(policy, "flags") == 0 &&
                     strncmp(messages[count], "error reading compressed byte", 29) == 0;
        count++;
    }
    is_unread |= at.is_short && status > entry;
    /* Left open by a failed call, an error would change the next. */
    ffcmsg();
    printf("%s %s %s %s %s: ", at.label, name, type, policy, span);
    if (is_unread) { /* The array holds what was in CFITSIO's buffers. */
        puts("not read");
        return;
    }
    if (at.compressed && strcmp(policy, "flags") == 0)
        clear_undefined(name[1] == 't');
    /* CFITSIO reports an uninitialised anynul with this error. */
    if (status == BAD_DATATYPE)
        anynul = 0;
    printf("status %d>%d anynul %x array %016llx flags %016llx", entry, status, (unsigned)anynul,
           (unsigned long long)hash(array, array_bytes),
           (unsigned long long)hash(flags, flags_bytes));
    for (int k = 0; k < count; k++)
        printf(" | %s", messages[k]);
    putchar('\n');
}

/* A tile that CFITSIO 4.2 takes from its cache has no nulls, and its flags crash. A move to HDU 1
 * and back empties the cache, so that an answer does not depend on the calls before. A run of several
 * pieces of a tile fills it again: such a call with flags is left out. */
static int is_safe(const char *policy, const char *span) {
    int moved = 0;
    if (!at.compressed)
        return 1;
    ffmahd(at.file, 1, NULL, &moved);
    ffmahd(at.file, at.hdu, NULL, &moved);
    return strcmp(policy, "flags") != 0 || strcmp(span, "middle") != 0;
}

#define CALL(NAME, TYPE, POLICY, SPAN, COUNT, SIZE, EXPRESSION)                                    \
    do {                                                                                           \
        if (is_safe(POLICY, SPAN) && begin((COUNT), (SIZE))) {                                     \
            EXPRESSION;                                                                            \
            finish(NAME, TYPE, POLICY, SPAN);                                                      \
        }                                                                                          \
    } while (0)

#define SPECIAL(T) ((T)1.5 == (T)1 ? (T)-1 : (T)NAN)
#define NULL_VALUES(T) T nulls[] = {0, 0, (T)77, SPECIAL(T)}
#define FLAGS "flags"

/* ---- images ---- */

static void coordinates(LONGLONG first, LONGLONG *out) {
    LONGLONG rest = first - 1;
    for (int axis = 0; axis < at.axes; axis++) {
        LONGLONG length = axis + 1 < at.axes && at.lengths64[axis] > 0 ? at.lengths64[axis] : 0;
        out[axis] = (length ? rest % length : rest) + 1;
        rest = length ? rest / length : 0;
    }
}

/* Lines of plane 1 in an array with longer lines, and planes with more lines. */
static void shapes(int extra, LONGLONG *n) {
    n[0] = at.axes > 0 ? at.lengths64[0] : 0;
    n[1] = at.axes > 1 ? at.lengths64[1] : 1;
    n[2] = at.axes > 2 ? at.lengths64[2] : 1;
    n[3] = n[0] + extra;
    n[4] = n[1] + (extra > 0 ? extra : 0);
}

/* CFITSIO 4.2 takes the length of an image from uninitialised memory if it reads bytes of an empty
 * image, or from pixel 0: it may divide by zero then. Bytes of packed doubles are uninitialised too. */
static int is_unsafe(const Span *s, size_t size) {
    const int is_double = at.compressed && at.bitpix == DOUBLE_IMG;
    return size == 1 && (s->first < 1 || at.total == 0 || is_double);
}

static void image_generic(const Span *s, const char *type, int code, size_t size, void *nulls) {
    LONGLONG first64[AXES];
    long first[AXES];
    if (is_unsafe(s, size))
        return;
    coordinates(s->first, first64);
    for (int axis = 0; axis < AXES; axis++)
        first[axis] = (long)first64[axis];
    for (int p = 0; p < 4; p++) {
        void *null = p == 0 ? NULL : (char *)nulls + p * size;
        CALL("ffgpxv", type, policies[p], s->name, s->count, size,
             ffgpxv(at.file, code, first, s->count, null, array, &anynul, &status));
        CALL("ffgpxvll", type, policies[p], s->name, s->count, size,
             ffgpxvll(at.file, code, first64, s->count, null, array, &anynul, &status));
        CALL("ffgpv", type, policies[p], s->name, s->count, size,
             ffgpv(at.file, code, s->first, s->count, null, array, &anynul, &status));
        CALL("ffgsv", type, policies[p], s->name, s->section, size,
             ffgsv(at.file, code, (long *)s->blc, (long *)s->trc, (long *)s->inc, null, array,
                   &anynul, &status));
    }
    /* CFITSIO itself crashes if it reports a null, or decompresses, without the address of anynul. */
    if (!at.compressed)
        CALL("ffgpxv", type, "none, no anynul", s->name, s->count, size,
             ffgpxv(at.file, code, first, s->count, NULL, array, NULL, &status));
    CALL("ffgpxf", type, FLAGS, s->name, s->count, size,
         ffgpxf(at.file, code, first, s->count, array, flags, &anynul, &status));
    CALL("ffgpxfll", type, FLAGS, s->name, s->count, size,
         ffgpxfll(at.file, code, first64, s->count, array, flags, &anynul, &status));
    CALL("ffgpf", type, FLAGS, s->name, s->count, size,
         ffgpf(at.file, code, s->first, s->count, array, flags, &anynul, &status));
    /* An image is column 2 of a table of one row. */
    CALL("ffgcv", type, "value", s->name, s->count, size,
         ffgcv(at.file, code, 2, 1, s->first, s->count, (char *)nulls + 2 * size, array, &anynul,
               &status));
    CALL("ffgcf", type, FLAGS, s->name, s->count, size,
         ffgcf(at.file, code, 2, 1, s->first, s->count, array, flags, &anynul, &status));
}

#define IMAGE(S, T, CODE)                                                                          \
    static void image_##S(const Span *s) {                                                         \
        NULL_VALUES(T);                                                                            \
        const size_t size = sizeof(T);                                                             \
        LONGLONG n[5];                                                                             \
        image_generic(s, #T, CODE, size, nulls);                                                   \
        if (is_unsafe(s, size))                                                                    \
            return;                                                                                \
        for (int p = 1; p < 4; p++) {                                                              \
            const T null = nulls[p];                                                               \
            CALL("ffgpv" #S, #T, policies[p], s->name, s->count, size,                             \
                 ffgpv##S(at.file, 0, s->first, s->count, null, (T *)array, &anynul, &status));    \
            CALL("ffgsv" #S, #T, policies[p], s->name, s->section, size,                           \
                 ffgsv##S(at.file, 0, at.axes, at.lengths, (long *)s->blc, (long *)s->trc,         \
                          (long *)s->inc, null, (T *)array, &anynul, &status));                    \
            CALL("ffgcv" #S, #T, policies[p], s->name, s->count, size,                             \
                 ffgcv##S(at.file, 2, 1, s->first, s->count, null, (T *)array, &anynul, &status)); \
        }                                                                                          \
        CALL("ffgpf" #S, #T, FLAGS, s->name, s->count, size,                                       \
             ffgpf##S(at.file, 0, s->first, s->count, (T *)array, flags, &anynul, &status));       \
        CALL("ffgsf" #S, #T, FLAGS, s->name, s->section, size,                                     \
             ffgsf##S(at.file, 0, at.axes, at.lengths, (long *)s->blc, (long *)s->trc,             \
                      (long *)s->inc, (T *)array, flags, &anynul, &status));                       \
        CALL("ffgcf" #S, #T, FLAGS, s->name, s->count, size,                                       \
             ffgcf##S(at.file, 2, 1, s->first, s->count, (T *)array, flags, &anynul, &status));    \
        CALL("ffgpv" #S, #T, "group 2", s->name, s->count, size,                                   \
             ffgpv##S(at.file, 2, s->first, s->count, nulls[1], (T *)array, &anynul, &status));    \
        if (strcmp(s->name, "whole") != 0)                                                         \
            return;                                                                                \
        for (int extra = -1; extra < 4; extra += extra < 0 ? 1 : 3) {                              \
            char label[32];                                                                        \
            shapes(extra, n);                                                                      \
            if (n[3] < 0 || n[0] * n[1] * n[2] > s->count)                                         \
                continue;                                                                          \
            snprintf(label, sizeof label, "%+d columns", extra);                                   \
            for (int p = 1; p < 4; p++) {                                                          \
                CALL("ffg2d" #S, #T, policies[p], label, n[3] * n[1], size,                        \
                     ffg2d##S(at.file, 0, nulls[p], n[3], n[0], n[1], (T *)array, &anynul,         \
                              &status));                                                           \
                CALL("ffg3d" #S, #T, policies[p], label, n[3] * n[4] * n[2], size,                 \
                     ffg3d##S(at.file, 0, nulls[p], n[3], n[4], n[0], n[1], n[2], (T *)array,      \
                              &anynul, &status));                                                  \
            }                                                                                      \
        }                                                                                          \
    }
TYPES(IMAGE)

#define FORTRAN_IMAGE(S, T)                                                                        \
    static void fortran_image_##S(const Span *s) {                                                 \
        NULL_VALUES(T);                                                                            \
        const size_t size = sizeof(T);                                                             \
        int group = 0, column = 0, axes = at.axes, first = (int)s->first, count = (int)s->count;   \
        LONGLONG first64 = s->first, count64 = s->count, n[5];                                     \
        int lengths[AXES], blc[AXES], trc[AXES], inc[AXES];                                        \
        for (int axis = 0; axis < AXES; axis++) {                                                  \
            lengths[axis] = (int)at.lengths[axis];                                                 \
            blc[axis] = (int)s->blc[axis];                                                         \
            trc[axis] = (int)s->trc[axis];                                                         \
            inc[axis] = (int)s->inc[axis];                                                         \
        }                                                                                          \
        for (int p = 1; p < 4; p++) {                                                              \
            T *null = nulls + p;                                                                   \
            CALL("ftgpv" #S, #T, policies[p], s->name, s->count, size,                             \
                 ftgpv##S##_(&unit, &group, &first, &count, null, (T *)array, &anynul, &status));  \
            CALL("ftgpv" #S "ll", #T, policies[p], s->name, s->count, size,                        \
                 ftgpv##S##ll_(&unit, &group, &first64, &count64, null, (T *)array, &anynul,       \
                               &status));                                                          \
            CALL("ftgsv" #S, #T, policies[p], s->name, s->section, size,                           \
                 ftgsv##S##_(&unit, &column, &axes, lengths, blc, trc, inc, null, (T *)array,      \
                             &anynul, &status));                                                   \
        }                                                                                          \
        CALL("ftgpf" #S, #T, FLAGS, s->name, s->count, size,                                       \
             ftgpf##S##_(&unit, &group, &first, &count, (T *)array, (int *)flags, &anynul,         \
                         &status));                                                                \
        CALL("ftgsf" #S, #T, FLAGS, s->name, s->section, size,                                     \
             ftgsf##S##_(&unit, &column, &axes, lengths, blc, trc, inc, (T *)array, (int *)flags,  \
                         &anynul, &status));                                                       \
        shapes(2, n);                                                                              \
        if (strcmp(s->name, "whole") == 0 && n[0] * n[1] * n[2] <= s->count) {                     \
            int m[5];                                                                              \
            for (int axis = 0; axis < 5; axis++)                                                   \
                m[axis] = (int)n[axis];                                                            \
            CALL("ftg2d" #S, #T, "value", "+2 columns", n[3] * n[1], size,                         \
                 ftg2d##S##_(&unit, &group, nulls + 2, m + 3, m, m + 1, (T *)array, &anynul,       \
                             &status));                                                            \
            CALL("ftg3d" #S, #T, "value", "+2 columns", n[3] * n[4] * n[2], size,                  \
                 ftg3d##S##_(&unit, &group, nulls + 2, m + 3, m + 4, m, m + 1, m + 2, (T *)array,  \
                             &anynul, &status));                                                   \
        }                                                                                          \
    }
FORTRAN_TYPES(FORTRAN_IMAGE)

#define IMAGE_CALL(S, T, CODE) image_##S(s);
#define FORTRAN_IMAGE_CALL(S, T)                                                                   \
    if (!is_unsafe(s, sizeof(T)))                                                                  \
        fortran_image_##S(s);

/* Cut a section with steps out of the image: `part` 0 is the whole. */
static void set_section(Span *s, int part) {
    s->section = 1;
    for (int axis = 0; axis < AXES; axis++) {
        const long length = axis < at.axes ? at.lengths[axis] : 1;
        s->blc[axis] = s->inc[axis] = 1;
        s->trc[axis] = length;
        if (axis >= at.axes)
            continue;
        if (part == 1 && axis == at.axes - 1)
            s->trc[axis] = 1;
        if (part == 2) {
            s->blc[axis] = length / 3 + 1;
            s->trc[axis] = length - length / 4;
            s->inc[axis] = axis == 0 ? 3 : 2;
        }
        if (part == 3)
            s->blc[axis] = length;
        if (part == 4)
            s->trc[axis] = length + 1;
        if (part == 5) {
            s->blc[axis] = length - length / 4;
            s->trc[axis] = length / 3 + 1;
        }
        if (part == 6 && axis == 0) {
            s->inc[axis] = 1;
            s->blc[axis] = length / 2 + 1;
        }
        if (part == 7)
            s->inc[axis] = length + 5;
        const long step = s->inc[axis] > 0 ? s->inc[axis] : 1;
        long count = labs(s->trc[axis] - s->blc[axis]) / step + 1;
        s->section *= count > 0 ? count : 0;
    }
    if (at.axes == 0)
        s->section = 0;
}

/* Learn axes and type of the current image; return its pixels, -1 if it is not read. */
static LONGLONG image_facts(double budget) {
    int bitpix = 0;
    LONGLONG total = 1;
    status = 0;
    memset(at.lengths64, 0, sizeof at.lengths64);
    ffgidm(at.file, &at.axes, &status);
    if (at.axes > AXES)
        at.axes = AXES;
    ffgiprll(at.file, AXES, &bitpix, &at.axes, at.lengths64, &status);
    if (at.axes > AXES)
        at.axes = AXES;
    for (int axis = 0; axis < AXES; axis++) {
        at.lengths[axis] = (long)at.lengths64[axis];
        if (axis < at.axes && (total < 0 || __builtin_mul_overflow(total, at.lengths64[axis], &total)))
            total = -1;
    }
    if (at.axes == 0)
        total = 0;
    if (status > 0 || total < 0 || total > 200000000) {
        printf("%s: not read, %lld pixels, status %d\n", at.label, (long long)total, status);
        at.axes = 0;
        return -1;
    }
    /* About 700 calls read the whole image, and the others as much again. */
    at.share = budget / (1400.0 * (double)(total + 1));
    at.total = total;
    at.bitpix = bitpix;
    at.compressed = fits_is_compressed_image(at.file, &status);
    return total;
}

static void image(double budget) {
    const LONGLONG total = image_facts(budget);
    if (total < 0)
        return;
    Span spans[] = {
        {"whole", 1, total, {0}, {0}, {0}, 0},
        {"first", 1, 1, {0}, {0}, {0}, 0},
        {"middle", total / 3 + 1, total / 4, {0}, {0}, {0}, 0},
        {"last", total, 1, {0}, {0}, {0}, 0},
        {"across the end", total > 2 ? total - 2 : 1, 7, {0}, {0}, {0}, 0},
        {"beyond the end", total + 1, 3, {0}, {0}, {0}, 0},
        {"nothing", total / 2 + 1, 0, {0}, {0}, {0}, 0},
        {"from 0", 0, 3, {0}, {0}, {0}, 0},
    };
    const int count = sizeof spans / sizeof spans[0];
    for (int k = 0; k < count; k++) {
        /* Outside the pixels of a compressed image CFITSIO 4.2 overruns its memory. */
        if (at.compressed && k >= 4)
            break;
        const Span *s = spans + k;
        set_section(spans + k, k);
        TYPES(IMAGE_CALL)
        gFitsFiles[unit] = at.file;
        if (total < 100000000) {
            FORTRAN_TYPES(FORTRAN_IMAGE_CALL)
        }
        gFitsFiles[unit] = NULL;
    }
}

/* ---- columns ---- */

typedef struct {
    char name[40];
    int column;
    LONGLONG row, element, count;
} Cells;

static void column_generic(const Cells *s, const char *type, int code, size_t size, void *nulls) {
    for (int p = 0; p < 4; p++) {
        void *null = p == 0 ? NULL : (char *)nulls + p * size;
        CALL("ffgcv", type, policies[p], s->name, s->count, size,
             ffgcv(at.file, code, s->column, s->row, s->element, s->count, null, array, &anynul,
                   &status));
    }
    CALL("ffgcv", type, "none, no anynul", s->name, s->count, size,
         ffgcv(at.file, code, s->column, s->row, s->element, s->count, NULL, array, NULL,
               &status));
    CALL("ffgcf", type, FLAGS, s->name, s->count, size,
         ffgcf(at.file, code, s->column, s->row, s->element, s->count, array, flags, &anynul,
               &status));
}

#define COLUMN(S, T, CODE)                                                                         \
    static void column_##S(const Cells *s) {                                                       \
        NULL_VALUES(T);                                                                            \
        const size_t size = sizeof(T);                                                             \
        column_generic(s, #T, CODE, size, nulls);                                                  \
        for (int p = 1; p < 4; p++)                                                                \
            CALL("ffgcv" #S, #T, policies[p], s->name, s->count, size,                             \
                 ffgcv##S(at.file, s->column, s->row, s->element, s->count, nulls[p], (T *)array,  \
                          &anynul, &status));                                                      \
        CALL("ffgcf" #S, #T, FLAGS, s->name, s->count, size,                                       \
             ffgcf##S(at.file, s->column, s->row, s->element, s->count, (T *)array, flags,         \
                      &anynul, &status));                                                          \
    }                                                                                              \
    /* Sections of a column of arrays: one axis more, the row. */                                  \
    static void vector_##S(int column, long repeat, long rows) {                                   \
        NULL_VALUES(T);                                                                            \
        long lengths[] = {repeat}, blc[] = {1 + repeat / 3, 1}, trc[] = {repeat, rows};            \
        for (long step = 1; step < 3; step++) {                                                    \
            long inc[] = {step, step};                                                             \
            const LONGLONG count =                                                                 \
                ((trc[0] - blc[0]) / step + 1) * (LONGLONG)((trc[1] - blc[1]) / step + 1);         \
            const char *name = step == 1 ? "vectors" : "vectors, every second";                    \
            CALL("ffgsv" #S, #T, "value", name, count, sizeof(T),                                  \
                 ffgsv##S(at.file, column, 1, lengths, blc, trc, inc, nulls[2], (T *)array,        \
                          &anynul, &status));                                                      \
            CALL("ffgsf" #S, #T, FLAGS, name, count, sizeof(T),                                    \
                 ffgsf##S(at.file, column, 1, lengths, blc, trc, inc, (T *)array, flags, &anynul,  \
                          &status));                                                               \
        }                                                                                          \
    }
TYPES(COLUMN)

#define FORTRAN_COLUMN(S, T)                                                                       \
    static void fortran_column_##S(const Cells *s) {                                               \
        NULL_VALUES(T);                                                                            \
        const size_t size = sizeof(T);                                                             \
        int column = s->column, row = (int)s->row, first = (int)s->element, n = (int)s->count;     \
        LONGLONG row64 = s->row, first64 = s->element;                                             \
        for (int p = 1; p < 4; p++) {                                                              \
            T *null = nulls + p;                                                                   \
            CALL("ftgcv" #S, #T, policies[p], s->name, s->count, size,                             \
                 ftgcv##S##_(&unit, &column, &row, &first, &n, null, (T *)array, &anynul,          \
                             &status));                                                            \
            CALL("ftgcv" #S "ll", #T, policies[p], s->name, s->count, size,                        \
                 ftgcv##S##ll_(&unit, &column, &row64, &first64, &n, null, (T *)array, &anynul,    \
                               &status));                                                          \
        }                                                                                          \
        CALL("ftgcf" #S, #T, FLAGS, s->name, s->count, size,                                       \
             ftgcf##S##_(&unit, &column, &row, &first, &n, (T *)array, (int *)flags, &anynul,      \
                         &status));                                                                \
        CALL("ftgcf" #S "ll", #T, FLAGS, s->name, s->count, size,                                  \
             ftgcf##S##ll_(&unit, &column, &row64, &first64, &n, (T *)array, (int *)flags,         \
                           &anynul, &status));                                                     \
    }
FORTRAN_TYPES(FORTRAN_COLUMN)

/* CFITSIO 4.2 writes beyond the array when it reads texts as signed bytes, and takes the number of
 * elements from uninitialised memory when it reads signed bytes from element 0. */
#define COLUMN_CALL(S, T, CODE)                                                                    \
    if (CODE != TSBYTE || (code != TSTRING && element > 0))                                        \
        column_##S(&s);
#define VECTOR_CALL(S, T, CODE) vector_##S(column, (long)repeat, (long)rows);
#define FORTRAN_COLUMN_CALL(S, T) fortran_column_##S(&s);

static void cells(const char *name, int column, LONGLONG row, LONGLONG element, LONGLONG count) {
    Cells s = {"", column, row, element, count};
    int code = 0;
    LONGLONG repeat = 0, width = 0;
    status = 0;
    ffgtclll(at.file, column, &code, &repeat, &width, &status);
    snprintf(s.name, sizeof s.name, "column %d, %s", column, name);
    TYPES(COLUMN_CALL)
    gFitsFiles[unit] = at.file;
    FORTRAN_TYPES(FORTRAN_COLUMN_CALL)
    gFitsFiles[unit] = NULL;
}

/* Texts, logicals, bits and complex numbers, which no interposed function reads. */
static void other_types(int column, LONGLONG rows) {
    char name[40];
    snprintf(name, sizeof name, "column %d", column);
    const LONGLONG n = rows < 50 ? rows : 50;
    CALL("ffgcvl", "char", "value", name, n, 1,
         ffgcvl(at.file, column, 1, 1, n, 1, array, &anynul, &status));
    CALL("ffgcx", "char", "none", name, n, 1, ffgcx(at.file, column, 1, 1, n, array, &status));
    CALL("ffgcvc", "float[2]", "value", name, 2 * n, sizeof(float),
         ffgcvc(at.file, column, 1, 1, n, 77, (float *)array, &anynul, &status));
    CALL("ffgcvm", "double[2]", "value", name, 2 * n, sizeof(double),
         ffgcvm(at.file, column, 1, 1, n, 77, (double *)array, &anynul, &status));
    CALL("ffgcv", "TCOMPLEX", "none", name, 2 * n, sizeof(float),
         ffgcv(at.file, TCOMPLEX, column, 1, 1, n, NULL, array, &anynul, &status));
    CALL("ffgcv", "TLOGICAL", "none", name, n, 1,
         ffgcv(at.file, TLOGICAL, column, 1, 1, n, NULL, array, &anynul, &status));
    CALL("ffgcv", "type 99", "none", name, n, 8,
         ffgcv(at.file, 99, column, 1, 1, n, NULL, array, &anynul, &status));
}

static void column(int column, LONGLONG rows, double budget) {
    int code = 0;
    LONGLONG repeat = 0, width = 0;
    status = 0;
    ffgtclll(at.file, column, &code, &repeat, &width, &status);
    printf("%s column %d: type %d, %lld x %lld bytes, status %d\n", at.label, column, code,
           (long long)repeat, (long long)width, status);
    const LONGLONG total = rows * (code == TSTRING ? 1 : repeat);
    if (total > 200000000 || total < 0)
        return;
    at.share = budget / (300.0 * (double)(total + 1));
    if (code < 0) { /* variable length: an array a row */
        for (LONGLONG row = 1; row <= rows && row <= 8; row++) {
            LONGLONG length = 0, offset = 0;
            char name[24];
            status = 0;
            ffgdesll(at.file, column, row, &length, &offset, &status);
            snprintf(name, sizeof name, "array %d", (int)row);
            if (length >= 0 && length < 1000000)
                cells(name, column, row, 1, length);
        }
        cells("beyond an array", column, 1, 1, 100000);
        return;
    }
    const LONGLONG middle = rows / 2 + 1, part = repeat / 2 + 1;
    cells("whole", column, 1, 1, total);
    cells("first", column, 1, 1, 1);
    cells("rows", column, middle, 1, 3 * repeat < total / 2 ? 3 * repeat : 1);
    cells("across rows", column, middle, part, repeat + 1 < total / 2 ? repeat + 1 : 1);
    cells("last row", column, rows, 1, repeat);
    cells("across the end", column, rows, 1, repeat + 3);
    cells("row beyond", column, rows + 1, 1, 1);
    cells("row 0", column, 0, 1, 1);
    cells("element 0", column, 1, 0, 1);
    cells("element beyond", column, 1, repeat + 1, 1);
    cells("nothing", column, 1, 1, 0);
    if (repeat > 1 && code != TSTRING && rows > 0) {
        TYPES(VECTOR_CALL)
    }
    other_types(column, rows);
}

/* Several columns in a call, of CFITSIO 4.0 and newer. */
static void columns_together(int columns, LONGLONG rows) {
    enum { MOST = 4 };
    int numbers[MOST], types[MOST], nulls[MOST], count = 0;
    void *arrays[MOST];
    void *no_nulls[MOST] = {NULL};
    const size_t bytes = (size_t)(rows < 100000 ? rows : 100000) * sizeof(double) + GUARD;
    for (int k = 1; k <= columns && count < MOST; k++) {
        int code = 0;
        LONGLONG repeat = 0, width = 0;
        status = 0;
        ffgtclll(at.file, k, &code, &repeat, &width, &status);
        if (repeat != 1 || code < TBYTE || code == TSTRING || code > TDOUBLE || status > 0)
            continue;
        numbers[count] = k;
        types[count] = count % 2 ? TDOUBLE : TFLOAT;
        arrays[count] = calloc(1, bytes);
        nulls[count++] = 0;
    }
    if (count == 0)
        return;
    CALL("ffgcvn", "float and double", "none", "columns together", 0, 1,
         ffgcvn(at.file, count, types, numbers, 1, rows < 100000 ? rows : 100000, no_nulls, arrays,
                nulls, &status));
    for (int k = 0; k < count; k++) {
        printf("%s column %d together: %016llx\n", at.label, numbers[k],
               (unsigned long long)hash(arrays[k], bytes));
        free(arrays[k]);
    }
}

static void table(double budget) {
    int columns = 0;
    LONGLONG rows = 0;
    status = 0;
    ffgncl(at.file, &columns, &status);
    ffgnrwll(at.file, &rows, &status);
    const int step = columns / 24 + 1;
    for (int k = 1; k <= columns; k += step)
        column(k, rows, budget * step / (columns + 1));
    at.share = 1;
    cells("no column", 0, 1, 1, 1);
    cells("column beyond", columns + 1, 1, 1, 1);
    columns_together(columns, rows);
}

/* ---- what a program may set before it reads ---- */

#define SOME(S, T, CODE)                                                                           \
    {                                                                                              \
        NULL_VALUES(T);                                                                            \
        CALL("ffgpv" #S, #T, "zero", what, total, sizeof(T),                                       \
             ffgpv##S(at.file, 0, 1, total, nulls[1], (T *)array, &anynul, &status));              \
        CALL("ffgpv" #S, #T, "value", what, total, sizeof(T),                                      \
             ffgpv##S(at.file, 0, 1, total, nulls[2], (T *)array, &anynul, &status));              \
        CALL("ffgpf" #S, #T, FLAGS, what, total, sizeof(T),                                        \
             ffgpf##S(at.file, 0, 1, total, (T *)array, flags, &anynul, &status));                 \
    }

#define SOME_CELLS(S, T, CODE)                                                                     \
    {                                                                                              \
        NULL_VALUES(T);                                                                            \
        CALL("ffgcv" #S, #T, "zero", what, total, sizeof(T),                                       \
             ffgcv##S(at.file, at.column, 1, 1, total, nulls[1], (T *)array, &anynul, &status));   \
        CALL("ffgcv" #S, #T, "value", what, total, sizeof(T),                                      \
             ffgcv##S(at.file, at.column, 1, 1, total, nulls[2], (T *)array, &anynul, &status));   \
        CALL("ffgcf" #S, #T, FLAGS, what, total, sizeof(T),                                        \
             ffgcf##S(at.file, at.column, 1, 1, total, (T *)array, flags, &anynul, &status));      \
    }

static void some_pixels(const char *what, LONGLONG total) { TYPES(SOME) }
static void some_cells(const char *what, LONGLONG total) { TYPES(SOME_CELLS) }

/* Read an image with a scale and a null value other than those of the header, then as before. */
static void overridden_image(void) {
    LONGLONG total = 1;
    int bitpix = 0;
    for (int axis = 0; axis < at.axes; axis++)
        total *= at.lengths64[axis];
    if (at.axes == 0 || total <= 0 || total > 2000000)
        return;
    status = 0;
    ffgidt(at.file, &bitpix, &status);
    ffpscl(at.file, 0.25, -3.0, &status);
    printf("%s scale set: status %d\n", at.label, status);
    some_pixels("other scale", total);
    status = 0;
    ffpscl(at.file, 1.0, 0.0, &status);
    some_pixels("no scale", total);
    status = 0;
    ffpnul(at.file, 3, &status);
    printf("%s null set: status %d\n", at.label, status);
    some_pixels("other null", total);
    status = 0;
    ffpscl(at.file, 0.0, 1.0, &status);
    printf("%s scale 0: status %d\n", at.label, status);
    status = 0;
    ffrdef(at.file, &status);
    printf("%s header again: status %d\n", at.label, status);
    some_pixels("header again", total);
}

static void overridden_table(void) {
    int columns = 0;
    LONGLONG rows = 0;
    status = 0;
    ffgncl(at.file, &columns, &status);
    ffgnrwll(at.file, &rows, &status);
    for (at.column = 1; at.column <= columns && at.column <= 12; at.column++) {
        int code = 0;
        LONGLONG repeat = 0, width = 0;
        char what[40];
        status = 0;
        ffgtclll(at.file, at.column, &code, &repeat, &width, &status);
        LONGLONG total = code < 0 ? 1 : rows * (code == TSTRING ? 1 : repeat);
        if (total <= 0 || total > 200000)
            continue;
        status = 0;
        fftscl(at.file, at.column, 2.0, -1.0, &status);
        printf("%s column %d scale set: status %d\n", at.label, at.column, status);
        snprintf(what, sizeof what, "column %d, other scale", at.column);
        some_cells(what, total);
        status = 0;
        fftnul(at.file, at.column, 7, &status);
        printf("%s column %d null set: status %d\n", at.label, at.column, status);
        snprintf(what, sizeof what, "column %d, other null", at.column);
        some_cells(what, total);
    }
    status = 0;
    ffrdef(at.file, &status);
    at.column = 1;
    some_cells("header again", rows > 0 && rows < 1000 ? rows : 1);
}

/* ---- files ---- */

/* Read a little of every HDU, twice, so that each move follows a read of another HDU. */
static void hop(fitsfile *other, int hdus) {
    fitsfile *files[] = {at.file, other};
    for (int k = 0; k < 4 * hdus; k++) {
        int type = 0, current = 0;
        fitsfile *file = files[k / 2 % 2];
        status = 0;
        const int hdu = k * 5 % hdus + 1;
        ffmahd(file, hdu, &type, &status);
        at.file = file;
        snprintf(at.label, sizeof at.label, "hop %d to %d", k, hdu);
        if (status > 0)
            continue;
        /* Neither handle of one file may disturb the other. */
        CALL("ffgpve", "float", "value", "hop", 40, sizeof(float),
             ffgpve(files[0], 0, 1, 40, 77, (float *)array, &anynul, &status));
        CALL("ffgcvd", "double", "value", "hop", 40, sizeof(double),
             ffgcvd(files[1], 1, 1, 1, 40, 77, (double *)array, &anynul, &status));
        CALL("ffgpvi", "short", "none", "hop", 40, sizeof(short),
             ffgpvi(files[1], 0, 1, 40, 0, (short *)array, &anynul, &status));
        ffghdn(files[0], &current);
        printf("%s: HDUs %d", at.label, current);
        ffghdn(files[1], &current);
        printf(" %d\n", current);
    }
    at.file = files[0];
}

/* Decompress an image into memory, and digest what arrives. */
static void decompressed(void) {
    fitsfile *memory = NULL, *compressed = at.file;
    status = 0;
    if (!fits_is_compressed_image(at.file, &status))
        return;
    ffinit(&memory, "mem://", &status);
    fits_img_decompress(compressed, memory, &status);
    printf("%s decompressed: status %d\n", at.label, status);
    if (status == 0) {
        unsigned long data = 0, header = 0;
        LONGLONG start = 0, first = 0, end = 0;
        ffrdef(memory, &status);
        ffghadll(memory, &start, &first, &end, &status);
        ffgcks(memory, &data, &header, &status);
        printf("%s decompressed: %lld bytes, sums %lu %lu, status %d\n", at.label,
               (long long)(end - first), data, header, status);
    }
    status = 0;
    if (memory != NULL)
        ffdelt(memory, &status);
}

static void print_messages(const char *what) {
    char message[FLEN_ERRMSG];
    printf("%s: status %d", what, status);
    while (ffgmsg(message))
        printf(" | %s", message);
    putchar('\n');
}

/* CFITSIO converts what was in its buffers where a file ends too early. */
static int ends_early(const char *path) {
    struct stat file;
    LONGLONG start = 0, first = 0, end = 0;
    status = 0;
    ffghadll(at.file, &start, &first, &end, &status);
    return stat(path, &file) == 0 && file.st_size < end;
}

int main(int count, char **arguments) {
    int hdus = 0;
    fitsfile *other = NULL, *again = NULL;
    if (count < 2)
        return 2;
    const double budget = count > 2 ? atof(arguments[2]) : 2e7;
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    ffopen(&at.file, arguments[1], READONLY, &status);
    print_messages("open");
    if (status > 0)
        return 1;
    ffthdu(at.file, &hdus, &status);
    print_messages("count");
    printf("%d HDUs\n", hdus);
    for (at.hdu = 1; at.hdu <= hdus && at.hdu <= 20; at.hdu++) {
        int type = -1;
        status = 0;
        ffmahd(at.file, at.hdu, &type, &status);
        snprintf(at.label, sizeof at.label, "%d", at.hdu);
        print_messages(at.label);
        if (status > 0)
            continue;
        printf("%s: type %d\n", at.label, type);
        at.is_short = ends_early(arguments[1]);
        status = 0;
        if (type == IMAGE_HDU) {
            image(budget);
            decompressed();
        } else {
            at.compressed = 0;
            table(budget);
            /* Pixels of a table and columns of an image are errors with messages of their own. */
            at.share = 1;
            some_pixels("pixels of a table", 5);
        }
    }
    /* Afterwards: the interposing library does not know how long other scales hold. */
    for (at.hdu = 1; at.hdu <= hdus && at.hdu <= 20; at.hdu++) {
        int type = -1;
        status = 0;
        ffmahd(at.file, at.hdu, &type, &status);
        snprintf(at.label, sizeof at.label, "%d again", at.hdu);
        print_messages(at.label);
        if (status > 0)
            continue;
        at.is_short = ends_early(arguments[1]);
        at.compressed = 0;
        status = 0;
        if (type == IMAGE_HDU) {
            if (image_facts(budget) >= 0)
                overridden_image();
        } else {
            at.share = 1;
            overridden_table();
        }
        status = 0;
        ffrdef(at.file, &status);
    }
    status = 0;
    at.share = 1;
    at.compressed = 0;
    ffreopen(at.file, &other, &status);
    print_messages("reopen");
    if (status == 0 && hdus > 0)
        hop(other, hdus < 12 ? hdus : 12);
    status = 0;
    ffdkopn(&again, arguments[1], READONLY, &status);
    print_messages("open again");
    if (status == 0 && hdus > 0)
        hop(again, hdus < 12 ? hdus : 12);
    status = 0;
    if (again != NULL)
        ffclos(again, &status);
    status = 0;
    if (other != NULL)
        ffclos(other, &status);
    status = 0;
    ffclos(at.file, &status);
    print_messages("close");
    return 0;
}
