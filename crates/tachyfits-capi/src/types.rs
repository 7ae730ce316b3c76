//! Structs and constants of the C interface. Each struct that the caller fills begins with its size, so that members
//! can be added.

use std::ffi::{c_char, c_void};

use tachyfits::{CancelToken, Executor, Job, PixelType};

/// No error.
pub const TACHYFITS_OK: i32 = 0;
/// The file cannot be read or written.
pub const TACHYFITS_ERROR_IO: i32 = 1;
/// The contents of the file break the FITS Standard.
pub const TACHYFITS_ERROR_FORMAT: i32 = 2;
/// The request is invalid for these data.
pub const TACHYFITS_ERROR_USAGE: i32 = 3;
/// The request exceeds a limit or the memory.
pub const TACHYFITS_ERROR_LIMIT: i32 = 4;
/// The job was cancelled.
pub const TACHYFITS_ERROR_CANCELLED: i32 = 5;
/// A fault of the library.
pub const TACHYFITS_ERROR_INTERNAL: i32 = 6;
/// The header has no such card: not an error, and the error is not filled.
pub const TACHYFITS_ABSENT: i32 = -1;

/// Types of pixels and cells.
pub const TACHYFITS_UINT8: i32 = 1;
/// Signed bytes (BITPIX = 8 with BZERO = -128).
pub const TACHYFITS_INT8: i32 = 2;
/// Unsigned 16-bit integers (BZERO = 32768).
pub const TACHYFITS_UINT16: i32 = 3;
/// 16-bit integers.
pub const TACHYFITS_INT16: i32 = 4;
/// Unsigned 32-bit integers (BZERO = 2147483648).
pub const TACHYFITS_UINT32: i32 = 5;
/// 32-bit integers.
pub const TACHYFITS_INT32: i32 = 6;
/// Unsigned 64-bit integers (BZERO = 9223372036854775808).
pub const TACHYFITS_UINT64: i32 = 7;
/// 64-bit integers.
pub const TACHYFITS_INT64: i32 = 8;
/// 32-bit floats: physical values, NaN where a pixel is undefined (NaN or BLANK).
pub const TACHYFITS_FLOAT: i32 = 9;
/// 64-bit floats: physical values, NaN where a pixel is undefined (NaN or BLANK).
pub const TACHYFITS_DOUBLE: i32 = 10;
/// Cells of logical values: a byte, 1 or 0.
pub const TACHYFITS_BOOL: i32 = 11;
/// Cells of text: as many bytes as the column is wide, padded with NUL.
pub const TACHYFITS_COMPLEX_FLOAT: i32 = 12;
/// Cells of two 64-bit floats.
pub const TACHYFITS_COMPLEX_DOUBLE: i32 = 13;
/// Cells of text: as many bytes as the column is wide, padded with NUL.
pub const TACHYFITS_TEXT: i32 = 14;

/// An HDU without data, or of a kind that can only be copied.
pub const TACHYFITS_HDU_OTHER: i32 = 0;
/// An image: the primary array, an IMAGE extension or a tile-compressed image.
pub const TACHYFITS_HDU_IMAGE: i32 = 1;
/// A binary table.
pub const TACHYFITS_HDU_BINARY_TABLE: i32 = 2;
/// An ASCII table.
pub const TACHYFITS_HDU_ASCII_TABLE: i32 = 3;

/// Positioned reads: the default.
pub const TACHYFITS_STORAGE_READ: i32 = 0;
/// A memory map if that is faster than reading. Installs a SIGBUS handler, for files that another program truncates.
pub const TACHYFITS_STORAGE_AUTO: i32 = 1;
/// A memory map, with the same SIGBUS handler.
pub const TACHYFITS_STORAGE_MAP: i32 = 2;
/// Reads that bypass the page cache, for files larger than memory.
pub const TACHYFITS_STORAGE_DIRECT: i32 = 3;
/// Read the whole file into memory when it is opened.
pub const TACHYFITS_STORAGE_MEMORY: i32 = 4;

/// Reject every file that violates the Standard; the default is to read such files with warnings.
pub const TACHYFITS_STRICT: u32 = 1;
/// Show compressed HDUs as the tables in which they are stored.
pub const TACHYFITS_RAW: u32 = 2;
/// Replace an existing file when the new one is complete.
pub const TACHYFITS_OVERWRITE: u32 = 4;
/// Write CHECKSUM and DATASUM.
pub const TACHYFITS_CHECKSUM: u32 = 8;
/// Use stored numbers, without scaling.
pub const TACHYFITS_STORED: u32 = 16;

/// Compress a new file with gzip: for names that end in ".gz".
pub const TACHYFITS_GZIP: u32 = 32;

/// NaN and BLANK count as undefined pixels.
pub const TACHYFITS_NULLS_NAN: i32 = 0;

/// A circle: `x`, `y` and the radius `a`.
pub const TACHYFITS_CIRCLE: i32 = 1;
/// An ellipse: `x`, `y`, semi-axes `a` and `b`, `angle` in degrees from the x axis towards y.
pub const TACHYFITS_ELLIPSE: i32 = 2;
/// A rectangle: centre `x`, `y`, width `a`, height `b`, `angle` in degrees from the x axis towards y.
pub const TACHYFITS_BOX: i32 = 3;
/// A polygon: its corners in `corners`: x, y, x, y, …
pub const TACHYFITS_POLYGON: i32 = 4;

/// A request that any thread can cancel: for one or several operations.
pub struct JobHandle(pub(crate) Job);

impl JobHandle {
    pub(crate) fn new() -> JobHandle {
        JobHandle(Job::on(&Executor::of_process()).with_token(CancelToken::new()))
    }

    pub(crate) fn cancel(&self) {
        self.0.token().cancel();
    }
}

/// An error: filled if a function returns more than 0.
#[repr(C)]
pub struct CError {
    /// TACHYFITS_ERROR_…, the return value of the function.
    pub kind: i32,
    /// The stable code of the error, such as "no-such-hdu".
    pub code: [c_char; 44],
    /// File, HDU, keyword or byte, expected and actual value; UTF-8.
    pub message: [c_char; 720],
    /// Advice; may be empty.
    pub hint: [c_char; 256],
}

/// How to open, read or write; NULL means the defaults, which are zeros.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct COptions {
    /// sizeof(tachyfits_options).
    pub bytes: u32,
    /// Maximum number of threads of an operation; 0 means one per core.
    pub threads: u32,
    /// TACHYFITS_STORAGE_…
    pub storage: i32,
    /// Sum of TACHYFITS_STRICT and other flags.
    pub flags: u32,
    /// Job that can cancel the operation from another thread; may be NULL.
    pub job: *const JobHandle,
    /// Receives the number of undefined pixels, and a flag for each pixel; may be NULL.
    pub nulls: *mut CNulls,
    /// Encoding of a new image's pixels: physical values are scaled and rounded, NaN becomes BLANK; pixels that already
    /// have the stored type are copied. NULL: store pixels in the type they have.
    pub encoding: *const CEncoding,
}

impl COptions {
    /// Size of the first version, which ended with `job`.
    pub(crate) const LEAST: usize = std::mem::offset_of!(COptions, nulls);

    /// Returns the defaults.
    pub(crate) const fn new() -> COptions {
        COptions {
            bytes: size_of::<COptions>() as u32,
            threads: 0,
            storage: 0,
            flags: 0,
            job: std::ptr::null(),
            nulls: std::ptr::null_mut(),
            encoding: std::ptr::null(),
        }
    }
}

/// A range of pixels of one axis.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CRange {
    /// First pixel, from 0.
    pub first: u64,
    /// Number of pixels.
    pub count: u64,
    /// Step from one pixel to the next; may be negative. 0 means 1.
    pub step: i64,
}

/// Counts and flags of undefined pixels, filled when pixels are read.
#[repr(C)]
pub struct CNulls {
    /// sizeof(tachyfits_nulls), set by the caller.
    pub bytes: u32,
    /// Definition of undefined pixels: TACHYFITS_NULLS_NAN.
    pub policy: i32,
    /// Receives a byte for each pixel, 1 if it is undefined; may be NULL.
    pub flags: *mut u8,
    /// Size of `flags` in bytes: one for each pixel.
    pub room: usize,
    /// Set to the number of undefined pixels.
    pub count: u64,
}

/// Encoding of the pixels of a new image.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CEncoding {
    /// sizeof(tachyfits_encoding).
    pub bytes: u32,
    /// TACHYFITS_…: type of the stored pixels, including the unsigned conventions.
    pub pixel_type: i32,
    /// 1 if `scale` and `zero` are used: only for types without the unsigned conventions.
    pub is_scaled: u32,
    /// 1 if `blank` is used: only for integers.
    pub has_blank: u32,
    /// BSCALE.
    pub scale: f64,
    /// BZERO.
    pub zero: f64,
    /// BLANK: stored integer of undefined pixels.
    pub blank: i64,
}

/// A shape in the plane of NAXIS1 and NAXIS2, in pixel coordinates from 0; pixel centres are whole numbers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CRegion {
    /// sizeof(tachyfits_region).
    pub bytes: u32,
    /// TACHYFITS_CIRCLE or another shape.
    pub shape: i32,
    /// Centre along NAXIS1.
    pub x: f64,
    /// Centre along NAXIS2.
    pub y: f64,
    /// Radius, semi-axis or width.
    pub a: f64,
    /// The other semi-axis, or the height.
    pub b: f64,
    /// Degrees from the x axis towards y.
    pub angle: f64,
    /// Corners of a polygon: x, y, x, y, …
    pub corners: *const f64,
    /// Number of corners.
    pub corner_count: usize,
}

/// Facts about an HDU.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CFacts {
    /// sizeof(tachyfits_facts), set by the caller.
    pub bytes: u32,
    /// TACHYFITS_HDU_…
    pub kind: i32,
    /// Type of the pixels when read without conversion; 0 if there are none.
    pub pixel_type: i32,
    /// Type of the stored pixels.
    pub stored_type: i32,
    /// Number of axes of the image; 0 without data.
    pub naxis: u32,
    /// 1 if BSCALE and BZERO are more than an unsigned convention.
    pub is_scaled: u32,
    /// BSCALE.
    pub scale: f64,
    /// BZERO.
    pub zero: f64,
    /// 1 if BLANK is defined.
    pub has_blank: u32,
    /// 1 if the HDU is stored compressed.
    pub is_compressed: u32,
    /// BLANK.
    pub blank: i64,
    /// Lengths of the first 8 axes; 1 for missing axes.
    pub axes: [u64; 8],
    /// Number of pixels of the image.
    pub pixels: u64,
    /// Number of rows of the table.
    pub rows: u64,
    /// Number of columns of the table.
    pub columns: u64,
    /// EXTVER; 1 if absent.
    pub extver: i64,
    /// EXTNAME.
    pub extname: [c_char; 72],
}

/// Statistics of pixels; NaN and BLANK are counted in `undefined` and otherwise ignored.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CStats {
    /// sizeof(tachyfits_stats), set by the caller.
    pub bytes: u32,
    /// Always 0.
    pub reserved: u32,
    /// Number of defined pixels.
    pub count: u64,
    /// Number of undefined pixels.
    pub undefined: u64,
    /// Sum; 0 if no pixel is defined.
    pub sum: f64,
    /// Mean; this and the following are NaN if no pixel is defined.
    pub mean: f64,
    /// Root mean square about zero.
    pub rms: f64,
    /// Standard deviation about the mean, divisor `count`.
    pub std: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Index, within the section, of the first smallest pixel; -1 if none is defined.
    pub min_position: i64,
    /// Index, within the section, of the first largest pixel; -1 if none is defined.
    pub max_position: i64,
}

/// A column to read, and the caller's arrays for it.
#[repr(C)]
pub struct CColumn {
    /// sizeof(tachyfits_column).
    pub bytes: u32,
    /// Number of the column, from 0.
    pub column: i32,
    /// TACHYFITS_…: type of the cells, as tachyfits_column_describe returns it, or for numbers another type: null
    /// elements are NaN in floats; integer types must represent every number that is not null.
    pub cell_type: i32,
    /// 1 for stored numbers, without TSCAL and TZERO.
    pub stored: i32,
    /// Receives the cells, one after another.
    pub values: *mut c_void,
    /// Size of `values` in bytes.
    pub room: usize,
    /// Receives a byte for each element, 1 if it is null; may be NULL.
    pub nulls: *mut u8,
    /// Set to the number of null elements.
    pub null_count: u64,
}

/// Facts about a column.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CColumnFacts {
    /// sizeof(tachyfits_column_facts), set by the caller.
    pub bytes: u32,
    /// Type of the elements when read.
    pub cell_type: i32,
    /// Elements per cell; 1 for text, 0 for variable-length arrays.
    pub elements: u64,
    /// Bytes of a cell when read; 0 for variable-length arrays.
    pub cell_bytes: u64,
    /// Lengths of a cell's axes, at most 8, in FITS order.
    pub shape: [u64; 8],
    /// Number of axes in `shape`; 0 for single elements.
    pub dimensions: u32,
    /// 1 if the cells are variable-length arrays: see tachyfits_read_arrays.
    pub is_variable: u32,
    /// 1 if elements may be null.
    pub is_nullable: u32,
    /// Always 0.
    pub reserved: u32,
    /// TTYPEn.
    pub name: [c_char; 72],
    /// TUNITn.
    pub unit: [c_char; 72],
    /// TFORMn.
    pub form: [c_char; 72],
}

/// Variable-length arrays: row r has the elements offsets[r] to offsets[r + 1] of `values`.
#[repr(C)]
pub struct CArrays {
    /// rows + 1 numbers.
    pub offsets: *mut i64,
    /// Number of offsets.
    pub offset_count: usize,
    /// Elements, in native byte order.
    pub values: *mut u8,
    /// Size of `values` in bytes.
    pub value_bytes: usize,
    /// A byte for each element, 1 if it is null; NULL if no element can be null.
    pub nulls: *mut u8,
    /// Size of `nulls` in bytes.
    pub null_bytes: usize,
    /// Type of the elements.
    pub cell_type: i32,
}

/// A column of a new table.
#[repr(C)]
pub struct CNewColumn {
    /// sizeof(tachyfits_new_column).
    pub bytes: u32,
    /// Always 0.
    pub reserved: u32,
    /// TTYPEn.
    pub name: *const c_char,
    /// TFORMn of a binary table, such as "1E", "20A" or "3J"; unsigned integers and signed bytes have the letters U (16
    /// bits), V (32 bits), W (64 bits) and S (bytes), as in CFITSIO.
    pub form: *const c_char,
    /// TUNITn; may be NULL.
    pub unit: *const c_char,
}

/// Cells of a column to write.
#[repr(C)]
pub struct CCells {
    /// Cells, one after another, in native byte order; text is padded with NUL or blanks.
    pub values: *const c_void,
    /// Size of `values` in bytes.
    pub bytes: usize,
    /// A byte for each element, 1 if it is null; may be NULL.
    pub nulls: *const u8,
    /// For variable-length arrays, rows + 1 numbers: the index among the elements of `values` at which the array of
    /// each row begins, and the end of the last array; otherwise NULL.
    pub offsets: *const i64,
}

/// Returns the number of a pixel type in the interface.
pub(crate) fn code_of(pixel: PixelType) -> i32 {
    match pixel {
        PixelType::U8 => TACHYFITS_UINT8,
        PixelType::I8 => TACHYFITS_INT8,
        PixelType::U16 => TACHYFITS_UINT16,
        PixelType::I16 => TACHYFITS_INT16,
        PixelType::U32 => TACHYFITS_UINT32,
        PixelType::I32 => TACHYFITS_INT32,
        PixelType::U64 => TACHYFITS_UINT64,
        PixelType::I64 => TACHYFITS_INT64,
        PixelType::F32 => TACHYFITS_FLOAT,
        PixelType::F64 => TACHYFITS_DOUBLE,
    }
}

/// Returns the pixel type of a number of the interface.
pub(crate) fn pixel_of(code: i32) -> Option<PixelType> {
    Some(match code {
        TACHYFITS_UINT8 => PixelType::U8,
        TACHYFITS_INT8 => PixelType::I8,
        TACHYFITS_UINT16 => PixelType::U16,
        TACHYFITS_INT16 => PixelType::I16,
        TACHYFITS_UINT32 => PixelType::U32,
        TACHYFITS_INT32 => PixelType::I32,
        TACHYFITS_UINT64 => PixelType::U64,
        TACHYFITS_INT64 => PixelType::I64,
        TACHYFITS_FLOAT => PixelType::F32,
        TACHYFITS_DOUBLE => PixelType::F64,
        _ => return None,
    })
}
