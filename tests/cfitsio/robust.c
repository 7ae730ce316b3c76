/* Read files while something else happens to them or to the process, and print what arrives. The test
 * runs each case with and without the interposing library and compares the lines.
 *
 *     robust CASE FILE...      in a folder that the program may write to
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <fitsio.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t hash(const void *bytes, size_t count) {
    const unsigned char *byte = bytes;
    uint64_t state = 1469598103934665603u;
    for (; count > 0; byte++, count--)
        state = (state ^ *byte) * 1099511628211u;
    return state;
}

static void fail(const char *what) {
    perror(what);
    exit(3);
}

static void *memory(size_t bytes) {
    void *block = malloc(bytes + 1);
    if (block == NULL)
        fail("malloc");
    memset(block, 0xA5, bytes);
    return block;
}

static fitsfile *opened(const char *path, int mode) {
    fitsfile *file = NULL;
    int status = 0;
    if (ffopen(&file, path, mode, &status) > 0) {
        printf("open: status %d\n", status);
        ffcmsg();
    }
    return file;
}

static void closed(fitsfile *file) {
    int status = 0;
    ffclos(file, &status);
    if (status > 0)
        printf("close: status %d\n", status);
    ffcmsg();
}

static LONGLONG pixels_of(fitsfile *file) {
    LONGLONG lengths[9] = {0}, total = 1;
    int bitpix = 0, axes = 0, status = 0;
    ffgiprll(file, 9, &bitpix, &axes, lengths, &status);
    for (int axis = 0; axis < axes; axis++)
        total *= lengths[axis];
    return axes > 0 && status == 0 ? total : 0;
}

/* Read an image, or a table's first column, into a line of text. */
static void read_line(fitsfile *file, int type, char *line, size_t room) {
    int status = 0, anynul = 0, kind = 0;
    double null = -77;
    float null_float = -77;
    LONGLONG count = 0;
    size_t size = type == TDOUBLE ? sizeof(double) : sizeof(float);
    ffghdt(file, &kind, &status);
    void *array;
    if (kind == IMAGE_HDU) {
        count = pixels_of(file);
        array = memory((size_t)count * size);
        if (type == TDOUBLE)
            ffgpvd(file, 0, 1, count, null, array, &anynul, &status);
        else
            ffgpve(file, 0, 1, count, null_float, array, &anynul, &status);
    } else {
        ffgnrwll(file, &count, &status);
        array = memory((size_t)count * size);
        ffgcv(file, type, 1, 1, 1, count, NULL, array, &anynul, &status);
    }
    /* Rubbish after an error. */
    uint64_t digest = status > 0 ? 0 : hash(array, (size_t)count * size);
    snprintf(line, room, "%lld elements, status %d, anynul %d, %016llx", (long long)count, status,
             anynul, (unsigned long long)digest);
    free(array);
    ffcmsg();
}

static void print_line(const char *what, fitsfile *file, int type) {
    char line[120];
    read_line(file, type, line, sizeof line);
    printf("%s: %s\n", what, line);
    fflush(stdout);
}

static void copy(const char *from, const char *to, off_t bytes) {
    char *block = memory(1 << 16);
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (in < 0 || out < 0)
        fail(from);
    for (ssize_t count; (count = read(in, block, 1 << 16)) > 0 && bytes > 0; bytes -= count)
        if (write(out, block, count < bytes ? (size_t)count : (size_t)bytes) < 0)
            fail(to);
    close(in);
    close(out);
    free(block);
}

enum { ALL = 1 << 30 };

static int descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* ---- cases ---- */

typedef struct {
    const char *path;
    char lines[6][120];
} Work;

static void *thread_reads(void *argument) {
    Work *work = argument;
    for (int k = 0; k < 6; k++) {
        int status = 0;
        fitsfile *file = NULL;
        if (ffopen(&file, work->path, READONLY, &status) > 0) {
            snprintf(work->lines[k], 120, "open: status %d", status);
            continue;
        }
        read_line(file, k % 2 ? TDOUBLE : TFLOAT, work->lines[k], 120);
        ffclos(file, &status);
    }
    return NULL;
}

/* 64 threads, each with a file, or a handle, of its own. */
static void threads(int count, char **files) {
    enum { THREADS = 64 };
    pthread_t ids[THREADS];
    static Work work[THREADS];
    for (int k = 0; k < THREADS; k++) {
        work[k].path = files[k % count];
        if (pthread_create(ids + k, NULL, thread_reads, work + k) != 0)
            fail("pthread_create");
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(ids[k], NULL);
        for (int line = 0; line < 6; line++)
            printf("thread %d: %s\n", k, work[k].lines[line]);
    }
}

/* Parent and child share the position of CFITSIO's descriptor, so only one of them uses it. */
static void fork_between(int count, char **files) {
    for (int k = 0; k < count; k++) {
        fitsfile *file = opened(files[k], READONLY);
        if (k % 2)
            print_line("before", file, TFLOAT);
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            if (k % 3) {
                print_line("child", file, TFLOAT);
                print_line("child", file, TDOUBLE);
            }
            file = opened(files[k], READONLY);
            print_line("child's own", file, TDOUBLE);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        if (k % 3 == 0)
            print_line("parent", file, TFLOAT);
        closed(file);
        file = opened(files[k], READONLY);
        print_line("parent's own", file, TFLOAT);
        closed(file);
    }
}

static void many_opens(int count, char **files) {
    const struct rlimit limit = {256, 256};
    uint64_t sum = 0;
    setrlimit(RLIMIT_NOFILE, &limit);
    const int before = descriptors();
    for (int k = 0; k < 10000; k++) {
        fitsfile *file = opened(files[k % count], READONLY);
        float values[100];
        int anynul = 0, status = 0;
        ffgpve(file, 0, 1, 100, -77, values, &anynul, &status);
        sum += hash(values, sizeof values) + (uint64_t)status;
        closed(file);
    }
    printf("%llx, %d more descriptors\n", (unsigned long long)sum, descriptors() - before > 40);
}

/* Every descriptor that the process may have is in use by CFITSIO. */
static void no_descriptors(int count, char **files) {
    const struct rlimit limit = {256, 256};
    setrlimit(RLIMIT_NOFILE, &limit);
    fitsfile *handles[256];
    int handle_count = 0, status = 0;
    while (handle_count < 250) {
        fitsfile *file = NULL;
        status = 0;
        if (ffdkopn(&file, files[handle_count % count], READONLY, &status) > 0)
            break;
        handles[handle_count++] = file;
        if (handle_count % 60 == 0)
            print_line("one of many", file, TFLOAT);
    }
    ffcmsg();
    while (dup(0) >= 0)
        ;
    printf("%d handles\n", handle_count);
    for (int k = 0; k < handle_count; k += 50)
        print_line("no descriptor", handles[k], k % 100 ? TDOUBLE : TFLOAT);
    for (int k = 0; k < handle_count; k++)
        closed(handles[k]);
}

static void replaced(int count, char **files) {
    (void)count;
    for (int read_first = 0; read_first < 2; read_first++) {
        copy(files[0], "one.fits", ALL);
        copy(files[1], "two.fits", ALL);
        fitsfile *file = opened("one.fits", READONLY);
        if (read_first)
            print_line("before", file, TFLOAT);
        rename("two.fits", "one.fits");
        print_line("replaced", file, TFLOAT);
        print_line("replaced", file, TDOUBLE);
        fitsfile *other = opened("one.fits", READONLY);
        print_line("opened again", other, TFLOAT);
        print_line("the first", file, TFLOAT);
        closed(file);
        print_line("after it was closed", other, TDOUBLE);
        closed(other);
    }
}

/* The same file gets other bytes. CFITSIO may have the old ones in its buffers, so only the status
 * of that read is compared. */
static void overwritten(int count, char **files) {
    (void)count;
    copy(files[0], "one.fits", ALL);
    fitsfile *file = opened("one.fits", READONLY);
    copy(files[1], "one.fits", ALL); /* the same shape, other values */
    char line[120];
    read_line(file, TFLOAT, line, sizeof line);
    printf("overwritten: %.36s\n", line);
    closed(file);
    file = opened("one.fits", READONLY);
    print_line("opened again", file, TFLOAT);
    closed(file);
}

static void truncated(int count, char **files) {
    for (int k = 0; k < count; k++)
        for (int read_first = 0; read_first < 2; read_first++) {
            struct stat facts;
            copy(files[k], "one.fits", ALL);
            stat("one.fits", &facts);
            fitsfile *file = opened("one.fits", READONLY);
            if (read_first)
                print_line("before", file, TFLOAT);
            if (truncate("one.fits", facts.st_size / 2) != 0)
                fail("truncate");
            print_line("truncated", file, TFLOAT);
            print_line("truncated", file, TDOUBLE);
            copy(files[k], "one.fits", ALL);
            print_line("whole again", file, TDOUBLE);
            closed(file);
        }
}

static void removed(int count, char **files) {
    for (int k = 0; k < count; k++) {
        copy(files[k], "one.fits", ALL);
        fitsfile *file = opened("one.fits", READONLY);
        if (k % 2)
            print_line("before", file, TFLOAT);
        unlink("one.fits");
        print_line("removed", file, TFLOAT);
        mkdir("one.fits", 0700);
        print_line("a folder now", file, TFLOAT);
        rmdir("one.fits");
        closed(file);
    }
}

static void other_folder(int count, char **files) {
    for (int k = 0; k < count; k++) {
        copy(files[k], "one.fits", ALL);
        mkdir("below", 0700);
        copy(files[(k + 1) % count], "below/one.fits", ALL);
        fitsfile *file = opened("one.fits", READONLY);
        if (chdir("below") != 0)
            fail("chdir");
        print_line("in another folder", file, TFLOAT);
        fitsfile *other = opened("one.fits", READONLY);
        print_line("its own file", other, TFLOAT);
        if (chdir("..") != 0)
            fail("chdir");
        print_line("from above", other, TFLOAT);
        closed(other);
        closed(file);
    }
}

static void unflushed(int count, char **files) {
    for (int k = 0; k < count; k++) {
        int status = 0, kind = 0;
        float values[2000];
        for (int index = 0; index < 2000; index++)
            values[index] = (float)index * 0.5f;
        copy(files[k], "one.fits", ALL);
        fitsfile *file = opened("one.fits", READWRITE);
        ffghdt(file, &kind, &status);
        if (kind == IMAGE_HDU)
            ffppre(file, 0, 11, 2000, values, &status);
        else
            ffpcle(file, 1, 3, 1, 2000, values, &status);
        printf("written: status %d\n", status);
        print_line("written, not flushed", file, TFLOAT);
        /* Shares the buffers of the first. */
        fitsfile *other = opened("one.fits", READONLY);
        if (other != NULL)
            print_line("opened for reading", other, TDOUBLE);
        if (kind != IMAGE_HDU) {
            status = 0;
            ffirow(file, 5, 700, &status);
            print_line("rows inserted", file, TFLOAT);
        } else {
            LONGLONG lengths[] = {50, 60};
            status = 0;
            ffrsimll(file, FLOAT_IMG, 2, lengths, &status);
            print_line("another shape", file, TFLOAT);
        }
        if (other != NULL)
            closed(other);
        closed(file);
        file = opened("one.fits", READONLY);
        print_line("closed and opened", file, TFLOAT);
        closed(file);
    }
}

static void created(int count, char **files) {
    (void)count;
    (void)files;
    fitsfile *file = NULL;
    int status = 0;
    long lengths[] = {400, 500};
    float *values = memory(400 * 500 * sizeof(float));
    for (int k = 0; k < 400 * 500; k++)
        values[k] = (float)k;
    ffinit(&file, "!new.fits", &status);
    ffcrim(file, FLOAT_IMG, 2, lengths, &status);
    ffppre(file, 0, 1, 400 * 500, values, &status);
    printf("created: status %d\n", status);
    print_line("created", file, TFLOAT);
    ffflus(file, &status);
    print_line("flushed", file, TDOUBLE);
    closed(file);
    file = opened("new.fits", READONLY);
    print_line("opened", file, TFLOAT);
    closed(file);
    status = 0;
    ffinit(&file, "mem://", &status);
    ffcrim(file, FLOAT_IMG, 2, lengths, &status);
    ffppre(file, 0, 1, 400 * 500, values, &status);
    print_line("in memory", file, TFLOAT);
    closed(file);
    free(values);
}

/* Handles come and go at one address, for files of other sizes and scales. */
static void reused(int count, char **files) {
    for (int k = 0; k < 300; k++) {
        fitsfile *file = opened(files[k % count], READONLY);
        if (k < 30)
            print_line("reused", file, TFLOAT);
        else {
            float values[64];
            int anynul = 0, status = 0;
            ffgpve(file, 0, 5, 64, -77, values, &anynul, &status);
            printf("%d: %016llx\n", k, (unsigned long long)hash(values, sizeof values));
        }
        closed(file);
    }
}

/* The program closes descriptors that are not its own, as daemons do. */
static void descriptors_closed(int count, char **files) {
    (void)count;
    fitsfile *file = opened(files[0], READONLY);
    print_line("before", file, TFLOAT);
    for (int k = 3; k < 256; k++)
        close(k);
    print_line("without descriptors", file, TFLOAT);
    fitsfile *other = opened(files[1], READONLY);
    print_line("another file", other, TFLOAT);
}

/* Descriptors of the file beyond the first, which a library may have opened, become another file's. */
static void descriptors_taken(int count, char **files) {
    (void)count;
    copy(files[0], "one.fits", ALL);
    copy(files[1], "two.fits", ALL);
    for (int round = 0; round < 3; round++) {
        struct stat wanted, facts;
        int first = -1;
        fitsfile *file = opened("one.fits", READONLY);
        print_line("before", file, TFLOAT);
        stat("one.fits", &wanted);
        for (int k = 3; k < 256; k++) {
            if (fstat(k, &facts) != 0 || facts.st_ino != wanted.st_ino)
                continue;
            if (first < 0) {
                first = k;
                continue;
            }
            const int other = open("two.fits", O_RDONLY);
            dup2(other, k);
            close(other);
        }
        print_line("after", file, TFLOAT);
        print_line("after", file, TDOUBLE);
        closed(file);
        file = opened("one.fits", READONLY);
        print_line("opened again", file, TDOUBLE);
        closed(file);
    }
}

/* Little memory, or none: reads work or fail as CFITSIO's do. */
static void little_memory(int count, char **files) {
    static const size_t more[] = {0, 100 << 10, 300 << 10, 1 << 20, 3 << 20, 10 << 20, 40 << 20};
    for (int k = 0; k < count; k++) {
        fitsfile *file = opened(files[k], READONLY);
        const size_t bytes = (size_t)pixels_of(file) * sizeof(double);
        double *array = memory(bytes);
        struct rlimit now;
        getrlimit(RLIMIT_AS, &now);
        for (size_t step = 0; step < sizeof more / sizeof more[0]; step++) {
            int anynul = 0, status = 0;
            long pages = 0;
            FILE *facts = fopen("/proc/self/statm", "r");
            if (facts == NULL || fscanf(facts, "%ld", &pages) != 1)
                fail("statm");
            fclose(facts);
            const size_t used = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
            setrlimit(RLIMIT_AS, &(struct rlimit){used + more[step], now.rlim_max});
            ffgpvd(file, 0, 1, (LONGLONG)(bytes / sizeof(double)), -77, array, &anynul, &status);
            setrlimit(RLIMIT_AS, &now);
            printf("status %d, %016llx\n", status, (unsigned long long)hash(array, bytes));
        }
        free(array);
        closed(file);
    }
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(int, char **);
    } cases[] = {
        {"threads", threads},
        {"fork", fork_between},
        {"opens", many_opens},
        {"no-descriptors", no_descriptors},
        {"replaced", replaced},
        {"overwritten", overwritten},
        {"truncated", truncated},
        {"removed", removed},
        {"folder", other_folder},
        {"unflushed", unflushed},
        {"created", created},
        {"reused", reused},
        {"descriptors-closed", descriptors_closed},
        {"descriptors-taken", descriptors_taken},
        {"little-memory", little_memory},
    };
    for (size_t k = 0; count > 2 && k < sizeof cases / sizeof cases[0]; k++)
        if (strcmp(arguments[1], cases[k].name) == 0) {
            cases[k].run(count - 2, arguments + 2);
            return 0;
        }
    return 2;
}
