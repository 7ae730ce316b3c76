/* What the peers in C share: the clock, and taking a request apart.
 *
 * A request is a line of flat JSON without escapes, which paths must do without.
 */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Seconds on the clock, and of processor time of all threads of this process. */
struct spent {
    double seconds, processor;
};

static inline struct spent begin(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (struct spent){now(), t.tv_sec + 1e-9 * t.tv_nsec};
}

static inline struct spent since(struct spent start) {
    struct spent end = begin();
    return (struct spent){end.seconds - start.seconds, end.processor - start.processor};
}

/* How a reply begins that says what was spent. */
static inline void reply_spent(struct spent spent) {
    printf("{\"seconds\": %.9f, \"processor_seconds\": %.9f, ", spent.seconds, spent.processor);
}

/* Text of a string value. */
static inline int text_of(const char *line, const char *key, char *value, size_t size) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"%s\": \"", key);
    const char *at = strstr(line, wanted);
    if (!at) return 0;
    at += strlen(wanted);
    size_t n = strcspn(at, "\"");
    if (n >= size) return 0;
    memcpy(value, at, n);
    value[n] = 0;
    return 1;
}

static inline long long number_of(const char *line, const char *key, long long otherwise) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"%s\": ", key);
    const char *at = strstr(line, wanted);
    return at ? atoll(at + strlen(wanted)) : otherwise;
}

/* The reply of peers that only bring or take bytes: how many, -1 where that failed, -2 for a model that there is not. */
static inline void reply_bytes(struct spent spent, long long total) {
    if (total == -2)
        printf("{\"unsupported\": \"no such model\"}\n");
    else if (total < 0)
        printf("{\"error\": \"reading or writing failed\"}\n");
    else {
        reply_spent(spent);
        printf("\"bytes\": %lld, \"answer\": {\"bytes\": %lld}}\n", total, total);
    }
    fflush(stdout);
}

#endif
