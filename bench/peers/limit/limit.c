/* What the machine itself takes to bring or to take the bytes, with nothing done to them: no program that reads or writes
 * as we all do can be faster.
 *
 * One request per line on stdin (flat JSON without escapes), one reply line on stdout. The models; `threads` of them:
 *   pread    the file through pread(2), `chunk` bytes at a time into a buffer of each thread
 *   map      the file mapped, and one byte of each cache line (or of every `step` bytes) looked at, `passes` times, each
 *            time with new threads; for each such byte, `made` bytes of new memory are written, as a column takes them
 *   memory   the file through pread(2) into new memory of its size, in large pages where the system gives them
 *   records  `numbers` numbers of 8 bytes written through pwrite(2) into a new file in memory, 256 KiB at a time, by one
 *            thread; "swap": true turns the bytes of each number on the way
 *   reading  the same numbers through pread(2) out of such a file, 256 KiB at a time into an array of 16 MiB that is there
 *            already; "swap": true turns the bytes of each number where they are
 * Memory and files are given back when the clock stands. The answer is the number of bytes.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "request.h"

#define LINE 64
#define PAGE (2L << 20)
#define BLOCK (256L << 10)
#define ARRAY (16L << 20)
#define MOST_THREADS 256
#define MOST_PASSES 8

enum how { PREAD, MAP, MEMORY };

/* What the threads share; each takes pieces in turn. */
struct work {
    enum how how;
    int file;
    long long size, chunk, step, made;
    char *map;
    /* New memory of a pass, `made` bytes for each step. */
    char *out;
    long long next;
    int failed;
};

/* What is given back when the clock stands. */
static struct {
    char *map;
    long long size;
    int file;
    char *out[MOST_PASSES];
    long long out_size;
} used = {.file = -1};

static void give_back(void) {
    if (used.map) munmap(used.map, used.size);
    for (int pass = 0; pass < MOST_PASSES; pass++) {
        if (used.out[pass]) munmap(used.out[pass], used.out_size);
        used.out[pass] = NULL;
    }
    if (used.file >= 0) close(used.file);
    used.map = NULL;
    used.file = -1;
}

static void *take_pieces(void *shared) {
    struct work *work = shared;
    char *buffer = work->how == PREAD ? malloc(work->chunk) : NULL;
    volatile char seen = 0;
    for (;;) {
        long long at = __atomic_fetch_add(&work->next, work->chunk, __ATOMIC_RELAXED);
        long long end = at + work->chunk < work->size ? at + work->chunk : work->size;
        if (at >= work->size || work->failed) break;
        if (work->how == MAP) {
            char any = 0;
            long long first = (at + work->step - 1) / work->step;
            for (at = first * work->step; at < end; at += work->step) any ^= work->map[at];
            seen ^= any;
            /* Of as many steps, and no more than there is room for. */
            if (work->out) memset(work->out + first * work->made, any, (at / work->step - first) * work->made);
            continue;
        }
        while (at < end) {
            char *to = work->how == PREAD ? buffer : work->map + at;
            /* Pieces of what a second-level cache takes, into memory too: its first touch is part of that. */
            ssize_t got = pread(work->file, to, end - at < BLOCK ? end - at : BLOCK, at);
            if (got <= 0) {
                work->failed = 1;
                break;
            }
            at += got;
        }
    }
    free(buffer);
    return NULL;
}

/* New memory, in large pages where the system gives them. */
static char *new_memory(long long size) {
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

static long long read_by(enum how how, const char *path, long long chunk, int threads, long long step, int passes,
                         long long made) {
    struct stat status;
    struct work work = {.how = how, .file = open(path, O_RDONLY), .chunk = how == MEMORY ? PAGE : chunk, .step = step,
                        .made = made};
    pthread_t others[MOST_THREADS];
    if (work.file < 0 || fstat(work.file, &status)) return -1;
    work.size = status.st_size;
    if (how == MAP) work.map = mmap(NULL, work.size, PROT_READ, MAP_SHARED, work.file, 0);
    if (how == MEMORY) work.map = new_memory(work.size);
    if (work.map == MAP_FAILED || passes > MOST_PASSES) return -1;
    used.out_size = (work.size / step + 1) * made;
    for (int pass = 0; pass < passes; pass++) {
        int started = 0;
        work.next = 0;
        if (made) {
            work.out = new_memory(used.out_size);
            if (work.out == MAP_FAILED) return -1;
            used.out[pass] = work.out;
        }
        while (started < threads - 1 && started < MOST_THREADS &&
               !pthread_create(&others[started], NULL, take_pieces, &work))
            started++;
        take_pieces(&work);
        while (started) pthread_join(others[--started], NULL);
    }
    used.map = work.map;
    used.size = work.size;
    used.file = work.file;
    return work.failed ? -1 : work.size;
}

static long long write_records(long long bytes, int swap) {
    static _Alignas(4096) uint64_t from[BLOCK / 8], turned[BLOCK / 8];
    char path[] = "/dev/shm/tachyfits-bench-limit-XXXXXX";
    int file = mkstemp(path);
    if (file < 0) return -1;
    unlink(path);
    used.file = file;
    for (long long at = 0; at < bytes; at += BLOCK) {
        long long count = bytes - at < BLOCK ? bytes - at : BLOCK;
        if (swap)
            for (long long i = 0; i < BLOCK / 8; i++) turned[i] = __builtin_bswap64(from[i]);
        if (pwrite(file, swap ? turned : from, count, at) != count) return -1;
    }
    return bytes;
}

/* What threads that read numbers share. */
struct reading {
    int file, swap, failed;
    long long bytes, next;
    uint64_t *numbers;
};

static void *read_numbers(void *shared) {
    struct reading *reading = shared;
    for (;;) {
        long long at = __atomic_fetch_add(&reading->next, BLOCK, __ATOMIC_RELAXED);
        if (at >= reading->bytes || reading->failed) return NULL;
        long long count = reading->bytes - at < BLOCK ? reading->bytes - at : BLOCK;
        uint64_t *to = reading->numbers + at % ARRAY / 8;
        if (pread(reading->file, to, count, at) != count) reading->failed = 1;
        if (reading->swap)
            for (long long i = 0; i < count / 8; i++) to[i] = __builtin_bswap64(to[i]);
    }
}

static long long read_records(long long bytes, int swap, int threads, struct spent *start) {
    static uint64_t numbers[ARRAY / 8];
    pthread_t helpers[MOST_THREADS];
    if (write_records(bytes, 0) != bytes) return -1;
    memset(numbers, 1, sizeof numbers);
    *start = begin();
    struct reading reading = {used.file, swap, 0, bytes, 0, numbers};
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    for (int n = 1; n < threads; n++)
        if (pthread_create(&helpers[n], NULL, read_numbers, &reading)) return -1;
    read_numbers(&reading);
    for (int n = 1; n < threads; n++) pthread_join(helpers[n], NULL);
    return reading.failed ? -1 : bytes;
}

int main(int argc, char **argv) {
    static char line[65536], path[4096], model[64];
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        printf("gcc %s -O3\n", __VERSION__);
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        long long chunk = number_of(line, "chunk", 512 << 10), total = -2;
        int threads = number_of(line, "threads", 1), swap = strstr(line, "\"swap\": true") != NULL;
        struct spent start, spent;
        if (!text_of(line, "model", model, sizeof model)) model[0] = 0;
        if (!text_of(line, "path", path, sizeof path)) path[0] = 0;
        start = begin();
        if (!strcmp(model, "pread")) total = read_by(PREAD, path, chunk, threads, LINE, 1, 0);
        if (!strcmp(model, "map"))
            total = read_by(MAP, path, chunk, threads, number_of(line, "step", LINE), number_of(line, "passes", 1),
                            number_of(line, "made", 0));
        if (!strcmp(model, "memory")) total = read_by(MEMORY, path, chunk, threads, LINE, 1, 0);
        if (!strcmp(model, "records")) total = write_records(8 * number_of(line, "numbers", 0), swap);
        if (!strcmp(model, "reading"))
            total = read_records(8 * number_of(line, "numbers", 0), swap, threads, &start);
        spent = since(start);
        give_back();
        reply_bytes(spent, total);
    }
    return 0;
}
