/* CFITSIO: one fits_read_img for an image, fits_read_col for each column. See common/calls.h. */
#include <fitsio.h>

#include "calls.h"

static const int CODES[] = {TSHORT, TUSHORT, TINT, TLONGLONG, TFLOAT, TDOUBLE};
static fitsfile *file;

static int told(int status) {
    if (status) fits_report_error(stderr, status);
    return status ? 1 : 0;
}

int calls_open(struct calls *calls, int is_table) {
    int status = 0, bitpix = 0;
    LONGLONG axes[9] = {0}, rows = 0;
    fits_open_file(&file, calls->path, READONLY, &status);
    fits_movabs_hdu(file, calls->hdu + 1, NULL, &status);
    if (is_table) {
        fits_get_num_rowsll(file, &rows, &status);
        calls->rows = rows;
        return told(status);
    }
    fits_get_img_paramll(file, 9, &bitpix, &calls->naxis, axes, &status);
    calls->pixels = 1;
    for (int i = 0; i < calls->naxis; i++) calls->axes[i] = axes[i], calls->pixels *= axes[i];
    return told(status);
}

int calls_read_image(struct calls *calls) {
    int status = 0, any_null = 0, type = code_of(calls->types[0], CODES);
    float single = __builtin_nanf("");
    double number = __builtin_nan("");
    void *null = !calls->nulls ? NULL : type == TFLOAT ? (void *)&single : (void *)&number;
    fits_read_img(file, type, 1, calls->pixels, null, calls->arrays[0], &any_null, &status);
    return told(status);
}

/* Rows to read or write at a time. */
static LONGLONG rows_of_chunk(fitsfile *of, const struct calls *calls, int *status) {
    long recommended = 0;
    if (!calls->chunks) return calls->rows;
    fits_get_rowsize(of, &recommended, status);
    return recommended < calls->rows ? recommended : calls->rows;
}

static char *at_row(const struct calls *calls, int column, LONGLONG row) {
    return (char *)calls->arrays[column] + row * bytes_of(calls->types[column]);
}

int calls_read_columns(struct calls *calls) {
    int status = 0, any_null = 0, number[MOST_COLUMNS];
    LONGLONG chunk = rows_of_chunk(file, calls, &status);
    for (int i = 0; i < calls->columns; i++) fits_get_colnum(file, CASEINSEN, calls->names[i], &number[i], &status);
    for (LONGLONG row = 0; !status && row < calls->rows; row += chunk) {
        LONGLONG count = calls->rows - row < chunk ? calls->rows - row : chunk;
        for (int i = 0; i < calls->columns; i++)
            fits_read_col(file, code_of(calls->types[i], CODES), number[i], row + 1, 1, count, NULL, at_row(calls, i, row),
                          &any_null, &status);
    }
    return told(status);
}

int calls_write_image(struct calls *calls) {
    static const int BITPIX[] = {SHORT_IMG, USHORT_IMG, LONG_IMG, LONGLONG_IMG, FLOAT_IMG, DOUBLE_IMG};
    int status = 0;
    LONGLONG axes[9];
    fitsfile *made = NULL;
    for (int i = 0; i < calls->naxis; i++) axes[i] = calls->axes[i];
    fits_create_diskfile(&made, calls->output, &status);
    fits_create_imgll(made, code_of(calls->types[0], BITPIX), calls->naxis, axes, &status);
    fits_write_img(made, code_of(calls->types[0], CODES), 1, calls->pixels, calls->arrays[0], &status);
    fits_close_file(made, &status);
    return told(status);
}

int calls_write_table(struct calls *calls) {
    static char forms[MOST_COLUMNS][3];
    char *form[MOST_COLUMNS];
    static const int LETTERS[] = {'I', 'U', 'J', 'K', 'E', 'D'};
    int status = 0;
    fitsfile *made = NULL;
    for (int i = 0; i < calls->columns; i++) {
        snprintf(forms[i], sizeof forms[i], "1%c", code_of(calls->types[i], LETTERS));
        form[i] = forms[i];
    }
    fits_create_diskfile(&made, calls->output, &status);
    fits_create_tbl(made, BINARY_TBL, calls->rows, calls->columns, calls->names, form, NULL, NULL, &status);
    LONGLONG chunk = rows_of_chunk(made, calls, &status);
    for (LONGLONG row = 0; !status && row < calls->rows; row += chunk) {
        LONGLONG count = calls->rows - row < chunk ? calls->rows - row : chunk;
        for (int i = 0; i < calls->columns; i++)
            fits_write_col(made, code_of(calls->types[i], CODES), i + 1, row + 1, 1, count, at_row(calls, i, row), &status);
    }
    fits_close_file(made, &status);
    return told(status);
}

void calls_version(void) {
    float version;
    fits_get_version(&version);
    printf("CFITSIO %.4g, gcc %s -O2\n", version, __VERSION__);
}
