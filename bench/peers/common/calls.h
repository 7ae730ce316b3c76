/* Native calls, timed: what programs in C and Fortran share. Each peer gives the functions below; this is the program around
 * them:
 *
 *     program image PATH HDU TYPE NULLS TIMES                  prints seconds, processor seconds, sum, sum of the bits
 *     program columns PATH HDU TYPE NULLS TIMES OUTPUT NAME ... prints seconds, processor seconds; OUTPUT takes the values
 *     program write-image PATH HDU TYPE NULLS TIMES OUTPUT     writes the pixels again
 *     program write-table PATH HDU TYPE NULLS TIMES OUTPUT NAME ...
 *     program columns-in-chunks ..., write-in-chunks ...       the same in as many rows at a time as the library recommends
 *
 * TYPE is i2, u2, i4, i8, f4 or f8, of columns with commas between; NULLS 1 marks undefined pixels as NaN. A call is made once
 * into arrays that were touched before, on an open file, and then TIMES times; the median counts. HDUs count from 0.
 */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>

#include "request.h"

#define MOST_COLUMNS 64

struct calls {
    const char *path, *output, *types[MOST_COLUMNS];
    char **names;
    int hdu, nulls, chunks, columns;
    long long pixels, rows, axes[9];
    int naxis;
    void *arrays[MOST_COLUMNS];
};

/* Of the peer: 0, or another number after an error. calls_open sets pixels and axes, or rows. */
int calls_open(struct calls *calls, int is_table);
int calls_read_image(struct calls *calls);
int calls_read_columns(struct calls *calls);
int calls_write_image(struct calls *calls);
int calls_write_table(struct calls *calls);
void calls_version(void);

static int bytes_of(const char *type) { return type[1] - '0'; }

static int code_of(const char *type, const int *codes) {
    static const char *const types[] = {"i2", "u2", "i4", "i8", "f4", "f8"};
    for (int i = 0; i < 6; i++)
        if (!strcmp(type, types[i])) return codes[i];
    return -1;
}

static int by_number(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_pixels(const struct calls *calls) {
    const char *type = calls->types[0], *at = calls->arrays[0];
    double sum = 0;
    uint64_t bits = 0;
    for (long long i = 0; i < calls->pixels; i++, at += bytes_of(type)) {
        double value = 0;
        uint64_t pattern = 0;
        memcpy(&pattern, at, bytes_of(type));
        if (!strcmp(type, "i2")) value = *(const int16_t *)at;
        if (!strcmp(type, "u2")) value = *(const uint16_t *)at;
        if (!strcmp(type, "i4")) value = *(const int32_t *)at;
        if (!strcmp(type, "i8")) value = *(const int64_t *)at;
        if (!strcmp(type, "f4")) value = *(const float *)at;
        if (!strcmp(type, "f8")) value = *(const double *)at;
        if (value == value) sum += value;
        bits += pattern;
    }
    printf(" %.17g %llu", sum, (unsigned long long)bits);
}

static int store_columns(const struct calls *calls) {
    FILE *file = fopen(calls->output, "wb");
    if (!file) return 1;
    for (int i = 0; i < calls->columns; i++) fwrite(calls->arrays[i], bytes_of(calls->types[i]), calls->rows, file);
    return fclose(file);
}

int main(int argc, char **argv) {
    static struct calls calls;
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        calls_version();
        return 0;
    }
    if (argc < 7) return 2;
    const char *model = argv[1];
    int times = atoi(argv[6]), is_table = !strstr(model, "image");
    int writes = !strncmp(model, "write", 5), failure = 0;
    calls.chunks = strstr(model, "in-chunks") != NULL;
    calls.path = argv[2], calls.hdu = atoi(argv[3]), calls.nulls = atoi(argv[5]);
    calls.output = argc > 7 ? argv[7] : "";
    calls.names = argv + 8, calls.columns = is_table ? argc - 8 : 1;
    if (calls.columns < 1 || calls.columns > MOST_COLUMNS || times < 1) return 2;
    char *type = strtok(argv[4], ",");
    for (int i = 0; i < calls.columns; i++, type = strtok(NULL, ",")) {
        if (!type) return 2;
        calls.types[i] = type;
    }
    if ((failure = calls_open(&calls, is_table))) return failure;
    for (int i = 0; i < calls.columns; i++) {
        size_t size = (is_table ? calls.rows : calls.pixels) * bytes_of(calls.types[i]);
        if (!(calls.arrays[i] = malloc(size + 1))) return 3;
        memset(calls.arrays[i], 1, size);
    }
    int (*read)(struct calls *) = is_table ? calls_read_columns : calls_read_image;
    int (*write)(struct calls *) = is_table ? calls_write_table : calls_write_image;
    double *seconds = calloc(times, sizeof *seconds), *processor = calloc(times, sizeof *processor);
    if ((failure = read(&calls))) return failure;
    for (int time = writes ? -1 : 0; time < times; time++) {
        if (writes) remove(calls.output);
        struct spent start = begin();
        if ((failure = writes ? write(&calls) : read(&calls))) return failure;
        struct spent spent = since(start);
        if (time >= 0) seconds[time] = spent.seconds, processor[time] = spent.processor;
    }
    qsort(seconds, times, sizeof *seconds, by_number);
    qsort(processor, times, sizeof *processor, by_number);
    printf("%.9f %.9f", seconds[times / 2], processor[times / 2]);
    if (!strcmp(model, "image")) print_pixels(&calls);
    if (!strncmp(model, "columns", 7) && store_columns(&calls)) return 4;
    printf("\n");
    return 0;
}

#endif
