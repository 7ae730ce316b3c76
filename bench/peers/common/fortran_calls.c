/* The program around the calls of a Fortran peer: texts become characters of a length, files stay open in the module. */
#include "calls.h"

int fortran_open(const char *path, int length, int hdu, int is_table, int *naxis, long long *axes, long long *rows);
int fortran_image(const char *type, long long pixels, void *out);
int fortran_columns(const char *type, int columns, int length, const char *names, long long rows, int chunks,
                    void *out);
int fortran_write_image(const char *path, int length, int naxis, const long long *axes, const int16_t *pixels);
int fortran_write_table(const char *path, int length, int columns, int name_length, const char *names, long long rows,
                        int chunks, const float *values);

#define NAME_LENGTH 32

static char *padded;

int calls_open(struct calls *calls, int is_table) {
    for (int i = 1; i < calls->columns; i++) {
        if (strcmp(calls->types[i], calls->types[0])) {
            fprintf(stderr, "the columns of a call have one type\n");
            return 5;
        }
    }
    padded = malloc(MOST_COLUMNS * NAME_LENGTH + 1);
    for (int i = 0; is_table && i < calls->columns; i++)
        snprintf(padded + i * NAME_LENGTH, NAME_LENGTH + 1, "%-*s", NAME_LENGTH, calls->names[i]);
    int failure = fortran_open(calls->path, strlen(calls->path), calls->hdu, is_table, &calls->naxis, calls->axes, &calls->rows);
    calls->pixels = 1;
    for (int i = 0; i < calls->naxis; i++) calls->pixels *= calls->axes[i];
    return failure;
}

int calls_read_image(struct calls *calls) { return fortran_image(calls->types[0], calls->pixels, calls->arrays[0]); }

/* Fortran has values(row, column): one array, whose columns the others point into. */
static void join(struct calls *calls) {
    static void *joined;
    size_t size = calls->rows * bytes_of(calls->types[0]);
    if (joined) return;
    joined = malloc(size * calls->columns + 1);
    memset(joined, 1, size * calls->columns);
    for (int i = 0; i < calls->columns; i++) {
        free(calls->arrays[i]);
        calls->arrays[i] = (char *)joined + i * size;
    }
}

int calls_read_columns(struct calls *calls) {
    join(calls);
    return fortran_columns(calls->types[0], calls->columns, NAME_LENGTH, padded, calls->rows, calls->chunks, calls->arrays[0]);
}

int calls_write_image(struct calls *calls) {
    if (strcmp(calls->types[0], "i2")) return 5;
    return fortran_write_image(calls->output, strlen(calls->output), calls->naxis, calls->axes, calls->arrays[0]);
}

int calls_write_table(struct calls *calls) {
    if (strcmp(calls->types[0], "f4")) return 5;
    return fortran_write_table(calls->output, strlen(calls->output), calls->columns, NAME_LENGTH, padded, calls->rows,
                               calls->chunks, calls->arrays[0]);
}
