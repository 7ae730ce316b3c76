/* The conversion of S. Eguchi 2013, section 3.4 and appendix D: numbers of 64 bits in memory, swapped where they are.
 *
 * One request per line on stdin (flat JSON without escapes), one reply line on stdout. `numbers` of them are made once,
 * reals from -1000 to 1000 of 32 bits. Their array begins 16 bytes after a page, as malloc places it; with `alignment` "random"
 * before each run at an offset of 0 to 63 bytes that is drawn again, the same ones in each process, and part of the reply. A request
 * swaps the numbers by its `algorithm` with `threads` threads, each an equal share, started and joined within the clock; the next
 * one swaps them back. The answer `wrong` counts the numbers that are not what was made, in the order that it is in then.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "algorithms.h"
#include "request.h"

#define MOST_THREADS 256
#define MOST_OFFSET 64
#define USUAL_OFFSET 16

static struct {
    char *memory;
    size_t count, offset;
    int swapped;
    uint64_t fingerprints[2]; /* of the numbers in the machine's order, and swapped */
} held;

/* Number `i` of the array in the machine's order, or swapped. */
static uint64_t made(uint64_t i, int swapped) {
    uint64_t bits = (i + 1) * 0x9E3779B97F4A7C15ULL;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9ULL;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBULL;
    double real = -1000 + 2000 * ((bits >> 32) / 4294967295.0);
    uint64_t number;
    memcpy(&number, &real, NUMBER);
    return swapped ? byte_copy(number) : number;
}

/* Sum modulo 2^64 of all numbers, each times its own odd number, which a wrong number changes. */
static uint64_t fingerprint(const char *numbers, size_t count) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number;
        memcpy(&number, numbers + i * NUMBER, NUMBER);
        sum += number * (2 * i + 1);
    }
    return sum;
}

/* Makes the numbers unless they are there, and has them at `offset`; 0 for want of memory. */
static int hold(size_t count, size_t offset) {
    if (held.memory && held.count == count) {
        if (held.offset != offset) memmove(held.memory + offset, held.memory + held.offset, count * NUMBER);
        held.offset = offset;
        return 1;
    }
    if (held.memory) munmap(held.memory, held.count * NUMBER + MOST_OFFSET);
    memset(&held, 0, sizeof held);
    void *memory = mmap(NULL, count * NUMBER + MOST_OFFSET, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 0;
    held.memory = memory;
    held.count = count;
    held.offset = offset;
    for (size_t i = 0; i < count; i++) {
        uint64_t number = made(i, 0);
        memcpy(held.memory + offset + i * NUMBER, &number, NUMBER);
        held.fingerprints[0] += number * (2 * i + 1);
        held.fingerprints[1] += byte_copy(number) * (2 * i + 1);
    }
    return 1;
}

/* Counts the numbers that are not what was made; one by one only where their fingerprint is wrong. */
static size_t wrong_ones(const char *numbers) {
    if (fingerprint(numbers, held.count) == held.fingerprints[held.swapped]) return 0;
    size_t wrong = 0;
    for (size_t i = 0; i < held.count; i++) {
        uint64_t number = made(i, held.swapped);
        wrong += memcmp(numbers + i * NUMBER, &number, NUMBER) != 0;
    }
    return wrong;
}

/* The offset of the next run: a multiplicative sequence, whose upper bits are random enough. */
static size_t random_offset(void) {
    static uint64_t state = 20130012;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % MOST_OFFSET;
}

struct share {
    char *at;
    size_t count;
    void (*convert)(void *, size_t);
};

static void *convert_share(void *given) {
    struct share *share = given;
    share->convert(share->at, share->count);
    return NULL;
}

static int convert(const struct algorithm *algorithm, char *numbers, size_t count, int threads) {
    pthread_t others[MOST_THREADS];
    struct share shares[MOST_THREADS];
    size_t each = (count / threads + 7) / 8 * 8;
    int started = 0;
    for (int i = 0; i < threads; i++) {
        size_t first = i * each < count ? i * each : count;
        size_t last = i == threads - 1 || first + each > count ? count : first + each;
        shares[i] = (struct share){numbers + first * NUMBER, last - first, algorithm->convert};
    }
    while (started < threads - 1 && !pthread_create(&others[started], NULL, convert_share, &shares[started + 1])) started++;
    convert_share(&shares[0]);
    for (int i = 0; i < started; i++) pthread_join(others[i], NULL);
    return started == threads - 1;
}

static void reply(const char *line) {
    char name[32] = "", alignment[32] = "";
    text_of(line, "algorithm", name, sizeof name);
    text_of(line, "alignment", alignment, sizeof alignment);
    const struct algorithm *algorithm = algorithm_named(name);
    long long count = number_of(line, "numbers", 0), threads = number_of(line, "threads", 1);
    if (!algorithm) {
        printf("{\"unsupported\": \"this processor has no %s\"}\n", name);
        return;
    }
    size_t offset = strcmp(alignment, "random") ? USUAL_OFFSET : random_offset();
    if (count < 1 || threads < 1 || threads > MOST_THREADS || !hold(count, offset)) {
        printf("{\"error\": \"invalid request, or no memory for %lld numbers\"}\n", count);
        return;
    }
    char *numbers = held.memory + held.offset;
    double start = now();
    int all = convert(algorithm, numbers, held.count, threads);
    double seconds = now() - start;
    held.swapped = !held.swapped;
    size_t wrong = all ? wrong_ones(numbers) : held.count;
    printf("{\"seconds\": %.9f, \"bytes\": %zu, \"parts\": {\"offset\": %zu}, \"answer\": {\"wrong\": %zu}}\n", seconds,
           held.count * NUMBER, offset, wrong);
}

int main(int argc, char **argv) {
    char line[8192];
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        printf("gcc %s -O2\n", __VERSION__);
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        reply(line);
        fflush(stdout);
    }
    return 0;
}
