/* The same by CFITSIO: columns in as many rows at a time as it recommends. */
#include <fitsio.h>

#include "pence.h"

static char *names[5] = {"A", "B", "C", "D", "E"}, *forms[5] = {"1E", "1E", "1E", "1E", "1E"};

static int finish(fitsfile *file, int status) {
    fits_close_file(file, &status);
    fits_report_error(stderr, status);
    return status;
}

static int write_image(void) {
    long axes[2] = {1000, 1000};
    fitsfile *file = NULL;
    int status = 0;
    remove("cfitsio_image.fits");
    fits_create_file(&file, "cfitsio_image.fits", &status);
    fits_create_img(file, SHORT_IMG, 2, axes, &status);
    fits_write_img(file, TSHORT, 1, 1000 * 1000, image, &status);
    return finish(file, status);
}

static int write_table(void) {
    fitsfile *file = NULL;
    long chunk = ROWS;
    int status = 0;
    remove("cfitsio_table.fits");
    fits_create_file(&file, "cfitsio_table.fits", &status);
    fits_create_tbl(file, BINARY_TBL, ROWS, 5, names, forms, NULL, NULL, &status);
    fits_get_rowsize(file, &chunk, &status);
    for (long row = 0; row < ROWS && !status; row += chunk) {
        long count = ROWS - row < chunk ? ROWS - row : chunk;
        for (int i = 0; i < 5; i++) fits_write_col(file, TFLOAT, i + 1, row + 1, 1, count, columns[i] + row, &status);
    }
    return finish(file, status);
}

static int read_image(void) {
    fitsfile *file = NULL;
    int status = 0, any_null;
    fits_open_file(&file, "cfitsio_image.fits", READONLY, &status);
    fits_read_img(file, TSHORT, 1, 1000 * 1000, NULL, image_again, &any_null, &status);
    return finish(file, status);
}

static int read_table(void) {
    fitsfile *file = NULL;
    long chunk = ROWS;
    int status = 0, any_null;
    fits_open_table(&file, "cfitsio_table.fits", READONLY, &status);
    fits_get_rowsize(file, &chunk, &status);
    for (long row = 0; row < ROWS && !status; row += chunk) {
        long count = ROWS - row < chunk ? ROWS - row : chunk;
        for (int i = 0; i < 5; i++)
            fits_read_col(file, TFLOAT, i + 1, row + 1, 1, count, NULL, columns_again[i] + row, &any_null, &status);
    }
    return finish(file, status);
}

int main(void) {
    fill();
    return time_of("write the image", write_image) || time_of("write the table", write_table) ||
           time_of("read the image ", read_image) || time_of("read the table ", read_table) || !are_same();
}
