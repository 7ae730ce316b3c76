/* Load two plug-ins, each with a CFITSIO of its own, as Python loads extensions (RTLD_LOCAL), and
 * read with both alternately. The program itself does not know CFITSIO.
 *
 *     plugins PLUGIN PLUGIN FILE FILE
 */
#include <dlfcn.h>
#include <stdio.h>

typedef struct {
    int (*open)(const char *);
    long long (*read)(double);
    int (*scale)(double, double);
    int (*close)(void);
} Reader;

static void *function(void *plugin, const char *name) {
    void *address = dlsym(plugin, name);
    if (address == NULL)
        printf("%s\n", dlerror());
    return address;
}

int main(int count, char **arguments) {
    Reader readers[2];
    if (count < 5)
        return 2;
    for (int k = 0; k < 2; k++) {
        void *plugin = dlopen(arguments[1 + k], RTLD_NOW | RTLD_LOCAL);
        if (plugin == NULL) {
            printf("%s\n", dlerror());
            return 3;
        }
        *(void **)&readers[k].open = function(plugin, "reader_open");
        *(void **)&readers[k].read = function(plugin, "reader_read");
        *(void **)&readers[k].scale = function(plugin, "reader_scale");
        *(void **)&readers[k].close = function(plugin, "reader_close");
        printf("open: status %d\n", readers[k].open(arguments[3 + k]));
    }
    for (int round = 0; round < 6; round++)
        for (int k = 0; k < 2; k++) {
            if (round == 3)
                printf("scale: status %d\n", readers[k].scale(0.5, k));
            printf("%d: %llx\n", k, (unsigned long long)readers[k].read(round % 2 ? -99 : 0));
        }
    for (int k = 0; k < 2; k++)
        printf("close: status %d\n", readers[k].close());
    return 0;
}
