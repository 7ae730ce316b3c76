/* Write every HDU of a file to a new one, images that are compressed as plain ones, and print statuses and messages. The
 * test runs this program with and without the interposing library and compares lines and files.
 *
 *     unpack WORDS IN OUT      WORDS: sums, twice (sums again after a pixel changed), primary, scaled, plain; several with
 *                              a comma between them
 */
#include <fitsio.h>
#include <stdio.h>
#include <string.h>

static void print_status(const char *what, int hdu, int *status) {
    char message[FLEN_ERRMSG];
    printf("%d %s: status %d", hdu, what, *status);
    while (ffgmsg(message))
        printf(" | %s", message);
    putchar('\n');
    *status = 0;
}

int main(int count, char **arguments) {
    fitsfile *in = NULL, *out = NULL;
    int status = 0, hdus = 0, kind = 0;
    if (count != 4 || ffopen(&in, arguments[2], READONLY, &status) || ffthdu(in, &hdus, &status) ||
        ffinit(&out, arguments[3], &status)) {
        print_status("open", 0, &status);
        return 2;
    }
    const char *words = arguments[1];
    for (int hdu = 1; hdu <= hdus; hdu++) {
        ffmahd(in, hdu, &kind, &status);
        if (fits_is_compressed_image(in, &status)) {
            if (strstr(words, "scaled"))
                ffpscl(in, 3.0, 1.0, &status);
            if (strstr(words, "primary"))
                status = -1;
            print_status("before", hdu, (int[]){status});
            fits_img_decompress(in, out, &status);
            print_status("decompressed", hdu, &status);
        } else {
            ffcopy(in, out, 0, &status);
            print_status("copied", hdu, &status);
        }
        for (int round = 0; round < 2; round++) {
            short pixel = 77;
            unsigned long data = 0, whole = 0;
            if (!strstr(words, "sums") || (round == 1 && !strstr(words, "twice")))
                break;
            if (round == 1 && ffghdt(out, &kind, &status) == 0 && kind == IMAGE_HDU)
                ffppri(out, 0, 3, 1, &pixel, &status);
            print_status("written", hdu, &status);
            ffpcks(out, &status);
            ffgcks(out, &data, &whole, &status);
            printf("%d sums %lu %lu\n", hdu, data, whole);
            print_status("sums", hdu, &status);
        }
    }
    ffclos(out, &status);
    print_status("closed", 0, &status);
    ffclos(in, &status);
    print_status("closed", 0, &status);
    return 0;
}
