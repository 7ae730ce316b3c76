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

#endif
