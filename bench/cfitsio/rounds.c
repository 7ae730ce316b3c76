/* Times one kind of read of a file by CFITSIO: rounds.c FILE CASE ROUNDS. Prints the least processor time and the least
 * wall time of a round, in milliseconds, and a sum over the bytes that were read. */
#include <fitsio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

int main(int count, char **words)
{
    if (count != 4) return 2;
    fitsfile *f;
    int status = 0, any_null, dimensions = 0, rounds = atoi(words[3]);
    long axes[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, first[9], last[9], step[9], pixels = 1, rows = 0;
    const char *what = words[2];
    int is_table = !strcmp(what, "column"), type = strstr(what, "double") ? TDOUBLE : strstr(what, "u16") ? TUSHORT : TFLOAT;
    size_t size = type == TDOUBLE ? 8 : type == TUSHORT ? 2 : 4;
    double null = -1, least_processor = 1e30, least_wall = 1e30;
    float single = -1;
    void *wish = !strstr(what, "null") ? NULL : type == TDOUBLE ? (void *)&null : (void *)&single;
    if (is_table ? fits_open_table(&f, words[1], READONLY, &status) : fits_open_image(&f, words[1], READONLY, &status)) return 1;
    if (is_table) {
        fits_get_num_rows(f, &rows, &status);
        pixels = rows;
    } else {
        fits_get_img_dim(f, &dimensions, &status);
        fits_get_img_size(f, 9, axes, &status);
        for (int i = 0; i < dimensions; i++) {
            pixels *= axes[i];
            first[i] = axes[i] / 8 + 1;
            last[i] = first[i] + axes[i] * 7 / 10;
            step[i] = 1;
        }
    }
    unsigned char *values = malloc(pixels * size);
    memset(values, 1, pixels * size);
    for (int round = 0; round <= rounds; round++) {
        double processor = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
        if (is_table) fits_read_col(f, TFLOAT, 1, 1, 1, rows, NULL, values, &any_null, &status);
        else if (strstr(what, "subset")) fits_read_subset(f, type, first, last, step, wish, values, &any_null, &status);
        else if (strstr(what, "rows"))
            for (long row = 0; row < axes[1]; row++)
                fits_read_img(f, type, row * axes[0] + 1, axes[0], wish, values + row * axes[0] * size, &any_null, &status);
        else fits_read_img(f, type, 1, pixels, wish, values, &any_null, &status);
        processor = now(CLOCK_PROCESS_CPUTIME_ID) - processor;
        wall = now(CLOCK_MONOTONIC) - wall;
        /* The first round touches memory and opens descriptors. */
        if (round && processor < least_processor) least_processor = processor;
        if (round && wall < least_wall) least_wall = wall;
    }
    unsigned long sum = 0;
    for (size_t i = 0; i < pixels * size; i++) sum = sum * 31 + values[i];
    printf("%.3f %.3f %lu\n", least_processor, least_wall, sum);
    fits_close_file(f, &status);
    return status != 0;
}
