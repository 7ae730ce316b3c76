/* Prints the sizes of structs and the places of their last members: tests/capi/sizes.txt has what they were. */
#include "tachyfits.h"

#include <stddef.h>
#include <stdio.h>

#define SIZE(name, last) \
    printf("%s %lu %s %lu\n", #name, (unsigned long)sizeof(name), #last, \
           (unsigned long)offsetof(name, last))

int main(void) {
    SIZE(tachyfits_error, hint);
    SIZE(tachyfits_options, encoding);
    SIZE(tachyfits_facts, extname);
    SIZE(tachyfits_range, step);
    SIZE(tachyfits_nulls, count);
    SIZE(tachyfits_encoding, blank);
    SIZE(tachyfits_region, corner_count);
    SIZE(tachyfits_stats, max_position);
    SIZE(tachyfits_column_facts, form);
    SIZE(tachyfits_column, null_count);
    SIZE(tachyfits_arrays, cell_type);
    SIZE(tachyfits_new_column, unit);
    SIZE(tachyfits_cells, offsets);
    SIZE(DLManagedTensorVersioned, dl_tensor);
    SIZE(struct ArrowSchema, private_data);
    SIZE(struct ArrowArray, private_data);
    SIZE(struct ArrowArrayStream, private_data);
    return 0;
}
