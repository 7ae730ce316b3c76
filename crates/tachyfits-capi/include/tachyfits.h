/* tachyfits: FITS images, tables and headers, decoded inside the loop that uses them.
 *
 * Every function returns 0, or the kind of an error (TACHYFITS_ERROR_…), and then fills the caller's
 * tachyfits_error, which may be NULL. Pixels, rows, columns, axes and HDUs are counted from 0; axis 0 is
 * NAXIS1, the fastest. Handles are freed by the function of their type; NULL may be freed. A file may be
 * used by many threads at the same time, a writer or editor by one. The library has no global state
 * besides tachyfits_set_threads and tachyfits_allow_maps, installs no signal handler unless maps are asked for,
 * and prints nothing.
 */

#ifndef TACHYFITS_H
#define TACHYFITS_H

/* Generated from the sources of tachyfits-capi: do not edit. */

#include <stddef.h>
#include <stdint.h>

/* The C data and stream interfaces of Apache Arrow; every library that declares them has the same guards. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */

/* Arrays of DLPack 1.0. A program that uses dlpack.h includes it before this header. */
#if !defined(DLPACK_DLPACK_H_) && !defined(TACHYFITS_DLPACK)
#define TACHYFITS_DLPACK

typedef struct { uint32_t major, minor; } DLPackVersion;
typedef struct { int32_t device_type, device_id; } DLDevice;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

#endif

// No error.
#define TACHYFITS_OK 0

// The file cannot be read or written.
#define TACHYFITS_ERROR_IO 1

// The contents of the file break the FITS Standard.
#define TACHYFITS_ERROR_FORMAT 2

// The request is invalid for these data.
#define TACHYFITS_ERROR_USAGE 3

// The request exceeds a limit or the memory.
#define TACHYFITS_ERROR_LIMIT 4

// The job was cancelled.
#define TACHYFITS_ERROR_CANCELLED 5

// A fault of the library.
#define TACHYFITS_ERROR_INTERNAL 6

// The header has no such card: not an error, and the error is not filled.
#define TACHYFITS_ABSENT -1

// Types of pixels and cells.
#define TACHYFITS_UINT8 1

// Signed bytes (BITPIX = 8 with BZERO = -128).
#define TACHYFITS_INT8 2

// Unsigned 16-bit integers (BZERO = 32768).
#define TACHYFITS_UINT16 3

// 16-bit integers.
#define TACHYFITS_INT16 4

// Unsigned 32-bit integers (BZERO = 2147483648).
#define TACHYFITS_UINT32 5

// 32-bit integers.
#define TACHYFITS_INT32 6

// Unsigned 64-bit integers (BZERO = 9223372036854775808).
#define TACHYFITS_UINT64 7

// 64-bit integers.
#define TACHYFITS_INT64 8

// 32-bit floats: physical values, NaN where a pixel is undefined (NaN or BLANK).
#define TACHYFITS_FLOAT 9

// 64-bit floats: physical values, NaN where a pixel is undefined (NaN or BLANK).
#define TACHYFITS_DOUBLE 10

// Cells of logical values: a byte, 1 or 0.
#define TACHYFITS_BOOL 11

// Cells of text: as many bytes as the column is wide, padded with NUL.
#define TACHYFITS_COMPLEX_FLOAT 12

// Cells of two 64-bit floats.
#define TACHYFITS_COMPLEX_DOUBLE 13

// Cells of text: as many bytes as the column is wide, padded with NUL.
#define TACHYFITS_TEXT 14

// An HDU without data, or of a kind that can only be copied.
#define TACHYFITS_HDU_OTHER 0

// An image: the primary array, an IMAGE extension or a tile-compressed image.
#define TACHYFITS_HDU_IMAGE 1

// A binary table.
#define TACHYFITS_HDU_BINARY_TABLE 2

// An ASCII table.
#define TACHYFITS_HDU_ASCII_TABLE 3

// Positioned reads: the default.
#define TACHYFITS_STORAGE_READ 0

// A memory map if that is faster than reading. Installs a SIGBUS handler, for files that another program truncates.
#define TACHYFITS_STORAGE_AUTO 1

// A memory map, with the same SIGBUS handler.
#define TACHYFITS_STORAGE_MAP 2

// Reads that bypass the page cache, for files larger than memory.
#define TACHYFITS_STORAGE_DIRECT 3

// Read the whole file into memory when it is opened.
#define TACHYFITS_STORAGE_MEMORY 4

// Reject every file that violates the Standard; the default is to read such files with warnings.
#define TACHYFITS_STRICT 1

// Show compressed HDUs as the tables in which they are stored.
#define TACHYFITS_RAW 2

// Replace an existing file when the new one is complete.
#define TACHYFITS_OVERWRITE 4

// Write CHECKSUM and DATASUM.
#define TACHYFITS_CHECKSUM 8

// Use stored numbers, without scaling.
#define TACHYFITS_STORED 16

// Compress a new file with gzip: for names that end in ".gz".
#define TACHYFITS_GZIP 32

// NaN and BLANK count as undefined pixels.
#define TACHYFITS_NULLS_NAN 0

// A circle: `x`, `y` and the radius `a`.
#define TACHYFITS_CIRCLE 1

// An ellipse: `x`, `y`, semi-axes `a` and `b`, `angle` in degrees from the x axis towards y.
#define TACHYFITS_ELLIPSE 2

// A rectangle: centre `x`, `y`, width `a`, height `b`, `angle` in degrees from the x axis towards y.
#define TACHYFITS_BOX 3

// A polygon: its corners in `corners`: x, y, x, y, …
#define TACHYFITS_POLYGON 4

// Changes of a file, written together.
typedef struct tachyfits_editor tachyfits_editor;

// An open file, which never changes: threads may share it.
typedef struct tachyfits_file tachyfits_file;

// The cards of an HDU, or of one to be written.
typedef struct tachyfits_header tachyfits_header;

// A request that any thread can cancel: for one or several operations.
typedef struct tachyfits_job tachyfits_job;

// A new file, which gets its name when it is committed.
typedef struct tachyfits_writer tachyfits_writer;

// Counts and flags of undefined pixels, filled when pixels are read.
typedef struct tachyfits_nulls {
    // sizeof(tachyfits_nulls), set by the caller.
    uint32_t bytes;
    // Definition of undefined pixels: TACHYFITS_NULLS_NAN.
    int32_t policy;
    // Receives a byte for each pixel, 1 if it is undefined; may be NULL.
    uint8_t *flags;
    // Size of `flags` in bytes: one for each pixel.
    size_t room;
    // Set to the number of undefined pixels.
    uint64_t count;
} tachyfits_nulls;

// Encoding of the pixels of a new image.
typedef struct tachyfits_encoding {
    // sizeof(tachyfits_encoding).
    uint32_t bytes;
    // TACHYFITS_…: type of the stored pixels, including the unsigned conventions.
    int32_t pixel_type;
    // 1 if `scale` and `zero` are used: only for types without the unsigned conventions.
    uint32_t is_scaled;
    // 1 if `blank` is used: only for integers.
    uint32_t has_blank;
    // BSCALE.
    double scale;
    // BZERO.
    double zero;
    // BLANK: stored integer of undefined pixels.
    int64_t blank;
} tachyfits_encoding;

// How to open, read or write; NULL means the defaults, which are zeros.
typedef struct tachyfits_options {
    // sizeof(tachyfits_options).
    uint32_t bytes;
    // Maximum number of threads of an operation; 0 means one per core.
    uint32_t threads;
    // TACHYFITS_STORAGE_…
    int32_t storage;
    // Sum of TACHYFITS_STRICT and other flags.
    uint32_t flags;
    // Job that can cancel the operation from another thread; may be NULL.
    const struct tachyfits_job *job;
    // Receives the number of undefined pixels, and a flag for each pixel; may be NULL.
    struct tachyfits_nulls *nulls;
    // Encoding of a new image's pixels: physical values are scaled and rounded, NaN becomes BLANK; pixels that already
    // have the stored type are copied. NULL: store pixels in the type they have.
    const struct tachyfits_encoding *encoding;
} tachyfits_options;

// An error: filled if a function returns more than 0.
typedef struct tachyfits_error {
    // TACHYFITS_ERROR_…, the return value of the function.
    int32_t kind;
    // The stable code of the error, such as "no-such-hdu".
    char code[44];
    // File, HDU, keyword or byte, expected and actual value; UTF-8.
    char message[720];
    // Advice; may be empty.
    char hint[256];
} tachyfits_error;

// Facts about an HDU.
typedef struct tachyfits_facts {
    // sizeof(tachyfits_facts), set by the caller.
    uint32_t bytes;
    // TACHYFITS_HDU_…
    int32_t kind;
    // Type of the pixels when read without conversion; 0 if there are none.
    int32_t pixel_type;
    // Type of the stored pixels.
    int32_t stored_type;
    // Number of axes of the image; 0 without data.
    uint32_t naxis;
    // 1 if BSCALE and BZERO are more than an unsigned convention.
    uint32_t is_scaled;
    // BSCALE.
    double scale;
    // BZERO.
    double zero;
    // 1 if BLANK is defined.
    uint32_t has_blank;
    // 1 if the HDU is stored compressed.
    uint32_t is_compressed;
    // BLANK.
    int64_t blank;
    // Lengths of the first 8 axes; 1 for missing axes.
    uint64_t axes[8];
    // Number of pixels of the image.
    uint64_t pixels;
    // Number of rows of the table.
    uint64_t rows;
    // Number of columns of the table.
    uint64_t columns;
    // EXTVER; 1 if absent.
    int64_t extver;
    // EXTNAME.
    char extname[72];
} tachyfits_facts;

// A range of pixels of one axis.
typedef struct tachyfits_range {
    // First pixel, from 0.
    uint64_t first;
    // Number of pixels.
    uint64_t count;
    // Step from one pixel to the next; may be negative. 0 means 1.
    int64_t step;
} tachyfits_range;

// A shape in the plane of NAXIS1 and NAXIS2, in pixel coordinates from 0; pixel centres are whole numbers.
typedef struct tachyfits_region {
    // sizeof(tachyfits_region).
    uint32_t bytes;
    // TACHYFITS_CIRCLE or another shape.
    int32_t shape;
    // Centre along NAXIS1.
    double x;
    // Centre along NAXIS2.
    double y;
    // Radius, semi-axis or width.
    double a;
    // The other semi-axis, or the height.
    double b;
    // Degrees from the x axis towards y.
    double angle;
    // Corners of a polygon: x, y, x, y, …
    const double *corners;
    // Number of corners.
    size_t corner_count;
} tachyfits_region;

// Statistics of pixels; NaN and BLANK are counted in `undefined` and otherwise ignored.
typedef struct tachyfits_stats {
    // sizeof(tachyfits_stats), set by the caller.
    uint32_t bytes;
    // Always 0.
    uint32_t reserved;
    // Number of defined pixels.
    uint64_t count;
    // Number of undefined pixels.
    uint64_t undefined;
    // Sum; 0 if no pixel is defined.
    double sum;
    // Mean; this and the following are NaN if no pixel is defined.
    double mean;
    // Root mean square about zero.
    double rms;
    // Standard deviation about the mean, divisor `count`.
    double std;
    // Smallest value.
    double min;
    // Largest value.
    double max;
    // Index, within the section, of the first smallest pixel; -1 if none is defined.
    int64_t min_position;
    // Index, within the section, of the first largest pixel; -1 if none is defined.
    int64_t max_position;
} tachyfits_stats;

// Facts about a column.
typedef struct tachyfits_column_facts {
    // sizeof(tachyfits_column_facts), set by the caller.
    uint32_t bytes;
    // Type of the elements when read.
    int32_t cell_type;
    // Elements per cell; 1 for text, 0 for variable-length arrays.
    uint64_t elements;
    // Bytes of a cell when read; 0 for variable-length arrays.
    uint64_t cell_bytes;
    // Lengths of a cell's axes, at most 8, in FITS order.
    uint64_t shape[8];
    // Number of axes in `shape`; 0 for single elements.
    uint32_t dimensions;
    // 1 if the cells are variable-length arrays: see tachyfits_read_arrays.
    uint32_t is_variable;
    // 1 if elements may be null.
    uint32_t is_nullable;
    // Always 0.
    uint32_t reserved;
    // TTYPEn.
    char name[72];
    // TUNITn.
    char unit[72];
    // TFORMn.
    char form[72];
} tachyfits_column_facts;

// A column to read, and the caller's arrays for it.
typedef struct tachyfits_column {
    // sizeof(tachyfits_column).
    uint32_t bytes;
    // Number of the column, from 0.
    int32_t column;
    // TACHYFITS_…: type of the cells, as tachyfits_column_describe returns it, or for numbers another type: null
    // elements are NaN in floats; integer types must represent every number that is not null.
    int32_t cell_type;
    // 1 for stored numbers, without TSCAL and TZERO.
    int32_t stored;
    // Receives the cells, one after another.
    void *values;
    // Size of `values` in bytes.
    size_t room;
    // Receives a byte for each element, 1 if it is null; may be NULL.
    uint8_t *nulls;
    // Set to the number of null elements.
    uint64_t null_count;
} tachyfits_column;

// Variable-length arrays: row r has the elements offsets[r] to offsets[r + 1] of `values`.
typedef struct tachyfits_arrays {
    // rows + 1 numbers.
    int64_t *offsets;
    // Number of offsets.
    size_t offset_count;
    // Elements, in native byte order.
    uint8_t *values;
    // Size of `values` in bytes.
    size_t value_bytes;
    // A byte for each element, 1 if it is null; NULL if no element can be null.
    uint8_t *nulls;
    // Size of `nulls` in bytes.
    size_t null_bytes;
    // Type of the elements.
    int32_t cell_type;
} tachyfits_arrays;

// A column of a new table.
typedef struct tachyfits_new_column {
    // sizeof(tachyfits_new_column).
    uint32_t bytes;
    // Always 0.
    uint32_t reserved;
    // TTYPEn.
    const char *name;
    // TFORMn of a binary table, such as "1E", "20A" or "3J"; unsigned integers and signed bytes have the letters U (16
    // bits), V (32 bits), W (64 bits) and S (bytes), as in CFITSIO.
    const char *form;
    // TUNITn; may be NULL.
    const char *unit;
} tachyfits_new_column;

// Cells of a column to write.
typedef struct tachyfits_cells {
    // Cells, one after another, in native byte order; text is padded with NUL or blanks.
    const void *values;
    // Size of `values` in bytes.
    size_t bytes;
    // A byte for each element, 1 if it is null; may be NULL.
    const uint8_t *nulls;
    // For variable-length arrays, rows + 1 numbers: the index among the elements of `values` at which the array of
    // each row begins, and the end of the last array; otherwise NULL.
    const int64_t *offsets;
} tachyfits_cells;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Export rows of a table as a stream of Arrow batches, for pyarrow, polars, DuckDB and others: `count` columns, or all
// if `columns` is NULL; of `rows` rows from `first` (UINT64_MAX: to the end) those that satisfy `condition`, which may
// be NULL; `batch_rows` rows are read at a time (0: 100000). The consumer releases the stream; the file may be closed
// before.
//
// Array cells are fixed-size lists, nested in C order, cells of different lengths large lists, complex numbers lists
// of two floats, text UTF-8. Units, descriptions and TFORMn are in the metadata of the fields.
int32_t tachyfits_export_arrow(const struct tachyfits_file *file,
                               size_t hdu,
                               const int32_t *columns,
                               size_t count,
                               const char *condition,
                               uint64_t first,
                               uint64_t rows,
                               uint64_t batch_rows,
                               struct ArrowArrayStream *stream,
                               const struct tachyfits_options *options,
                               struct tachyfits_error *error);

// Open a file and read its headers. gzip content is inflated. Free it with tachyfits_close.
int32_t tachyfits_open(const char *path_name,
                       const struct tachyfits_options *options,
                       struct tachyfits_file **file,
                       struct tachyfits_error *error);

// Open the bytes of a file, which are copied; `name` is used in messages and may be NULL.
int32_t tachyfits_open_memory(const uint8_t *bytes,
                              size_t count,
                              const char *name,
                              const struct tachyfits_options *options,
                              struct tachyfits_file **file,
                              struct tachyfits_error *error);

// Create another handle of an open file, to be closed separately: for copies of objects in C++ and other languages.
int32_t tachyfits_file_copy(const struct tachyfits_file *file,
                            struct tachyfits_file **copy,
                            struct tachyfits_error *error);

// Close a file.
void tachyfits_close(struct tachyfits_file *file);

// Return the number of HDUs; 0 for NULL.
size_t tachyfits_hdus(const struct tachyfits_file *file);

// Find the first HDU with this EXTNAME, in either case, and with this EXTVER unless it is 0.
int32_t tachyfits_find(const struct tachyfits_file *file,
                       const char *extname,
                       int64_t extver,
                       size_t *hdu,
                       struct tachyfits_error *error);

// Describe an HDU. Set facts.bytes to sizeof(tachyfits_facts) first.
int32_t tachyfits_describe(const struct tachyfits_file *file,
                           size_t hdu,
                           struct tachyfits_facts *facts,
                           struct tachyfits_error *error);

// Store the lengths of an image's axes, NAXIS1 first, as many as fit in `room`, and their number.
int32_t tachyfits_axes(const struct tachyfits_file *file,
                       size_t hdu,
                       uint64_t *lengths,
                       size_t room,
                       size_t *naxis,
                       struct tachyfits_error *error);

// Return a warning about the file, by number from 0; NULL after the last one. Free it with tachyfits_text_free.
char *tachyfits_warning(const struct tachyfits_file *file,
                        size_t number);

// Copy the header of an HDU; for a compressed image, that of the image. Free it with tachyfits_header_free.
int32_t tachyfits_header_of(const struct tachyfits_file *file,
                            size_t hdu,
                            struct tachyfits_header **header,
                            struct tachyfits_error *error);

// Make an empty header.
int32_t tachyfits_header_new(struct tachyfits_header **header, struct tachyfits_error *error);

// Copy a header; every card stays unchanged.
int32_t tachyfits_header_copy(const struct tachyfits_header *header,
                              struct tachyfits_header **copy,
                              struct tachyfits_error *error);

// Free a header.
void tachyfits_header_free(struct tachyfits_header *header);

// Store the integer of a card; return TACHYFITS_ABSENT if the card is missing.
int32_t tachyfits_get_i64(const struct tachyfits_header *header,
                          const char *keyword,
                          int64_t *value,
                          struct tachyfits_error *error);

// Store the number of a card; return TACHYFITS_ABSENT if the card is missing.
int32_t tachyfits_get_f64(const struct tachyfits_header *header,
                          const char *keyword,
                          double *value,
                          struct tachyfits_error *error);

// Store 1 for T and 0 for F; return TACHYFITS_ABSENT if the card is missing.
int32_t tachyfits_get_logical(const struct tachyfits_header *header,
                              const char *keyword,
                              int *value,
                              struct tachyfits_error *error);

// Copy the text of a card, UTF-8 with NUL, truncated to `room` bytes; store its whole length if `length` is not NULL.
// Return TACHYFITS_ABSENT if the card is missing.
int32_t tachyfits_get_text(const struct tachyfits_header *header,
                           const char *keyword,
                           char *buffer,
                           size_t room,
                           size_t *length,
                           struct tachyfits_error *error);

// Return the number of cards; 0 for NULL.
size_t tachyfits_cards(const struct tachyfits_header *header);

// Store keyword, value and comment of a card as texts, each freed with tachyfits_text_free. Return TACHYFITS_ABSENT
// after the last card.
int32_t tachyfits_card(const struct tachyfits_header *header,
                       size_t number,
                       char **keyword,
                       char **value,
                       char **comment,
                       struct tachyfits_error *error);

// Store all cards as text of 80 characters each, END included, for WCSLIB; free it with tachyfits_text_free.
int32_t tachyfits_header_text(const struct tachyfits_header *header,
                              char **cards,
                              struct tachyfits_error *error);

// Set a card to an integer; `comment` may be NULL.
int32_t tachyfits_set_i64(struct tachyfits_header *header,
                          const char *keyword,
                          int64_t value,
                          const char *comment,
                          struct tachyfits_error *error);

// Set a card to a number.
int32_t tachyfits_set_f64(struct tachyfits_header *header,
                          const char *keyword,
                          double value,
                          const char *comment,
                          struct tachyfits_error *error);

// Set a card to T (not 0) or F.
int32_t tachyfits_set_logical(struct tachyfits_header *header,
                              const char *keyword,
                              int value,
                              const char *comment,
                              struct tachyfits_error *error);

// Set a card to text of any length.
int32_t tachyfits_set_text(struct tachyfits_header *header,
                           const char *keyword,
                           const char *value,
                           const char *comment,
                           struct tachyfits_error *error);

// Add lines of COMMENT or HISTORY.
int32_t tachyfits_add_commentary(struct tachyfits_header *header,
                                 const char *keyword,
                                 const char *words,
                                 struct tachyfits_error *error);

// Remove the cards of a keyword; return TACHYFITS_ABSENT if there are none.
int32_t tachyfits_remove(struct tachyfits_header *header,
                         const char *keyword,
                         struct tachyfits_error *error);

// Read pixels into an array of `bytes` bytes, the first axis the fastest.
//
// TACHYFITS_FLOAT and TACHYFITS_DOUBLE are physical values, NaN if undefined (NaN or BLANK). An integer type must
// represent every pixel, or an error is returned; to read without conversion, use pixel_type of tachyfits_describe, or
// stored_type with the flag TACHYFITS_STORED. `nulls` of the options receives the number of undefined pixels, and a
// flag for each pixel.
int32_t tachyfits_read(const struct tachyfits_file *file,
                       size_t hdu,
                       const struct tachyfits_range *ranges,
                       int32_t pixel,
                       void *out,
                       size_t bytes,
                       const struct tachyfits_options *options,
                       struct tachyfits_error *error);

// Read a run of pixels in file order, by the number of the first pixel and their count, like tachyfits_read.
int32_t tachyfits_read_run(const struct tachyfits_file *file,
                           size_t hdu,
                           uint64_t first,
                           uint64_t count,
                           int32_t pixel,
                           void *out,
                           size_t bytes,
                           const struct tachyfits_options *options,
                           struct tachyfits_error *error);

// Read pixels, like tachyfits_read, into new memory with type and shape, in C order (NAXIS1 is the last axis): for
// NumPy, PyTorch and others. Its `deleter` frees it.
int32_t tachyfits_read_dlpack(const struct tachyfits_file *file,
                              size_t hdu,
                              const struct tachyfits_range *ranges,
                              int32_t pixel,
                              struct DLManagedTensorVersioned **tensor,
                              const struct tachyfits_options *options,
                              struct tachyfits_error *error);

// Compute statistics in one pass. Set stats.bytes to sizeof(tachyfits_stats) first.
int32_t tachyfits_statistics(const struct tachyfits_file *file,
                             size_t hdu,
                             const struct tachyfits_range *ranges,
                             const struct tachyfits_region *region,
                             struct tachyfits_stats *stats,
                             const struct tachyfits_options *options,
                             struct tachyfits_error *error);

// Compute exact quantiles: `fractions` are from 0 to 1, 0.5 is the median; store one number for each, NaN if no pixel
// is defined.
int32_t tachyfits_quantiles(const struct tachyfits_file *file,
                            size_t hdu,
                            const struct tachyfits_range *ranges,
                            const struct tachyfits_region *region,
                            const double *fractions,
                            double *out,
                            size_t count,
                            const struct tachyfits_options *options,
                            struct tachyfits_error *error);

// Count pixels in equal bins from `low` to `high`, including the upper edge; `rest`, which may be NULL, receives 3
// numbers: the undefined pixels, those below and those above.
int32_t tachyfits_histogram(const struct tachyfits_file *file,
                            size_t hdu,
                            const struct tachyfits_range *ranges,
                            const struct tachyfits_region *region,
                            double low,
                            double high,
                            uint64_t *counts,
                            size_t bins,
                            uint64_t *rest,
                            const struct tachyfits_options *options,
                            struct tachyfits_error *error);

// Reduce axes (0 is NAXIS1) by a statistic: "mean", "std", "median", "percentile90" and others; the error of an
// unknown name lists them. `out` has space for `room` numbers, one for each pixel of the other axes; a region is in
// the plane of NAXIS1 and NAXIS2, both of which are then reduced.
int32_t tachyfits_reduce(const struct tachyfits_file *file,
                         size_t hdu,
                         const struct tachyfits_range *ranges,
                         const struct tachyfits_region *region,
                         const size_t *axes,
                         size_t axis_count,
                         const char *statistic,
                         double *out,
                         size_t room,
                         const struct tachyfits_options *options,
                         struct tachyfits_error *error);

// Create an image from an expression such as "where(a > 3 * b, a, nan)" of named images: a file of one HDU whose
// pixels are computed on reading. The input files may be closed before it.
int32_t tachyfits_evaluate(const char *expression,
                           const char *const *names,
                           const struct tachyfits_file *const *files,
                           const size_t *hdus,
                           size_t count,
                           struct tachyfits_file **result,
                           struct tachyfits_error *error);

// Cut a section out of an image: a file of one HDU, with its coordinates, read on use.
int32_t tachyfits_cut(const struct tachyfits_file *file,
                      size_t hdu,
                      const struct tachyfits_range *ranges,
                      struct tachyfits_file **result,
                      struct tachyfits_error *error);

// Reorder the axes of an image: the new axis n is axis `order[n]`, 0 for NAXIS1, of `naxis` axes; a file of one HDU,
// with its coordinates, read on use.
int32_t tachyfits_reorder(const struct tachyfits_file *file,
                          size_t hdu,
                          const size_t *order,
                          size_t naxis,
                          struct tachyfits_file **result,
                          struct tachyfits_error *error);

// Replace the cards of an image, except those of its structure and scaling; a file of one HDU, read on use.
int32_t tachyfits_with_header(const struct tachyfits_file *file,
                              size_t hdu,
                              const struct tachyfits_header *header,
                              struct tachyfits_file **result,
                              struct tachyfits_error *error);

// Smooth an image along an axis: "hanning", "boxcar" (`width` pixels) or "gaussian" (`width` is its sigma in pixels);
// a file of one HDU, computed on reading.
int32_t tachyfits_smooth(const struct tachyfits_file *file,
                         size_t hdu,
                         size_t axis,
                         const char *kernel,
                         double width,
                         struct tachyfits_file **result,
                         struct tachyfits_error *error);

// Return the version of the library as static text, which must not be freed.
const char *tachyfits_version(void);

// Return the version of the interface: a program compiled with another version is incompatible.
uint32_t tachyfits_abi(void);

// Set the default number of threads in this process, for operations whose options have 0; 0 means one per core.
void tachyfits_set_threads(uint32_t threads);

// Permit (not 0, the default) or forbid memory maps in this process: if forbidden, TACHYFITS_STORAGE_AUTO reads, and
// TACHYFITS_STORAGE_MAP is an error.
void tachyfits_allow_maps(int allowed);

// Describe an error code of the library, by number from 0: its kind, code, meaning (`message`) and hint. Return
// TACHYFITS_ABSENT after the last one.
int32_t tachyfits_error_code(size_t number,
                             struct tachyfits_error *entry);

// Create a job, which tachyfits_job_cancel can end from another thread.
int32_t tachyfits_job_new(struct tachyfits_job **job, struct tachyfits_error *error);

// Cancel every operation of a job; each ends soon with TACHYFITS_ERROR_CANCELLED.
void tachyfits_job_cancel(const struct tachyfits_job *job);

// Free a job that no operation uses any more.
void tachyfits_job_free(struct tachyfits_job *job);

// Free text that the library returned.
void tachyfits_text_free(char *text);

#if defined(TACHYFITS_TEST_PANIC)
// Panic, for the test that a panic becomes an error.
int32_t tachyfits_test_panic(struct tachyfits_error *error);
#endif

// Find a column by its name, in either case.
int32_t tachyfits_column_find(const struct tachyfits_file *file,
                              size_t hdu,
                              const char *name,
                              int32_t *column,
                              struct tachyfits_error *error);

// Describe a column. Set facts.bytes to sizeof(tachyfits_column_facts) first.
int32_t tachyfits_column_describe(const struct tachyfits_file *file,
                                  size_t hdu,
                                  int32_t column,
                                  struct tachyfits_column_facts *column_facts,
                                  struct tachyfits_error *error);

// Read columns of `rows` rows from `first`, all in one pass over the rows, into the arrays of `columns`.
int32_t tachyfits_read_columns(const struct tachyfits_file *file,
                               size_t hdu,
                               struct tachyfits_column *columns,
                               size_t count,
                               uint64_t first,
                               uint64_t rows,
                               const struct tachyfits_options *options,
                               struct tachyfits_error *error);

// Find the rows from `first` that satisfy a condition, such as "MAG < 20 && CLASS == 'STAR'": store their numbers from
// 0, freed with tachyfits_rows_free.
int32_t tachyfits_rows_where(const struct tachyfits_file *file,
                             size_t hdu,
                             const char *condition,
                             uint64_t first,
                             uint64_t rows,
                             uint64_t **found,
                             size_t *count,
                             const struct tachyfits_options *options,
                             struct tachyfits_error *error);

// Free the numbers of rows.
void tachyfits_rows_free(uint64_t *rows, size_t count);

// Read the arrays of a variable-length column; free them with tachyfits_arrays_free.
int32_t tachyfits_read_arrays(const struct tachyfits_file *file,
                              size_t hdu,
                              int32_t column,
                              uint64_t first,
                              uint64_t rows,
                              struct tachyfits_arrays *arrays,
                              const struct tachyfits_options *options,
                              struct tachyfits_error *error);

// Free the arrays that tachyfits_read_arrays stored.
void tachyfits_arrays_free(struct tachyfits_arrays *arrays);

// Create a new file, which appears under its name with tachyfits_commit. An existing file is an error without the flag
// TACHYFITS_OVERWRITE. NULL creates a temporary file without a name, for tachyfits_commit_open.
int32_t tachyfits_create(const char *path_name,
                         const struct tachyfits_options *options,
                         struct tachyfits_writer **writer,
                         struct tachyfits_error *error);

// Write an image as the next HDU. `axes` has `naxis` lengths, NAXIS1 first; `header`, which may be NULL, contains its
// cards except those of the structure; `compression` is NULL, or "RICE_1", "GZIP_1", "GZIP_2", "PLIO_1",
// "HCOMPRESS_1". `encoding` of the options determines how pixels are stored.
int32_t tachyfits_write_image(struct tachyfits_writer *writer,
                              const struct tachyfits_header *header,
                              int32_t pixel,
                              size_t naxis,
                              const uint64_t *axes,
                              const void *pixels,
                              size_t bytes,
                              const char *compression,
                              const struct tachyfits_options *options,
                              struct tachyfits_error *error);

// Begin a binary table as the next HDU; rows follow with tachyfits_write_rows.
int32_t tachyfits_begin_table(struct tachyfits_writer *writer,
                              const struct tachyfits_header *header,
                              const struct tachyfits_new_column *columns,
                              size_t count,
                              struct tachyfits_error *error);

// Write rows: the cells of every column.
int32_t tachyfits_write_rows(struct tachyfits_writer *writer,
                             const struct tachyfits_cells *cells,
                             size_t count,
                             uint64_t rows,
                             const struct tachyfits_options *options,
                             struct tachyfits_error *error);

// End a table. The next HDU and tachyfits_commit end it as well.
int32_t tachyfits_end_table(struct tachyfits_writer *writer, struct tachyfits_error *error);

// Copy an HDU of a file, which may be a computed one, as the next HDU.
int32_t tachyfits_copy_hdu(struct tachyfits_writer *writer,
                           const struct tachyfits_file *file,
                           size_t hdu,
                           const struct tachyfits_options *options,
                           struct tachyfits_error *error);

// Copy an HDU with other cards, except those of its structure and scaling.
int32_t tachyfits_copy_with_header(struct tachyfits_writer *writer,
                                   const struct tachyfits_file *file,
                                   size_t hdu,
                                   const struct tachyfits_header *header,
                                   const struct tachyfits_options *options,
                                   struct tachyfits_error *error);

// Give the new file its name, and free the writer; after an error no file is created or replaced.
int32_t tachyfits_commit(struct tachyfits_writer *writer, struct tachyfits_error *error);

// Complete the new file, open it, and free the writer. A file without a name exists until it is closed.
int32_t tachyfits_commit_open(struct tachyfits_writer *writer,
                              struct tachyfits_file **file,
                              struct tachyfits_error *error);

// Free a writer without writing its file.
void tachyfits_abandon(struct tachyfits_writer *writer);

// Begin changes of a file, which tachyfits_edit_commit writes: all, or none.
int32_t tachyfits_edit(const char *path_name,
                       struct tachyfits_editor **editor,
                       struct tachyfits_error *error);

// Set a card of an HDU to an integer; a NULL `comment` keeps the existing comment.
int32_t tachyfits_edit_i64(struct tachyfits_editor *editor,
                           size_t hdu,
                           const char *keyword,
                           int64_t value,
                           const char *comment,
                           struct tachyfits_error *error);

// Set a card of an HDU to a number.
int32_t tachyfits_edit_f64(struct tachyfits_editor *editor,
                           size_t hdu,
                           const char *keyword,
                           double value,
                           const char *comment,
                           struct tachyfits_error *error);

// Set a card of an HDU to T (not 0) or F.
int32_t tachyfits_edit_logical(struct tachyfits_editor *editor,
                               size_t hdu,
                               const char *keyword,
                               int value,
                               const char *comment,
                               struct tachyfits_error *error);

// Set a card of an HDU to text.
int32_t tachyfits_edit_text(struct tachyfits_editor *editor,
                            size_t hdu,
                            const char *keyword,
                            const char *value,
                            const char *comment,
                            struct tachyfits_error *error);

// Remove the cards of a keyword; return TACHYFITS_ABSENT if there are none.
int32_t tachyfits_edit_remove(struct tachyfits_editor *editor,
                              size_t hdu,
                              const char *keyword,
                              struct tachyfits_error *error);

// Replace pixels of a section; `ranges`, whose steps must not be negative, may be NULL for all pixels. `type` is the
// image's own (pixel_type of tachyfits_describe, or stored_type with the flag TACHYFITS_STORED), or TACHYFITS_FLOAT or
// TACHYFITS_DOUBLE for physical values, which are scaled and rounded, NaN to BLANK. DATAMIN and DATAMAX are removed.
int32_t tachyfits_edit_pixels(struct tachyfits_editor *editor,
                              size_t hdu,
                              const struct tachyfits_range *ranges,
                              size_t naxis,
                              int32_t pixel,
                              const void *pixels,
                              size_t bytes,
                              const struct tachyfits_options *options,
                              struct tachyfits_error *error);

// Replace cells of a column: in `count` rows, whose numbers from 0 are in `rows`, or from row `first` on if `rows` is
// NULL.
int32_t tachyfits_edit_cells(struct tachyfits_editor *editor,
                             size_t hdu,
                             int32_t column,
                             const uint64_t *rows,
                             uint64_t first,
                             uint64_t count,
                             const struct tachyfits_cells *cells,
                             const struct tachyfits_options *options,
                             struct tachyfits_error *error);

// Append rows to a table: the cells of every column.
int32_t tachyfits_append_rows(struct tachyfits_editor *editor,
                              size_t hdu,
                              const struct tachyfits_cells *cells,
                              size_t count,
                              uint64_t rows,
                              const struct tachyfits_options *options,
                              struct tachyfits_error *error);

// Write all changes and free the editor; after an error the file is unchanged.
int32_t tachyfits_edit_commit(struct tachyfits_editor *editor,
                              const struct tachyfits_options *options,
                              struct tachyfits_error *error);

// Free an editor without changing the file.
void tachyfits_edit_abandon(struct tachyfits_editor *editor);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TACHYFITS_H */
