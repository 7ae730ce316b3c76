/* An image of 1000 x 1000 16-bit integers and a table of five columns of floats in 100 000 rows, written and read: what
 * W. Pence measured in 1996, "in under one second". */
#include <tachyfits.h>

#include "pence.h"

static tachyfits_error error;
static const char *const names[5] = {"A", "B", "C", "D", "E"};

static int told(int outcome) {
    if (outcome) fprintf(stderr, "%s\nhint: %s\n", error.message, error.hint);
    return outcome;
}

static int write_image(void) {
    const uint64_t axes[2] = {1000, 1000};
    tachyfits_writer *writer;
    remove("image.fits");
    if (tachyfits_create("image.fits", NULL, &writer, &error) ||
        tachyfits_write_image(writer, NULL, TACHYFITS_INT16, 2, axes, image, sizeof image, NULL, NULL, &error))
        return told(1);
    return told(tachyfits_commit(writer, &error));
}

static int write_table(void) {
    tachyfits_new_column new[5] = {{0}};
    tachyfits_cells cells[5] = {{0}};
    tachyfits_writer *writer;
    for (int i = 0; i < 5; i++) {
        new[i] = (tachyfits_new_column){.bytes = sizeof new[i], .name = names[i], .form = "1E"};
        cells[i] = (tachyfits_cells){.values = columns[i], .bytes = sizeof columns[i]};
    }
    remove("table.fits");
    if (tachyfits_create("table.fits", NULL, &writer, &error) ||
        tachyfits_begin_table(writer, NULL, new, 5, &error) ||
        tachyfits_write_rows(writer, cells, 5, ROWS, NULL, &error))
        return told(1);
    return told(tachyfits_commit(writer, &error));
}

static int read_image(void) {
    tachyfits_file *file = NULL;
    int outcome = tachyfits_open("image.fits", NULL, &file, &error);
    if (!outcome)
        outcome = tachyfits_read(file, 0, NULL, TACHYFITS_INT16, image_again, sizeof image_again, NULL, &error);
    tachyfits_close(file);
    return told(outcome);
}

static int read_table(void) {
    tachyfits_column wanted[5] = {{0}};
    tachyfits_file *file = NULL;
    int outcome = tachyfits_open("table.fits", NULL, &file, &error);
    for (int i = 0; i < 5 && !outcome; i++) {
        wanted[i] = (tachyfits_column){.bytes = sizeof wanted[i], .cell_type = TACHYFITS_FLOAT,
                                       .values = columns_again[i], .room = sizeof columns_again[i]};
        outcome = tachyfits_column_find(file, 1, names[i], &wanted[i].column, &error);
    }
    if (!outcome) outcome = tachyfits_read_columns(file, 1, wanted, 5, 0, ROWS, NULL, &error);
    tachyfits_close(file);
    return told(outcome);
}

int main(void) {
    fill();
    return time_of("write the image", write_image) || time_of("write the table", write_table) ||
           time_of("read the image ", read_image) || time_of("read the table ", read_table) || !are_same();
}
