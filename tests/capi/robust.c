/* Uses the library as careless programs do: robust threads|fork|opens|removed|replaced|truncated|rewritten FILE …
 * Says what is wrong and returns 1. Images have float pixels; pixel n of file k is k + n. */
#include "tachyfits.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char *what, const tachyfits_error *error) {
    printf("%s: %s\n%s\n", what, error ? error->message : "", error ? error->hint : "");
    return 1;
}

static tachyfits_options four_threads(void) {
    tachyfits_options options;
    memset(&options, 0, sizeof options);
    options.bytes = sizeof options;
    options.threads = 4;
    return options;
}

/* Checks pixels and sum of an open file, whose first pixel is `first`. */
static int check_file(const tachyfits_file *file, double first) {
    tachyfits_error error;
    tachyfits_facts facts;
    tachyfits_stats stats;
    tachyfits_options options = four_threads();
    double *pixels;
    uint64_t n;
    int failed = 0;
    facts.bytes = sizeof facts, stats.bytes = sizeof stats;
    if (tachyfits_describe(file, 0, &facts, &error)) return fail("describe", &error);
    pixels = malloc(facts.pixels * sizeof *pixels);
    if (!pixels) return fail("no memory", NULL);
    if (tachyfits_read(file, 0, NULL, TACHYFITS_DOUBLE, pixels, facts.pixels * sizeof *pixels,
                       &options, &error))
        failed = fail("read", &error);
    for (n = 0; n < facts.pixels && !failed; n++)
        if (pixels[n] != first + (double)n) failed = fail("wrong pixel", NULL);
    free(pixels);
    if (failed) return failed;
    if (tachyfits_statistics(file, 0, NULL, NULL, &stats, &options, &error))
        return fail("statistics", &error);
    return stats.min != first || stats.count != facts.pixels ? fail("wrong statistics", NULL) : 0;
}

static int check_path(const char *path, double first) {
    tachyfits_error error;
    tachyfits_file *file = NULL;
    int failed;
    if (tachyfits_open(path, NULL, &file, &error)) return fail("open", &error);
    failed = check_file(file, first);
    tachyfits_close(file);
    return failed;
}

struct task {
    pthread_t thread;
    const char *path;
    double first;
    int failed;
};

static void *run_task(void *argument) {
    struct task *task = argument;
    int n;
    for (n = 0; n < 3 && !task->failed; n++) task->failed = check_path(task->path, task->first);
    return NULL;
}

/* A file for each thread. */
static int use_threads(char **paths, int count) {
    struct task *tasks = calloc((size_t)count, sizeof *tasks);
    int n, failed = 0;
    if (!tasks) return fail("no memory", NULL);
    for (n = 0; n < count; n++) {
        tasks[n].path = paths[n], tasks[n].first = n;
        if (pthread_create(&tasks[n].thread, NULL, run_task, &tasks[n])) return fail("no thread", NULL);
    }
    for (n = 0; n < count; n++) {
        pthread_join(tasks[n].thread, NULL);
        failed |= tasks[n].failed;
    }
    free(tasks);
    return failed;
}

/* A child reads the file that its parent has open, and opens it again. */
static int use_fork(const char *path) {
    tachyfits_error error;
    tachyfits_file *file = NULL;
    int n, failed = 0;
    if (tachyfits_open(path, NULL, &file, &error)) return fail("open", &error);
    failed = check_file(file, 0);
    for (n = 0; n < 8 && !failed; n++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) _exit(check_file(file, 0) || check_path(path, 0));
        failed = check_file(file, 0);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            failed = fail("the child failed", NULL);
    }
    tachyfits_close(file);
    return failed;
}

/* 10 000 files and 10 000 errors with few descriptors. */
static int use_opens(const char *path, const char *not_fits) {
    tachyfits_error error;
    const struct rlimit few = {48, 48};
    int n;
    if (setrlimit(RLIMIT_NOFILE, &few)) return fail("setrlimit", NULL);
    for (n = 0; n < 10000; n++) {
        tachyfits_file *file = NULL;
        float pixel = -1;
        if (tachyfits_open(path, NULL, &file, &error)) return fail("open", &error);
        if (tachyfits_read_run(file, 0, 3, 1, TACHYFITS_FLOAT, &pixel, sizeof pixel, NULL, &error))
            return fail("read", &error);
        if (pixel != 3) return fail("wrong pixel", NULL);
        tachyfits_close(file);
        if (tachyfits_open(not_fits, NULL, &file, &error) != TACHYFITS_ERROR_FORMAT)
            return fail("no error of the format", &error);
    }
    return 0;
}

/* The file is removed, replaced, truncated or rewritten after it was opened. */
static int use_changed(const char *how, const char *path, const char *other) {
    tachyfits_error error;
    tachyfits_file *file = NULL;
    double *pixels;
    tachyfits_facts facts;
    int outcome;
    facts.bytes = sizeof facts;
    if (tachyfits_open(path, NULL, &file, &error)) return fail("open", &error);
    if (strcmp(how, "removed") == 0 && remove(path)) return fail("remove", NULL);
    if (strcmp(how, "replaced") == 0 && rename(other, path)) return fail("rename", NULL);
    if (strcmp(how, "truncated") == 0 && truncate(path, 4000)) return fail("truncate", NULL);
    if (strcmp(how, "rewritten") == 0) {
        FILE *from = fopen(other, "rb"), *to = fopen(path, "r+b");
        int byte;
        if (!from || !to) return fail("fopen", NULL);
        while ((byte = getc(from)) != EOF) putc(byte, to);
        fclose(from), fclose(to);
    }
    if (strcmp(how, "removed") == 0 || strcmp(how, "replaced") == 0) {
        /* The open file is the old one. */
        outcome = check_file(file, 0);
        tachyfits_close(file);
        return outcome;
    }
    if (tachyfits_describe(file, 0, &facts, &error)) return fail("describe", &error);
    pixels = malloc(facts.pixels * sizeof *pixels);
    if (!pixels) return fail("no memory", NULL);
    outcome = tachyfits_read(file, 0, NULL, TACHYFITS_DOUBLE, pixels, facts.pixels * sizeof *pixels,
                             NULL, &error);
    free(pixels);
    tachyfits_close(file);
    if (outcome != TACHYFITS_ERROR_IO) return fail("no error of input", NULL);
    printf("%s\n", error.code);
    return 0;
}

int main(int argc, char **argv) {
    const char *how = argc > 2 ? argv[1] : "";
    int failed;
    if (strcmp(how, "threads") == 0) failed = use_threads(argv + 2, argc - 2);
    else if (strcmp(how, "fork") == 0) failed = use_fork(argv[2]);
    else if (argc == 4 && strcmp(how, "opens") == 0) failed = use_opens(argv[2], argv[3]);
    else if (argc == 4) failed = use_changed(how, argv[2], argv[3]);
    else return 2;
    if (!failed) printf("passed\n");
    return failed;
}
