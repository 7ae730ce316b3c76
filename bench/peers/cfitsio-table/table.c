/* CFITSIO: tables, by fits_read_col and fits_write_col in chunks of rows.
 *
 * One request per line on stdin (flat JSON without escapes), one reply line on stdout. "chunk" is the number of rows to
 * read or write at a time; 0 takes what fits_get_rowsize recommends. The models:
 *   columns  columns of the first extension into an array each, in the type that fits_get_eqcoltype names; "as": "long"
 *            takes long, as CFITSIO's speed.c does. Opening, allocating, reading and closing are timed.
 *   rows     the same, but into one small array over and over: what speed.c does. Opening is not timed, as there.
 *   write    a table of two columns of long, "first" and "second", from arrays in memory, binary or ASCII as the input is.
 *            Writing the rows and fits_flush_file are timed, and no more, as there.
 * NULL as the null value switches CFITSIO's search for NaN and TNULL off, which is its fastest way.
 */
#include <fitsio.h>

#include "request.h"

#define COLUMNS 64
#define SHORT 20000 /* speed.c has arrays of so many, and takes at most so many rows at a time */

typedef struct {
    char name[FLEN_VALUE];
    int number, type;
    size_t size;
    char *values;
} Column;

typedef struct {
    Column columns[COLUMNS];
    int count;
    LONGLONG rows;
} Table;

static size_t size_of(int type) {
    switch (type) {
    case TBYTE: return 1;
    case TSHORT: case TUSHORT: return 2;
    case TINT: case TUINT: case TFLOAT: return 4;
    default: return 8;
    }
}

/* The type to read a column as. CFITSIO says TLONG for J, whose long has 64 bits here. */
static int type_for(fitsfile *file, int number, int *status) {
    int type = 0;
    long repeat, width;
    fits_get_eqcoltype(file, number, &type, &repeat, &width, status);
    if (type == TLONG) return TINT;
    if (type == TULONG) return TUINT;
    if (!*status && size_of(type) == 8 && type != TDOUBLE && type != TLONGLONG) *status = BAD_DATATYPE;
    return type;
}

/* Which columns: those of the list that "columns" names among the "selections", or all. */
static void choose(fitsfile *file, const char *line, Table *table, int *status) {
    char which[32] = "all", wanted[64];
    int total = 0;
    text_of(line, "columns", which, sizeof which);
    snprintf(wanted, sizeof wanted, "\"%s\": [", which);
    const char *at = strstr(line, wanted);
    fits_get_num_cols(file, &total, status);
    table->count = 0;
    if (at) at += strlen(wanted);
    for (int n = 1; !*status && table->count < COLUMNS; n++) {
        Column *column = &table->columns[table->count];
        char pattern[FLEN_VALUE];
        column->values = NULL;
        if (at) {
            const char *end;
            if (!(at = strchr(at, '"')) || !(end = strchr(at + 1, '"'))) break;
            snprintf(pattern, sizeof pattern, "%.*s", (int)(end - at - 1), at + 1);
            at = end + 1 + strspn(end + 1, ", ");
        } else {
            if (n > total) break;
            snprintf(pattern, sizeof pattern, "%d", n);
        }
        fits_get_colname(file, CASEINSEN, pattern, column->name, &column->number, status);
        table->count++;
        if (at && *at == ']') break;
    }
}

static void choose_types(fitsfile *file, const char *line, Table *table, int *status) {
    int as_long = strstr(line, "\"as\": \"long\"") != NULL;
    for (int i = 0; i < table->count; i++) {
        Column *column = &table->columns[i];
        column->type = as_long ? TLONG : type_for(file, column->number, status);
        column->size = size_of(column->type);
    }
}

static void release(Table *table) {
    for (int i = 0; i < table->count; i++) free(table->columns[i].values);
    table->count = 0;
}

/* `keep` rows of each column are there to be read into; fewer than all are used over and over. */
static void allocate(Table *table, LONGLONG keep, int *status) {
    for (int i = 0; i < table->count; i++) {
        table->columns[i].values = malloc(keep * table->columns[i].size + 1);
        if (!table->columns[i].values) *status = MEMORY_ALLOCATION;
    }
}

static void read_rows(fitsfile *file, Table *table, long long chunk, int whole, int *status) {
    if (chunk <= 0) {
        long recommended = 0;
        fits_get_rowsize(file, &recommended, status);
        chunk = recommended < SHORT || whole ? recommended : SHORT;
    }
    if (chunk > table->rows) chunk = table->rows;
    if (!whole) allocate(table, chunk, status);
    for (LONGLONG first = 0; !*status && first < table->rows; first += chunk) {
        LONGLONG left = table->rows - first, count = left < chunk ? left : chunk;
        for (int i = 0; i < table->count; i++) {
            Column *column = &table->columns[i];
            char *to = column->values + (whole ? first * column->size : 0);
            int any_null = 0;
            fits_read_col(file, column->type, column->number, first + 1, 1, count, NULL, to, &any_null, status);
        }
    }
}

/* Bit patterns of int64 or float64, each times an odd number of its own: see Fingerprint in bench/tables.py. */
static unsigned long long fingerprint(const Column *column, LONGLONG rows) {
    unsigned long long total = 0;
    for (LONGLONG i = 0; i < rows; i++) {
        const char *at = column->values + i * column->size;
        long long integer = 0;
        double number = 0;
        int is_float = column->type == TFLOAT || column->type == TDOUBLE;
        switch (column->type) {
        case TBYTE: integer = *(const unsigned char *)at; break;
        case TSHORT: integer = *(const short *)at; break;
        case TUSHORT: integer = *(const unsigned short *)at; break;
        case TINT: integer = *(const int *)at; break;
        case TUINT: integer = *(const unsigned int *)at; break;
        case TFLOAT: number = *(const float *)at; break;
        case TDOUBLE: number = *(const double *)at; break;
        default: integer = *(const long long *)at;
        }
        unsigned long long bits = integer;
        if (is_float && number != number) bits = 0x7ff8000000000000ULL;
        else if (is_float) memcpy(&bits, &number, 8);
        total += bits * (2 * (unsigned long long)i + 1);
    }
    return total;
}

static void reply(struct spent spent, const char *line, const Table *table) {
    char which[32] = "all";
    text_of(line, "columns", which, sizeof which);
    reply_spent(spent);
    printf("\"answer\": {\"rows\": %lld, \"%s\": {", (long long)table->rows, which);
    for (int i = 0; i < table->count; i++)
        printf("%s\"%s\": %llu", i ? ", " : "", table->columns[i].name,
               fingerprint(&table->columns[i], table->rows));
    printf("}}}\n");
}

static void reply_rows(struct spent spent, LONGLONG rows) {
    reply_spent(spent);
    printf("\"answer\": {\"rows\": %lld}}\n", (long long)rows);
}

static int columns(const char *line, const char *path) {
    Table table = {.count = 0};
    fitsfile *file = NULL;
    int status = 0, closing = 0;
    struct spent start = begin();
    fits_open_file(&file, path, READONLY, &status);
    fits_movabs_hdu(file, 2, NULL, &status);
    fits_get_num_rowsll(file, &table.rows, &status);
    choose(file, line, &table, &status);
    choose_types(file, line, &table, &status);
    if (!status) allocate(&table, table.rows, &status);
    read_rows(file, &table, number_of(line, "chunk", 0), 1, &status);
    fits_close_file(file, &closing);
    struct spent spent = since(start);
    if (!status) reply(spent, line, &table);
    release(&table);
    return status;
}

static int rows(const char *line, const char *path) {
    Table table = {.count = 0};
    fitsfile *file = NULL;
    int status = 0, closing = 0;
    fits_open_file(&file, path, READONLY, &status);
    fits_movabs_hdu(file, 2, NULL, &status);
    fits_get_num_rowsll(file, &table.rows, &status);
    choose(file, line, &table, &status);
    choose_types(file, line, &table, &status);
    struct spent start = begin();
    read_rows(file, &table, number_of(line, "chunk", 0), 0, &status);
    struct spent spent = since(start);
    fits_close_file(file, &closing);
    release(&table);
    if (!status) reply_rows(spent, table.rows);
    return status;
}

/* The input's columns as long, before the clock starts; they are kept for the next request. */
static Table *kept(const char *line, const char *path, int *is_text, int *status) {
    static Table table;
    static char kept_path[4096];
    static int kept_type;
    fitsfile *file = NULL;
    int closing = 0;
    if (strcmp(path, kept_path)) {
        release(&table);
        fits_open_file(&file, path, READONLY, status);
        fits_movabs_hdu(file, 2, &kept_type, status);
        fits_get_num_rowsll(file, &table.rows, status);
        choose(file, line, &table, status);
        for (int i = 0; i < table.count; i++) table.columns[i].type = TLONG, table.columns[i].size = sizeof(long);
        if (!*status) allocate(&table, table.rows, status);
        read_rows(file, &table, 0, 1, status);
        fits_close_file(file, &closing);
        if (!*status) snprintf(kept_path, sizeof kept_path, "%s", path);
    }
    *is_text = kept_type == ASCII_TBL;
    return &table;
}

static int write_table(const char *line, const char *path, const char *output) {
    char *names[] = {"first", "second"}, *binary[] = {"1J", "1J"}, *text[] = {"I6", "I6"}, *units[] = {" ", " "};
    int is_text = 0, status = 0;
    Table *table = kept(line, path, &is_text, &status);
    fitsfile *file = NULL;
    long long chunk = number_of(line, "chunk", 0);
    long recommended = 0;
    remove(output);
    fits_create_file(&file, output, &status);
    fits_create_tbl(file, is_text ? ASCII_TBL : BINARY_TBL, table->rows, 2, names, is_text ? text : binary, units,
                    "Speed_Test", &status);
    fits_get_rowsize(file, &recommended, &status);
    if (chunk <= 0) chunk = recommended;
    if (chunk > SHORT) chunk = SHORT;
    struct spent start = begin();
    for (LONGLONG first = 0; !status && first < table->rows; first += chunk) {
        LONGLONG left = table->rows - first, count = left < chunk ? left : chunk;
        for (int i = 0; i < 2; i++)
            fits_write_col(file, TLONG, i + 1, first + 1, 1, count, (long *)table->columns[i].values + first, &status);
    }
    fits_flush_file(file, &status);
    struct spent spent = since(start);
    fits_close_file(file, &status);
    if (!status) reply_rows(spent, table->rows);
    return status;
}

int main(int argc, char **argv) {
    static char line[65536], path[4096], output[4096], model[64], text[FLEN_STATUS];
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        float version;
        fits_get_version(&version);
        printf("CFITSIO %.4g, gcc %s -O3 -march=native\n", version, __VERSION__);
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        int status = -1;
        if (!text_of(line, "path", path, sizeof path) || !text_of(line, "model", model, sizeof model)) model[0] = 0;
        if (!strcmp(model, "columns")) status = columns(line, path);
        if (!strcmp(model, "rows")) status = rows(line, path);
        if (!strcmp(model, "write") && text_of(line, "output", output, sizeof output))
            status = write_table(line, path, output);
        if (status == -1) {
            printf("{\"unsupported\": \"only the models columns, rows, write, of a path without quotes\"}\n");
        } else if (status) {
            fits_get_errstatus(status, text);
            printf("{\"error\": \"CFITSIO status %d: %s\"}\n", status, text);
        }
        fflush(stdout);
    }
    return 0;
}
