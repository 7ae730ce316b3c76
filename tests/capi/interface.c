/* Uses every function of tachyfits.h on files that it writes itself; says what is wrong and returns 1. */
#include "tachyfits.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tachyfits_error error;
static int failures = 0;

static void check(int outcome, const char *what) {
    if (outcome == TACHYFITS_OK) return;
    printf("%s: %d: %s [%s]\n%s\n", what, outcome, error.message, error.code, error.hint);
    failures++;
}

static void expect(int condition, const char *what) {
    if (condition) return;
    printf("expected %s\n", what);
    failures++;
}

static tachyfits_options options_with(uint32_t flags) {
    tachyfits_options options;
    memset(&options, 0, sizeof options);
    options.bytes = sizeof options;
    options.threads = 2;
    options.flags = flags;
    return options;
}

/* A cube of 5 x 4 x 3 pixels 0, 1, 2, ... with one undefined, and a table of 3 rows. */
static void write_file(const char *path) {
    tachyfits_options options = options_with(TACHYFITS_OVERWRITE | TACHYFITS_CHECKSUM);
    tachyfits_header *header = NULL;
    tachyfits_writer *writer = NULL;
    const uint64_t axes[3] = {5, 4, 3};
    float pixels[60];
    int i;
    for (i = 0; i < 60; i++) pixels[i] = (float)i;
    pixels[7] = (float)NAN;
    check(tachyfits_header_new(&header, &error), "header_new");
    check(tachyfits_set_text(header, "OBJECT", "M 31", "name", &error), "set_text");
    check(tachyfits_set_f64(header, "EXPTIME", 12.5, NULL, &error), "set_f64");
    check(tachyfits_set_i64(header, "NCOMBINE", 3, NULL, &error), "set_i64");
    check(tachyfits_set_logical(header, "FLATTED", 1, NULL, &error), "set_logical");
    check(tachyfits_set_i64(header, "GONE", 1, NULL, &error), "set_i64");
    check(tachyfits_remove(header, "GONE", &error), "remove");
    expect(tachyfits_remove(header, "GONE", &error) == TACHYFITS_ABSENT, "no second card GONE");
    check(tachyfits_add_commentary(header, "HISTORY", "made by a test", &error), "commentary");
    check(tachyfits_create(path, &options, &writer, &error), "create");
    check(tachyfits_write_image(writer, header, TACHYFITS_FLOAT, 3, axes, pixels, sizeof pixels, NULL,
                                &options, &error), "write_image");
    {
        tachyfits_new_column columns[3];
        tachyfits_cells cells[3];
        const int32_t pi[3] = {10, 40, 31};
        const double energy[3] = {0.5, 1.5, 2.5};
        const char names[3][4] = {"one", "two", "six"};
        memset(columns, 0, sizeof columns);
        memset(cells, 0, sizeof cells);
        for (i = 0; i < 3; i++) columns[i].bytes = sizeof columns[i];
        columns[0].name = "PI", columns[0].form = "1J";
        columns[1].name = "ENERGY", columns[1].form = "1D", columns[1].unit = "keV";
        columns[2].name = "NAME", columns[2].form = "4A";
        cells[0].values = pi, cells[0].bytes = sizeof pi;
        cells[1].values = energy, cells[1].bytes = sizeof energy;
        cells[2].values = names, cells[2].bytes = sizeof names;
        check(tachyfits_begin_table(writer, NULL, columns, 3, &error), "begin_table");
        check(tachyfits_write_rows(writer, cells, 3, 3, &options, &error), "write_rows");
        check(tachyfits_end_table(writer, &error), "end_table");
    }
    check(tachyfits_write_image(writer, NULL, TACHYFITS_FLOAT, 3, axes, pixels, sizeof pixels,
                                "GZIP_2", &options, &error), "write_image compressed");
    check(tachyfits_commit(writer, &error), "commit");
    tachyfits_header_free(header);
}

static void read_headers(const tachyfits_file *file) {
    tachyfits_header *header = NULL, *copy = NULL;
    double number = 0;
    int64_t integer = 0;
    int logical = 0;
    char text[8], *keyword = NULL, *value = NULL, *comment = NULL, *cards = NULL;
    size_t length = 0;
    check(tachyfits_header_of(file, 0, &header, &error), "header_of");
    check(tachyfits_header_copy(header, &copy, &error), "header_copy");
    check(tachyfits_get_f64(copy, "EXPTIME", &number, &error), "get_f64");
    check(tachyfits_get_i64(copy, "ncombine", &integer, &error), "get_i64");
    check(tachyfits_get_logical(copy, "FLATTED", &logical, &error), "get_logical");
    check(tachyfits_get_text(copy, "OBJECT", text, sizeof text, &length, &error), "get_text");
    expect(number == 12.5 && integer == 3 && logical == 1, "the values of three cards");
    expect(strcmp(text, "M 31") == 0 && length == 4, "the text of OBJECT");
    expect(tachyfits_get_i64(copy, "NOTHERE", &integer, &error) == TACHYFITS_ABSENT, "no card");
    expect(tachyfits_get_i64(copy, "OBJECT", &integer, &error) == TACHYFITS_ERROR_FORMAT ||
               tachyfits_get_i64(copy, "OBJECT", &integer, &error) == TACHYFITS_ERROR_USAGE,
           "an error for text that is no number");
    expect(tachyfits_cards(copy) > 8, "more than eight cards");
    check(tachyfits_card(copy, 0, &keyword, &value, &comment, &error), "card");
    expect(strcmp(keyword, "SIMPLE") == 0 && strcmp(value, "T") == 0, "SIMPLE = T first");
    check(tachyfits_header_text(copy, &cards, &error), "header_text");
    expect(strncmp(cards, "SIMPLE  =", 9) == 0, "cards as text");
    tachyfits_text_free(keyword), tachyfits_text_free(value), tachyfits_text_free(comment);
    tachyfits_text_free(cards);
    tachyfits_header_free(copy), tachyfits_header_free(header);
}

static void read_images(const tachyfits_file *file) {
    tachyfits_facts facts;
    tachyfits_stats stats;
    tachyfits_range ranges[3] = {{1, 2, 1}, {3, 2, -1}, {0, 1, 0}};
    tachyfits_region circle;
    tachyfits_file *cut = NULL, *smooth = NULL, *difference = NULL;
    tachyfits_job *job = NULL;
    tachyfits_options options = options_with(0);
    const size_t plane[2] = {0, 1};
    const char *names[2] = {"a", "b"};
    const tachyfits_file *files[2];
    const size_t hdus[2] = {0, 2};
    float pixels[60];
    double sums[3], quantiles[2];
    const double fractions[2] = {0.5, 1.0};
    uint64_t lengths[3] = {0, 0, 0}, counts[6], rest[3];
    size_t naxis = 0;
    memset(&facts, 0, sizeof facts);
    facts.bytes = sizeof facts;
    check(tachyfits_describe(file, 0, &facts, &error), "describe");
    expect(facts.kind == TACHYFITS_HDU_IMAGE && facts.pixel_type == TACHYFITS_FLOAT, "a float image");
    expect(facts.naxis == 3 && facts.axes[0] == 5 && facts.pixels == 60, "5 x 4 x 3 pixels");
    check(tachyfits_axes(file, 2, lengths, 3, &naxis, &error), "axes");
    expect(naxis == 3 && lengths[2] == 3, "three axes of the compressed image");
    check(tachyfits_read(file, 0, NULL, TACHYFITS_FLOAT, pixels, sizeof pixels, &options, &error),
          "read");
    expect(pixels[59] == 59 && isnan(pixels[7]), "all pixels");
    check(tachyfits_read(file, 0, ranges, TACHYFITS_FLOAT, pixels, 4 * sizeof *pixels, NULL, &error),
          "read a section");
    expect(pixels[0] == 16 && pixels[1] == 17 && pixels[2] == 11 && pixels[3] == 12, "a section");
    check(tachyfits_read_run(file, 2, 18, 4, TACHYFITS_FLOAT, pixels, 4 * sizeof *pixels, NULL,
                             &error), "read_run");
    expect(pixels[0] == 18 && pixels[3] == 21, "a run across planes");
    expect(tachyfits_read(file, 0, NULL, TACHYFITS_INT16, pixels, 120, NULL, &error) ==
               TACHYFITS_ERROR_USAGE, "an error for floats as integers");
    memset(&stats, 0, sizeof stats);
    stats.bytes = sizeof stats;
    check(tachyfits_statistics(file, 0, NULL, NULL, &stats, &options, &error), "statistics");
    expect(stats.count == 59 && stats.undefined == 1 && stats.sum == 1763 && stats.max_position == 59,
           "statistics without the undefined pixel");
    memset(&circle, 0, sizeof circle);
    circle.bytes = sizeof circle;
    circle.shape = TACHYFITS_CIRCLE;
    circle.x = 2, circle.y = 2, circle.a = 0.5;
    check(tachyfits_reduce(file, 0, NULL, &circle, plane, 2, "sum", sums, 3, NULL, &error), "reduce");
    expect(sums[0] == 12 && sums[1] == 32 && sums[2] == 52, "a spectrum of one pixel");
    check(tachyfits_quantiles(file, 0, NULL, NULL, fractions, quantiles, 2, NULL, &error), "quantiles");
    expect(quantiles[0] == 30 && quantiles[1] == 59, "the median and the maximum");
    check(tachyfits_histogram(file, 0, NULL, NULL, 0, 60, counts, 6, rest, NULL, &error), "histogram");
    expect(counts[0] == 9 && counts[5] == 10 && rest[0] == 1, "bins of ten pixels");
    check(tachyfits_cut(file, 0, ranges, &cut, &error), "cut");
    check(tachyfits_smooth(file, 0, 2, "hanning", 0, &smooth, &error), "smooth");
    check(tachyfits_read_run(smooth, 0, 20, 1, TACHYFITS_FLOAT, pixels, sizeof *pixels, NULL, &error),
          "read a smoothed pixel");
    expect(pixels[0] == 20, "the mean of 0, 20, 20, 40");
    files[0] = files[1] = file;
    check(tachyfits_evaluate("a - b", names, files, hdus, 2, &difference, &error), "evaluate");
    check(tachyfits_statistics(difference, 0, NULL, NULL, &stats, NULL, &error), "statistics");
    expect(stats.count == 59 && stats.min == 0 && stats.max == 0, "no difference");
    check(tachyfits_job_new(&job, &error), "job_new");
    tachyfits_job_cancel(job);
    options.job = job;
    expect(tachyfits_statistics(file, 0, NULL, NULL, &stats, &options, &error) ==
               TACHYFITS_ERROR_CANCELLED, "a cancelled job");
    tachyfits_job_free(job);
    tachyfits_close(cut), tachyfits_close(smooth), tachyfits_close(difference);
}

static void read_table(const tachyfits_file *file) {
    int32_t column = -1, pi[3];
    double energy[3];
    char names[12];
    uint8_t nulls[3] = {9, 9, 9};
    uint64_t *rows = NULL;
    size_t count = 0, hdu = 0;
    tachyfits_column_facts facts;
    tachyfits_column columns[3];
    tachyfits_arrays arrays;
    memset(&facts, 0, sizeof facts);
    memset(columns, 0, sizeof columns);
    facts.bytes = sizeof facts;
    check(tachyfits_column_find(file, 1, "energy", &column, &error), "column_find");
    check(tachyfits_column_describe(file, 1, column, &facts, &error), "column_describe");
    expect(column == 1 && facts.cell_type == TACHYFITS_DOUBLE && strcmp(facts.unit, "keV") == 0,
           "the column ENERGY");
    for (column = 0; column < 3; column++) {
        columns[column].bytes = sizeof columns[column];
        columns[column].column = column;
    }
    columns[0].cell_type = TACHYFITS_INT32, columns[0].values = pi, columns[0].room = sizeof pi;
    columns[0].nulls = nulls;
    columns[1].cell_type = TACHYFITS_DOUBLE, columns[1].values = energy;
    columns[1].room = sizeof energy;
    columns[2].cell_type = TACHYFITS_TEXT, columns[2].values = names, columns[2].room = 12;
    check(tachyfits_read_columns(file, 1, columns, 3, 0, 3, NULL, &error), "read_columns");
    expect(pi[1] == 40 && energy[2] == 2.5 && memcmp(names + 4, "two", 4) == 0, "three columns");
    expect(nulls[0] == 0 && columns[0].null_count == 0, "no nulls");
    check(tachyfits_rows_where(file, 1, "PI > 30", 0, 3, &rows, &count, NULL, &error), "rows_where");
    expect(count == 2 && rows[0] == 1 && rows[1] == 2, "two rows");
    tachyfits_rows_free(rows, count);
    expect(tachyfits_read_arrays(file, 1, 0, 0, 3, &arrays, NULL, &error) == TACHYFITS_ERROR_USAGE,
           "an error for cells of one size");
    expect(tachyfits_find(file, "NOTHERE", 0, &hdu, &error) == TACHYFITS_ERROR_USAGE, "no such HDU");
    expect(strlen(error.message) > 10 && strlen(error.hint) > 5, "an error with words");
}

static void edit(const char *path) {
    tachyfits_editor *editor = NULL;
    tachyfits_file *file = NULL;
    tachyfits_header *header = NULL;
    char text[16];
    check(tachyfits_edit(path, &editor, &error), "edit");
    check(tachyfits_edit_text(editor, 0, "OBJECT", "NGC 224", NULL, &error), "edit_text");
    check(tachyfits_edit_f64(editor, 0, "EXPTIME", 30, NULL, &error), "edit_f64");
    check(tachyfits_edit_i64(editor, 0, "NCOMBINE", 4, "frames", &error), "edit_i64");
    check(tachyfits_edit_logical(editor, 0, "FLATTED", 0, NULL, &error), "edit_logical");
    check(tachyfits_edit_remove(editor, 0, "HISTORY", &error), "edit_remove");
    check(tachyfits_edit_commit(editor, NULL, &error), "edit_commit");
    check(tachyfits_open(path, NULL, &file, &error), "open again");
    check(tachyfits_header_of(file, 0, &header, &error), "header_of");
    check(tachyfits_get_text(header, "OBJECT", text, sizeof text, NULL, &error), "get_text");
    expect(strcmp(text, "NGC 224") == 0, "the new OBJECT");
    tachyfits_header_free(header);
    tachyfits_close(file);
    check(tachyfits_edit(path, &editor, &error), "edit");
    tachyfits_edit_abandon(editor);
}

static void read_with_nulls(const tachyfits_file *file) {
    tachyfits_options options = options_with(0);
    tachyfits_nulls nulls;
    float pixels[60];
    uint8_t flags[60];
    memset(&nulls, 0, sizeof nulls);
    nulls.bytes = sizeof nulls;
    nulls.flags = flags, nulls.room = sizeof flags;
    options.nulls = &nulls;
    check(tachyfits_read(file, 0, NULL, TACHYFITS_FLOAT, pixels, sizeof pixels, &options, &error),
          "read with nulls");
    expect(nulls.count == 1 && flags[7] == 1 && flags[6] == 0, "one undefined pixel");
    nulls.flags = NULL, nulls.count = 9;
    check(tachyfits_read_run(file, 2, 8, 4, TACHYFITS_FLOAT, pixels, 4 * sizeof *pixels, &options,
                             &error), "read_run with nulls");
    expect(nulls.count == 0, "no undefined pixel in a run");
    nulls.policy = 7;
    expect(tachyfits_read(file, 0, NULL, TACHYFITS_FLOAT, pixels, sizeof pixels, &options, &error) ==
               TACHYFITS_ERROR_USAGE, "an error for a policy that there is not");
    /* The struct of a program compiled before `nulls` was added. */
    options.bytes = (uint32_t)offsetof(tachyfits_options, nulls);
    check(tachyfits_read(file, 0, NULL, TACHYFITS_FLOAT, pixels, sizeof pixels, &options, &error),
          "read with the options of an older program");
    options.bytes = 8;
    expect(tachyfits_read(file, 0, NULL, TACHYFITS_FLOAT, pixels, sizeof pixels, &options, &error) ==
               TACHYFITS_ERROR_USAGE, "an error for options that are too short");
}

static void export_arrays(const tachyfits_file *file) {
    const tachyfits_range ranges[3] = {{1, 2, 1}, {3, 1, 1}, {0, 1, 1}};
    const int32_t columns[2] = {2, 0};
    DLManagedTensorVersioned *tensor = NULL;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    check(tachyfits_read_dlpack(file, 0, ranges, TACHYFITS_DOUBLE, &tensor, NULL, &error),
          "read_dlpack");
    expect(tensor && tensor->dl_tensor.ndim == 3 && tensor->dl_tensor.shape[2] == 2 &&
               ((double *)tensor->dl_tensor.data)[1] == 17, "a tensor of two pixels");
    if (tensor) tensor->deleter(tensor);
    check(tachyfits_export_arrow(file, 1, columns, 2, "PI > 30", 0, UINT64_MAX, 0, &stream, NULL,
                                 &error), "export_arrow");
    expect(stream.get_schema(&stream, &schema) == 0 && schema.n_children == 2, "two fields");
    expect(strcmp(schema.children[0]->name, "NAME") == 0 && schema.children[0]->format[0] == 'u' &&
               schema.children[1]->format[0] == 'i', "fields of text and integers");
    schema.release(&schema);
    expect(stream.get_next(&stream, &batch) == 0 && batch.length == 2, "a batch of two rows");
    expect(((const int32_t *)batch.children[1]->buffers[1])[0] == 40, "the first number");
    expect(memcmp(batch.children[0]->buffers[2], "twosix", 6) == 0, "the texts");
    batch.release(&batch);
    expect(stream.get_next(&stream, &batch) == 0 && batch.release == NULL, "the end of the stream");
    expect(stream.get_last_error(&stream) == NULL, "no error of the stream");
    stream.release(&stream);
    expect(tachyfits_export_arrow(file, 1, NULL, 0, "NOTHERE > 3", 0, 3, 0, &stream, NULL, &error) ==
               TACHYFITS_ERROR_USAGE, "an error for a condition of no column");
}

/* A temporary file: scaled integers with BLANK, a reordered copy with other cards, arrays of variable length. */
static void use_temporary_file(const tachyfits_file *file) {
    tachyfits_writer *writer = NULL;
    tachyfits_file *reordered = NULL, *changed = NULL, *result = NULL;
    tachyfits_header *header = NULL;
    tachyfits_options options = options_with(0);
    tachyfits_encoding encoding;
    tachyfits_facts facts;
    tachyfits_new_column column;
    tachyfits_cells cells;
    tachyfits_arrays arrays;
    const size_t order[3] = {2, 0, 1};
    const uint64_t lengths[1] = {3};
    const double values[3] = {100.5, NAN, 99};
    const int64_t offsets[3] = {0, 2, 3};
    const int16_t elements[3] = {7, 8, 9};
    double pixels[3];
    int16_t stored[3];
    char text[16];
    memset(&encoding, 0, sizeof encoding);
    memset(&column, 0, sizeof column);
    memset(&cells, 0, sizeof cells);
    memset(&facts, 0, sizeof facts);
    encoding.bytes = sizeof encoding, facts.bytes = sizeof facts, column.bytes = sizeof column;
    encoding.pixel_type = TACHYFITS_INT16;
    encoding.is_scaled = 1, encoding.scale = 0.5, encoding.zero = 100;
    encoding.has_blank = 1, encoding.blank = -1;
    options.encoding = &encoding;
    check(tachyfits_create(NULL, NULL, &writer, &error), "create a temporary file");
    check(tachyfits_write_image(writer, NULL, TACHYFITS_DOUBLE, 1, lengths, values, sizeof values,
                                NULL, &options, &error), "write scaled integers");
    check(tachyfits_reorder(file, 0, order, 3, &reordered, &error), "reorder");
    check(tachyfits_header_of(reordered, 0, &header, &error), "header_of");
    check(tachyfits_set_text(header, "OBJECT", "M 33", NULL, &error), "set_text");
    check(tachyfits_set_i64(header, "NAXIS1", 99, NULL, &error), "set a card of the structure");
    check(tachyfits_with_header(reordered, 0, header, &changed, &error), "with_header");
    check(tachyfits_copy_hdu(writer, changed, 0, NULL, &error), "copy a changed image");
    check(tachyfits_set_text(header, "OBJECT", "M 51", NULL, &error), "set_text");
    check(tachyfits_copy_with_header(writer, reordered, 0, header, NULL, &error), "copy_with_header");
    check(tachyfits_copy_with_header(writer, file, 1, header, NULL, &error), "copy a table");
    column.name = "LIST", column.form = "1PI";
    cells.values = elements, cells.bytes = sizeof elements, cells.offsets = offsets;
    check(tachyfits_begin_table(writer, NULL, &column, 1, &error), "begin_table");
    check(tachyfits_write_rows(writer, &cells, 1, 2, NULL, &error), "write arrays");
    check(tachyfits_commit_open(writer, &result, &error), "commit_open");
    tachyfits_header_free(header);
    tachyfits_close(reordered), tachyfits_close(changed);
    if (!result) return;
    check(tachyfits_describe(result, 0, &facts, &error), "describe");
    expect(facts.is_scaled && facts.blank == -1 && facts.stored_type == TACHYFITS_INT16, "encoding");
    check(tachyfits_read(result, 0, NULL, TACHYFITS_DOUBLE, pixels, sizeof pixels, NULL, &error),
          "read scaled integers");
    expect(pixels[0] == 100.5 && isnan(pixels[1]) && pixels[2] == 99, "the values as they were");
    options = options_with(TACHYFITS_STORED);
    check(tachyfits_read(result, 0, NULL, TACHYFITS_INT16, stored, sizeof stored, &options, &error),
          "read stored integers");
    expect(stored[0] == 1 && stored[1] == -1 && stored[2] == -2, "the integers");
    check(tachyfits_describe(result, 1, &facts, &error), "describe");
    expect(facts.axes[0] == 3 && facts.axes[1] == 5, "axes in another order");
    check(tachyfits_header_of(result, 1, &header, &error), "header_of");
    check(tachyfits_get_text(header, "OBJECT", text, sizeof text, NULL, &error), "get_text");
    expect(strcmp(text, "M 33") == 0, "the new card");
    tachyfits_header_free(header);
    check(tachyfits_header_of(result, 3, &header, &error), "header_of");
    check(tachyfits_get_text(header, "OBJECT", text, sizeof text, NULL, &error), "get_text");
    expect(strcmp(text, "M 51") == 0, "the new card of the table");
    tachyfits_header_free(header);
    check(tachyfits_describe(result, 3, &facts, &error), "describe");
    expect(facts.rows == 3 && facts.columns == 3, "the table as it was");
    check(tachyfits_read_arrays(result, 4, 0, 0, 2, &arrays, NULL, &error), "read_arrays");
    expect(arrays.offsets[1] == 2 && ((int16_t *)arrays.values)[2] == 9, "two arrays");
    tachyfits_arrays_free(&arrays);
    tachyfits_close(result);
}

static void edit_data(const char *path) {
    tachyfits_editor *editor = NULL;
    tachyfits_file *file = NULL;
    tachyfits_cells cells[3];
    tachyfits_column column;
    const tachyfits_range ranges[3] = {{0, 2, 1}, {0, 1, 1}, {0, 1, 1}};
    const float pixels[2] = {0, 1};
    const double energy = 3.5;
    const uint64_t row = 1;
    const int32_t pi = 77;
    double read[4];
    memset(cells, 0, sizeof cells);
    memset(&column, 0, sizeof column);
    check(tachyfits_edit(path, &editor, &error), "edit");
    check(tachyfits_edit_pixels(editor, 0, ranges, 3, TACHYFITS_FLOAT, pixels, sizeof pixels, NULL,
                                &error), "edit_pixels");
    expect(tachyfits_edit_pixels(editor, 0, ranges, 3, TACHYFITS_INT16, pixels, 4, NULL, &error) ==
               TACHYFITS_ERROR_USAGE, "an error for integers as floats");
    cells[0].values = &energy, cells[0].bytes = sizeof energy;
    check(tachyfits_edit_cells(editor, 1, 1, &row, 0, 1, cells, NULL, &error), "edit_cells");
    cells[0].values = &pi, cells[0].bytes = sizeof pi;
    cells[1].values = &energy, cells[1].bytes = sizeof energy;
    cells[2].values = "new\0", cells[2].bytes = 4;
    check(tachyfits_append_rows(editor, 1, cells, 3, 1, NULL, &error), "append_rows");
    check(tachyfits_edit_commit(editor, NULL, &error), "edit_commit");
    check(tachyfits_open(path, NULL, &file, &error), "open the edited file");
    column.bytes = sizeof column, column.column = 1, column.cell_type = TACHYFITS_DOUBLE;
    column.values = read, column.room = sizeof read;
    check(tachyfits_read_columns(file, 1, &column, 1, 0, 4, NULL, &error), "read_columns");
    expect(read[0] == 0.5 && read[1] == 3.5 && read[3] == 3.5, "an edited and a new row");
    tachyfits_close(file);
    check(tachyfits_edit(path, &editor, &error), "edit");
    check(tachyfits_edit_pixels(editor, 0, ranges, 3, TACHYFITS_FLOAT, pixels, sizeof pixels, NULL,
                                &error), "edit_pixels");
    tachyfits_edit_abandon(editor);
}

static void use_process_settings(void) {
    tachyfits_error entry;
    size_t count = 0;
    int has_cancelled = 0;
    tachyfits_set_threads(1);
    tachyfits_allow_maps(0);
    tachyfits_allow_maps(1);
    while (tachyfits_error_code(count, &entry) == TACHYFITS_OK) {
        expect(entry.kind >= 1 && entry.kind <= 6 && entry.code[0] && entry.message[0], "an entry");
        has_cancelled |= entry.kind == TACHYFITS_ERROR_CANCELLED;
        count++;
    }
    expect(count > 50 && has_cancelled, "the list of codes");
    expect(tachyfits_error_code(count, &entry) == TACHYFITS_ABSENT, "the end of the list");
    tachyfits_set_threads(0);
}

int main(int argc, char **argv) {
    tachyfits_file *file = NULL;
    tachyfits_writer *writer = NULL;
    tachyfits_options options = options_with(0);
    if (argc != 2) return 2;
    write_file(argv[1]);
    expect(tachyfits_create(argv[1], &options, &writer, &error) == TACHYFITS_ERROR_IO,
           "an error for a file that exists");
    options.flags = TACHYFITS_OVERWRITE;
    check(tachyfits_create(argv[1], &options, &writer, &error), "create");
    tachyfits_abandon(writer);
    check(tachyfits_open(argv[1], NULL, &file, &error), "open");
    if (!file) return 1;
    {
        tachyfits_file *shared = NULL;
        check(tachyfits_file_copy(file, &shared, &error), "file_copy");
        tachyfits_close(file);
        file = shared;
    }
    expect(tachyfits_hdus(file) == 3, "three HDUs");
    expect(tachyfits_warning(file, 0) == NULL, "no warning");
    read_headers(file);
    read_images(file);
    read_table(file);
    read_with_nulls(file);
    export_arrays(file);
    use_temporary_file(file);
    use_process_settings();
    {
        char copy[4096];
        tachyfits_file *again = NULL;
        snprintf(copy, sizeof copy, "%s.copy", argv[1]);
        check(tachyfits_create(copy, &options, &writer, &error), "create a copy");
        check(tachyfits_copy_hdu(writer, file, 0, NULL, &error), "copy_hdu");
        check(tachyfits_copy_hdu(writer, file, 1, NULL, &error), "copy_hdu");
        check(tachyfits_commit(writer, &error), "commit");
        check(tachyfits_open(copy, NULL, &again, &error), "open the copy");
        expect(tachyfits_hdus(again) == 2, "two HDUs");
        tachyfits_close(again);
        remove(copy);
    }
    tachyfits_close(file);
    edit(argv[1]);
    edit_data(argv[1]);
    expect(tachyfits_open(NULL, NULL, &file, &error) == TACHYFITS_ERROR_USAGE, "an error for NULL");
    expect(tachyfits_open("not there.fits", NULL, &file, NULL) == TACHYFITS_ERROR_IO, "no file");
    expect(tachyfits_open_memory((const uint8_t *)"SIMPLE", 6, NULL, NULL, &file, &error) ==
               TACHYFITS_ERROR_FORMAT, "an error for bytes that are no FITS file");
    expect(tachyfits_abi() == 0 && strlen(tachyfits_version()) > 2, "a version");
    tachyfits_close(NULL);
    printf(failures ? "%d failed\n" : "passed\n", failures);
    return failures != 0;
}
