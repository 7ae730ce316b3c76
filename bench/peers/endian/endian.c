/* The conversion of S. Eguchi 2013, section 3.4 and appendix D: numbers of 64 bits in memory, swapped where they are.
 *
 * One request per line on stdin (flat JSON without escapes), one reply line on stdout. `numbers` of them are made once,
 * reals from -1000 to 1000 of 32 bits, `offset` bytes after an address that is a multiple of 64. Each request swaps them by its
 * `algorithm` with `threads` threads, each an equal share, started and joined within the clock; the next one swaps them back.
 * The answer `wrong` counts the numbers that are not what was made, in the order that it is in then.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "algorithms.h"
#include "request.h"

#define MOST_THREADS 256
#define ALIGNED 64

static struct {
    char *memory;
    size_t count, offset;
    int swapped;
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

/* Makes the numbers unless they are there; 0 for want of memory. A map begins at a page, which is aligned. */
static int hold(size_t count, size_t offset) {
    if (held.memory && held.count == count && held.offset == offset) return 1;
    if (held.memory) munmap(held.memory, held.count * NUMBER + ALIGNED);
    held.memory = mmap(NULL, count * NUMBER + ALIGNED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (held.memory == MAP_FAILED) held.memory = NULL;
    held.count = count;
    held.offset = offset;
    held.swapped = 0;
    for (size_t i = 0; held.memory && i < count; i++) {
        uint64_t number = made(i, 0);
        memcpy(held.memory + offset + i * NUMBER, &number, NUMBER);
    }
    return held.memory != NULL;
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
    char name[32] = "";
    text_of(line, "algorithm", name, sizeof name);
    const struct algorithm *algorithm = algorithm_named(name);
    long long count = number_of(line, "numbers", 0), threads = number_of(line, "threads", 1);
    long long offset = number_of(line, "offset", 0);
    if (!algorithm) {
        printf("{\"unsupported\": \"this processor has no %s\"}\n", name);
        return;
    }
    if (count < 1 || threads < 1 || threads > MOST_THREADS || offset < 0 || offset >= ALIGNED || !hold(count, offset)) {
        printf("{\"error\": \"invalid request, or no memory for %lld numbers\"}\n", count);
        return;
    }
    char *numbers = held.memory + held.offset;
    double start = now();
    int all = convert(algorithm, numbers, held.count, threads);
    double seconds = now() - start;
    size_t wrong = all ? 0 : held.count;
    held.swapped = !held.swapped;
    for (size_t i = 0; all && i < held.count; i++) {
        uint64_t number = made(i, held.swapped);
        wrong += memcmp(numbers + i * NUMBER, &number, NUMBER) != 0;
    }
    printf("{\"seconds\": %.9f, \"bytes\": %zu, \"answer\": {\"wrong\": %zu}}\n", seconds, held.count * NUMBER, wrong);
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
