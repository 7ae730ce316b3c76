/* Single calls of CFITSIO into arrays in memory, and whole programs that use it. The peer
 * `cfitsio-reads-preloaded` is this program with the interposing library preloaded.
 *
 * One request per line on stdin (flat JSON without escapes), one reply line on stdout. The models:
 *   read     one fits_read_img of all pixels, or fits_read_subset of the middle half of each axis
 *            with "part": "middle". "as" names the type, "null": 1 checks for nulls.
 *   columns  fits_read_col of each column that "columns" selects, one after another, as float or double
 *            ("as").
 *   program  the command "command", in which @ is the path; the clock counts the processor's seconds.
 * Opening is not timed; arrays are touched before. The clock is the processor's for one thread, else the wall's.
 */
#include <fitsio.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "request.h"

#define COLUMNS 64

static int type_of(const char *line, size_t *size) {
    char name[8] = "f32";
    text_of(line, "as", name, sizeof name);
    *size = !strcmp(name, "f64") ? 8 : !strcmp(name, "i16") ? 2 : 4;
    return *size == 8 ? TDOUBLE : *size == 2 ? TSHORT : TFLOAT;
}

/* The bit patterns, added up as Exact in bench/makers.py does. */
static unsigned long long bits_of(const char *values, size_t count, size_t size) {
    unsigned long long total = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = 0;
        memcpy(&word, values + i * size, size);
        total += word;
    }
    return total;
}

/* Memory that is kept from one request to the next. */
static char *block(size_t bytes) {
    static char *kept;
    static size_t room;
    if (bytes > room) {
        free(kept);
        kept = malloc(bytes);
        room = kept ? bytes : 0;
    }
    if (kept) memset(kept, 1, bytes);
    return kept;
}

static void reply(const char *line, struct spent spent, unsigned long long bits, long long count) {
    double seconds = number_of(line, "threads", 1) == 1 ? spent.processor : spent.seconds;
    printf("{\"seconds\": %.9f, \"processor_seconds\": %.9f, ", seconds, spent.processor);
    printf("\"answer\": {\"bits\": %llu, \"values\": %lld}}\n", bits, count);
}

static int read_pixels(const char *line, fitsfile *file) {
    size_t size;
    int type = type_of(line, &size), status = 0, any_null = 0, axes = 0, bitpix = 0;
    long lengths[9], first[9], last[9], step[9];
    long long count = 1;
    char part[16] = "all";
    double null = -1e30;
    float null_float = -1e30f;
    short null_short = -32768;
    text_of(line, "part", part, sizeof part);
    int is_subset = !strcmp(part, "middle");
    fits_get_img_param(file, 9, &bitpix, &axes, lengths, &status);
    for (int i = 0; i < axes; i++) {
        first[i] = is_subset ? lengths[i] / 4 + 1 : 1;
        last[i] = is_subset ? lengths[i] - lengths[i] / 4 : lengths[i];
        step[i] = 1;
        count *= last[i] - first[i] + 1;
    }
    void *nulls = type == TDOUBLE ? (void *)&null : type == TFLOAT ? (void *)&null_float : (void *)&null_short;
    if (!number_of(line, "null", 0)) nulls = NULL;
    char *values = block(count * size);
    if (!values) return MEMORY_ALLOCATION;
    struct spent start = begin();
    if (is_subset)
        fits_read_subset(file, type, first, last, step, nulls, values, &any_null, &status);
    else
        fits_read_img(file, type, 1, count, nulls, values, &any_null, &status);
    struct spent spent = since(start);
    if (!status) reply(line, spent, bits_of(values, count, size), count);
    return status;
}

static int read_columns(const char *line, fitsfile *file) {
    char which[32] = "all", wanted[64], name[FLEN_VALUE];
    size_t size;
    int type = type_of(line, &size), status = 0, count = 0, numbers[COLUMNS];
    LONGLONG rows = 0;
    text_of(line, "columns", which, sizeof which);
    snprintf(wanted, sizeof wanted, "\"%s\": [", which);
    const char *at = strstr(line, wanted), *end;
    if (!at) return COL_NOT_FOUND;
    at += strlen(wanted);
    while (count < COLUMNS && *at == '"' && (end = strchr(at + 1, '"'))) {
        snprintf(name, sizeof name, "%.*s", (int)(end - at - 1), at + 1);
        fits_get_colnum(file, CASEINSEN, name, &numbers[count++], &status);
        at = end + 1 + strspn(end + 1, ", ");
    }
    fits_get_num_rowsll(file, &rows, &status);
    char *values = block(rows * size * count);
    if (!values) return MEMORY_ALLOCATION;
    struct spent start = begin();
    for (int i = 0; i < count; i++) {
        int any_null = 0;
        fits_read_col(file, type, numbers[i], 1, 1, rows, NULL, values + i * rows * size, &any_null, &status);
    }
    struct spent spent = since(start);
    if (!status) reply(line, spent, bits_of(values, rows * count, size), rows * count);
    return status;
}

static double processor_of_children(void) {
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Run a command in a folder of its own; what it writes there is removed after the clock has stopped. */
static void run_program(const char *line, const char *path) {
    char command[512], full[8192], folder[] = "/tmp/bench-XXXXXX", clean[64];
    size_t length = 0;
    if (!text_of(line, "command", command, sizeof command) || !mkdtemp(folder)) {
        printf("{\"error\": \"no command, or no folder\"}\n");
        return;
    }
    length = snprintf(full, sizeof full, "cd %s && ", folder);
    for (const char *at = command; *at && length + strlen(path) + 2 < sizeof full; at++)
        length += *at == '@' ? snprintf(full + length, sizeof full - length, "'%s'", path)
                             : snprintf(full + length, sizeof full - length, "%c", *at);
    snprintf(full + length, sizeof full - length, " > output 2>&1");
    double before = processor_of_children(), start = now();
    int code = system(full);
    double seconds = now() - start, processor = processor_of_children() - before;
    snprintf(clean, sizeof clean, "rm -rf %s", folder);
    if (system(clean)) code = -1;
    if (code)
        printf("{\"error\": \"the command ended with status %d\"}\n", code);
    else
        printf("{\"seconds\": %.9f, \"processor_seconds\": %.9f, \"wall_seconds\": %.9f, \"answer\": {\"status\": 0}}\n",
               processor, processor, seconds);
}

int main(int argc, char **argv) {
    static char line[65536], path[4096], model[32], text[FLEN_STATUS];
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        float version;
        fits_get_version(&version);
        printf("CFITSIO %.3f%s\n", version, getenv("LD_PRELOAD") ? ", with a library preloaded" : "");
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        if (!text_of(line, "model", model, sizeof model) || !text_of(line, "path", path, sizeof path)) {
            printf("{\"unsupported\": \"a request without model or path\"}\n");
        } else if (!strcmp(model, "program")) {
            run_program(line, path);
        } else if (strcmp(model, "read") && strcmp(model, "columns")) {
            printf("{\"unsupported\": \"only the models read, columns and program\"}\n");
        } else {
            fitsfile *file = NULL;
            int status = 0, closing = 0;
            fits_open_file(&file, path, READONLY, &status);
            fits_movabs_hdu(file, (int)number_of(line, "hdu", 0) + 1, NULL, &status);
            if (!status) status = strcmp(model, "read") ? read_columns(line, file) : read_pixels(line, file);
            if (file) fits_close_file(file, &closing);
            if (status) {
                fits_get_errstatus(status, text);
                printf("{\"error\": \"CFITSIO status %d: %s\"}\n", status, text);
            }
        }
        fflush(stdout);
    }
    return 0;
}
