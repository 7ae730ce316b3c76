/* This project through its interface for C, with one thread. See common/calls.h. */
#include <tachyfits.h>

#include "calls.h"

static const int CODES[] = {TACHYFITS_INT16, TACHYFITS_UINT16, TACHYFITS_INT32,
                            TACHYFITS_INT64, TACHYFITS_FLOAT,  TACHYFITS_DOUBLE};
static tachyfits_file *file;
static tachyfits_error error;
static tachyfits_options options = {.bytes = sizeof options, .threads = 1};

static int told(int outcome) {
    if (outcome) fprintf(stderr, "%s\n", error.message);
    return outcome ? 1 : 0;
}

int calls_open(struct calls *calls, int is_table) {
    tachyfits_facts facts = {.bytes = sizeof facts};
    if (tachyfits_open(calls->path, NULL, &file, &error) || tachyfits_describe(file, calls->hdu, &facts, &error)) return told(1);
    calls->rows = is_table ? facts.rows : 0;
    calls->pixels = facts.pixels, calls->naxis = facts.naxis;
    for (int i = 0; i < calls->naxis && i < 8; i++) calls->axes[i] = facts.axes[i];
    return 0;
}

int calls_read_image(struct calls *calls) {
    const char *type = calls->types[0];
    return told(tachyfits_read(file, calls->hdu, NULL, code_of(type, CODES), calls->arrays[0], calls->pixels * bytes_of(type),
                               &options, &error));
}

int calls_read_columns(struct calls *calls) {
    tachyfits_column columns[MOST_COLUMNS] = {{0}};
    for (int i = 0; i < calls->columns; i++) {
        columns[i].bytes = sizeof columns[i], columns[i].cell_type = code_of(calls->types[i], CODES);
        columns[i].values = calls->arrays[i], columns[i].room = calls->rows * bytes_of(calls->types[i]);
        if (tachyfits_column_find(file, calls->hdu, calls->names[i], &columns[i].column, &error)) return told(1);
    }
    return told(tachyfits_read_columns(file, calls->hdu, columns, calls->columns, 0, calls->rows, &options, &error));
}

int calls_write_image(struct calls *calls) {
    tachyfits_writer *writer = NULL;
    const char *type = calls->types[0];
    uint64_t axes[9];
    for (int i = 0; i < calls->naxis; i++) axes[i] = calls->axes[i];
    if (tachyfits_create(calls->output, &options, &writer, &error)) return told(1);
    if (tachyfits_write_image(writer, NULL, code_of(type, CODES), calls->naxis, axes, calls->arrays[0],
                              calls->pixels * bytes_of(type), NULL, &options, &error))
        return told(1);
    return told(tachyfits_commit(writer, &error));
}

int calls_write_table(struct calls *calls) {
    static const char *const forms[] = {"1I", "1U", "1J", "1K", "1E", "1D"};
    static const int NUMBERS[] = {0, 1, 2, 3, 4, 5};
    tachyfits_writer *writer = NULL;
    tachyfits_new_column columns[MOST_COLUMNS] = {{0}};
    tachyfits_cells cells[MOST_COLUMNS] = {{0}};
    for (int i = 0; i < calls->columns; i++) {
        columns[i].bytes = sizeof columns[i], columns[i].name = calls->names[i];
        columns[i].form = forms[code_of(calls->types[i], NUMBERS)];
        cells[i].values = calls->arrays[i], cells[i].bytes = calls->rows * bytes_of(calls->types[i]);
    }
    if (tachyfits_create(calls->output, &options, &writer, &error) ||
        tachyfits_begin_table(writer, NULL, columns, calls->columns, &error) ||
        tachyfits_write_rows(writer, cells, calls->columns, calls->rows, &options, &error))
        return told(1);
    return told(tachyfits_commit(writer, &error));
}

void calls_version(void) { printf("tachyfits %s from C, gcc %s -O2\n", tachyfits_version(), __VERSION__); }
