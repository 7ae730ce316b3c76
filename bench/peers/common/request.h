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
static inline void reply_bytes(double seconds, long long total) {
    if (total == -2)
        printf("{\"unsupported\": \"no such model\"}\n");
    else if (total < 0)
        printf("{\"error\": \"reading or writing failed\"}\n");
    else
        printf("{\"seconds\": %.9f, \"bytes\": %lld, \"answer\": {\"bytes\": %lld}}\n", seconds, total, total);
    fflush(stdout);
}

#endif
