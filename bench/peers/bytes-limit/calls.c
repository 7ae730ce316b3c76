/* The limit of readers: the bytes of the data, from the page cache through a block in the processor's cache, become as many bytes
 * as the values take. Nothing is swapped, scaled or checked, so the numbers are wrong. CFITSIO says where the data lie. See
 * common/calls.h. */
#include <fcntl.h>
#include <fitsio.h>
#include <unistd.h>

#include "calls.h"

#define BLOCK (256 << 10)

static int descriptor, value_bytes, offsets[MOST_COLUMNS];
static LONGLONG data, width;
static char block[BLOCK + 8];

int calls_open(struct calls *calls, int is_table) {
    int status = 0, bitpix = 0, naxis = 0, number = 0, type = 0;
    LONGLONG axes[9] = {0}, head = 0, end = 0;
    fitsfile *file;
    fits_open_file(&file, calls->path, READONLY, &status);
    fits_movabs_hdu(file, calls->hdu + 1, NULL, &status);
    fits_get_hduaddrll(file, &head, &data, &end, &status);
    if (is_table) {
        fits_get_num_rowsll(file, &axes[0], &status);
        fits_read_key(file, TLONGLONG, "NAXIS1", &width, NULL, &status);
        for (int i = 0; i < calls->columns; i++) {
            LONGLONG repeat, bytes;
            fits_get_colnum(file, CASEINSEN, calls->names[i], &number, &status);
            for (int before = 1; !status && before < number; before++) {
                fits_get_coltypell(file, before, &type, &repeat, &bytes, &status);
                offsets[i] += type == TSTRING ? repeat : repeat * bytes;
            }
        }
        calls->rows = axes[0];
    } else {
        fits_get_img_paramll(file, 9, &bitpix, &naxis, axes, &status);
        calls->naxis = naxis, calls->pixels = 1, value_bytes = abs(bitpix) / 8;
        for (int i = 0; i < naxis; i++) calls->axes[i] = axes[i], calls->pixels *= axes[i];
    }
    descriptor = open(calls->path, O_RDONLY);
    fits_close_file(file, &status);
    if (status) fits_report_error(stderr, status);
    return status || descriptor < 0;
}

/* Reads all bytes, or fails. */
static int take(char *into, size_t bytes, LONGLONG from) {
    for (ssize_t got; bytes; into += got, from += got, bytes -= got)
        if ((got = pread(descriptor, into, bytes, from)) <= 0) return 1;
    return 0;
}

int calls_read_image(struct calls *calls) {
    char *array = calls->arrays[0];
    int size = bytes_of(calls->types[0]);
    if (size == value_bytes) return take(array, calls->pixels * size, data);
    for (long long first = 0, count; first < calls->pixels; first += count) {
        count = calls->pixels - first < BLOCK / 8 ? calls->pixels - first : BLOCK / 8;
        if (take(block, count * value_bytes, data + first * value_bytes)) return 1;
        memcpy(array + first * size, block, count * size);
    }
    return 0;
}

#define COPY(type)                                                                                    \
    for (long long row = 0; row < count; row++)                                                        \
    memcpy((type *)calls->arrays[column] + first + row, block + row * width + offsets[column], sizeof(type))

int calls_read_columns(struct calls *calls) {
    int at_a_time = calls->chunks ? 1 : calls->columns;
    for (int from = 0; from < calls->columns; from += at_a_time)
        for (long long first = 0, count; first < calls->rows; first += count) {
            count = calls->rows - first < BLOCK / width ? calls->rows - first : BLOCK / width;
            if (take(block, count * width, data + first * width)) return 1;
            for (int column = from; column < from + at_a_time; column++) {
                int size = bytes_of(calls->types[column]);
                if (size == 8) COPY(uint64_t);
                if (size == 4) COPY(uint32_t);
                if (size == 2) COPY(uint16_t);
            }
        }
    return 0;
}

int calls_write_image(struct calls *calls) { (void)calls; return 5; }

int calls_write_table(struct calls *calls) { (void)calls; return 5; }

void calls_version(void) {
    (void)code_of; /* no library's names of types here */
    printf("copies of bytes, gcc %s -O3\n", __VERSION__);
}
