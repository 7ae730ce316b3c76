/* The bytes alone: what reading a file, and writing one of the same size, costs without FITS.
 *
 * One request per line on stdin (flat JSON without escapes), one reply line on stdout. The models:
 *   fread    fread of 2880 bytes at a time, as CFITSIO's speed.c reads its raw file
 *   read     read(2) of `chunk` bytes at a time into one buffer
 *   fwrite   fwrite of 2880 bytes at a time, and fclose, as CFITSIO's speed.c writes its raw file
 *   write    write(2) of the input's bytes, which are in memory before the clock starts, `chunk` at a time; "sync": true
 *            waits for the disk (fsync)
 * Opening and closing are timed. The answer is the number of bytes.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "request.h"

#define BLOCK 2880

/* Each of these returns the number of bytes, or -1. */

static long long stdio_read(const char *path) {
    static char block[BLOCK];
    long long total = 0;
    size_t got;
    FILE *file = fopen(path, "rb");
    if (!file) return -1;
    while ((got = fread(block, 1, BLOCK, file)) > 0) total += got;
    fclose(file);
    return total;
}

static long long plain_read(const char *path, char *buffer, long long chunk) {
    long long total = 0;
    ssize_t got;
    int file = open(path, O_RDONLY);
    if (file < 0) return -1;
    while ((got = read(file, buffer, chunk)) > 0) total += got;
    close(file);
    return got < 0 ? -1 : total;
}

static long long stdio_write(const char *path, const char *bytes, long long size) {
    FILE *file = fopen(path, "wb");
    long long total = 0;
    if (!file) return -1;
    for (; total < size; total += BLOCK) {
        size_t wanted = size - total < BLOCK ? size - total : BLOCK;
        if (fwrite(bytes + total, 1, wanted, file) != wanted) return -1;
    }
    return fclose(file) ? -1 : size;
}

static long long plain_write(const char *path, const char *bytes, long long size, long long chunk, int sync) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0) return -1;
    for (long long total = 0; total < size;) {
        ssize_t done = write(file, bytes + total, size - total < chunk ? size - total : chunk);
        if (done < 0) return -1;
        total += done;
    }
    if (sync && fsync(file)) return -1;
    return close(file) ? -1 : size;
}

/* The whole input in memory, kept for the next request. */
static char *bytes_of(const char *path, long long *size) {
    static char kept_path[4096], *kept;
    static long long kept_size;
    if (!kept || strcmp(path, kept_path)) {
        struct stat status;
        free(kept);
        kept = NULL;
        if (stat(path, &status)) return NULL;
        kept_size = status.st_size;
        kept = malloc(kept_size + 1);
        if (!kept || plain_read(path, kept, kept_size + 1) != kept_size) return NULL;
        snprintf(kept_path, sizeof kept_path, "%s", path);
    }
    *size = kept_size;
    return kept;
}

int main(int argc, char **argv) {
    static char line[65536], path[4096], output[4096], model[64];
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        printf("gcc %s -O3\n", __VERSION__);
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        long long chunk = number_of(line, "chunk", 1 << 20), size = 0, total = -2;
        int sync = strstr(line, "\"sync\": true") != NULL;
        struct spent start, spent;
        char *bytes = NULL;
        if (!text_of(line, "model", model, sizeof model) || !text_of(line, "path", path, sizeof path)) model[0] = 0;
        if (!strcmp(model, "fwrite") || !strcmp(model, "write")) {
            text_of(line, "output", output, sizeof output);
            bytes = bytes_of(path, &size);
        } else if (!strcmp(model, "read")) {
            bytes = malloc(chunk);
            memset(bytes, 1, chunk);
        }
        start = begin();
        if (!strcmp(model, "fread")) total = stdio_read(path);
        if (!strcmp(model, "read")) total = plain_read(path, bytes, chunk);
        if (!strcmp(model, "fwrite")) total = bytes ? stdio_write(output, bytes, size) : -1;
        if (!strcmp(model, "write")) total = bytes ? plain_write(output, bytes, size, chunk, sync) : -1;
        spent = since(start);
        if (!strcmp(model, "read")) free(bytes);
        reply_bytes(spent, total);
    }
    return 0;
}
