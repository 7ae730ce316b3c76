//! Functions of CFITSIO that serving needs: looked up by name, and tested with files in memory before use.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_ulong, c_void};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::ptr::null_mut;

/// An open file of CFITSIO, as an opaque pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Handle(usize);

impl Handle {
    pub(crate) fn new(file: *mut c_void) -> Handle {
        Handle(file as usize)
    }

    pub(crate) fn is_null(self) -> bool {
        self.0 == 0
    }

    pub(super) fn pointer(self) -> *mut c_void {
        self.0 as *mut c_void
    }
}

/// Bytes of buffers for CFITSIO's texts: more than it writes.
pub(super) const TEXT_BYTES: usize = 4096;

/// Current parameters of a column, as returned by `ffgcprll`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ColumnFacts {
    pub(crate) scale: f64,
    pub(crate) zero: f64,
    /// Code of the stored type.
    pub(crate) code: c_int,
    /// Offset of the first row of the request.
    pub(crate) start: i64,
    /// First element of the request in its row, from 0.
    pub(crate) element: i64,
    /// Bytes from one element to the next.
    pub(crate) step: i64,
    /// Elements per row.
    pub(crate) repeat: i64,
    pub(crate) row_bytes: i64,
    /// 0 for an image, 1 for an ASCII table, 2 for a binary table.
    pub(crate) hdu_type: c_int,
    /// Null value of integers, or CFITSIO's number for "no null value".
    pub(crate) null: i64,
}

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        /// Addresses of the functions.
        #[derive(Debug)]
        pub(crate) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
        }

        impl Functions {
            /// Looks up all functions; `None` if one is missing.
            pub(super) fn find(address: impl Fn(&CStr) -> Option<usize>) -> Option<Functions> {
                Some(Functions {
                    $($name: {
                        let name = CString::new(stringify!($name)).ok()?;
                        let function = address(&name)? as *const c_void;
                        // SAFETY: the function has this signature from CFITSIO 3.41 to 4.6; the test calls it.
                        unsafe {
                            std::mem::transmute::<
                                *const c_void,
                                unsafe extern "C" fn($($argument),*) $(-> $result)?,
                            >(function)
                        }
                    },)+
                })
            }
        }
    };
}

functions! {
    ffgcprll: fn(*mut c_void, c_int, i64, i64, i64, c_int, *mut f64, *mut f64, *mut c_char, *mut c_long, *mut c_int,
        *mut c_int, *mut i64, *mut i64, *mut c_long, *mut i64, *mut i64, *mut c_int, *mut i64, *mut c_char,
        *mut c_int) -> c_int;
    ffurlt: fn(*mut c_void, *mut c_char, *mut c_int) -> c_int;
    ffflmd: fn(*mut c_void, *mut c_int, *mut c_int) -> c_int;
    ffflnm: fn(*mut c_void, *mut c_char, *mut c_int) -> c_int;
    ffrtnm: fn(*mut c_char, *mut c_char, *mut c_int) -> c_int;
    ffghadll: fn(*mut c_void, *mut i64, *mut i64, *mut i64, *mut c_int) -> c_int;
    ffgidm: fn(*mut c_void, *mut c_int, *mut c_int) -> c_int;
    ffgiszll: fn(*mut c_void, c_int, *mut i64, *mut c_int) -> c_int;
    fits_is_compressed_image: fn(*mut c_void, *mut c_int) -> c_int;
    ffgpvd: fn(*mut c_void, c_long, i64, i64, f64, *mut f64, *mut c_int, *mut c_int) -> c_int;
    ffgsv: fn(*mut c_void, c_int, *const c_long, *const c_long, *const c_long, *const c_void, *mut c_void, *mut c_int,
        *mut c_int) -> c_int;
    ffppn: fn(*mut c_void, c_int, i64, i64, *const c_void, *const c_void, *mut c_int) -> c_int;
    ffpss: fn(*mut c_void, c_int, *const c_long, *const c_long, *const c_void, *mut c_int) -> c_int;
    fits_img_decompress_header: fn(*mut c_void, *mut c_void, *mut c_int) -> c_int;
    ffrdef: fn(*mut c_void, *mut c_int) -> c_int;
    ffghdt: fn(*mut c_void, *mut c_int, *mut c_int) -> c_int;
    ffgstm: fn(*mut c_char, *mut c_int, *mut c_int) -> c_int;
    ffgkys: fn(*mut c_void, *const c_char, *mut c_char, *mut c_char, *mut c_int) -> c_int;
    ffpkys: fn(*mut c_void, *const c_char, *const c_char, *const c_char, *mut c_int) -> c_int;
    ffmkys: fn(*mut c_void, *const c_char, *const c_char, *const c_char, *mut c_int) -> c_int;
    ffpdfl: fn(*mut c_void, *mut c_int) -> c_int;
    ffcsum: fn(*mut c_void, c_long, *mut c_ulong, *mut c_int) -> c_int;
    ffesum: fn(c_ulong, c_int, *mut c_char);
    ffvcks: fn(*mut c_void, *mut c_int, *mut c_int, *mut c_int) -> c_int;
    ffmbyt: fn(*mut c_void, i64, c_int, *mut c_int) -> c_int;
    ffgbyt: fn(*mut c_void, i64, *mut c_void, *mut c_int) -> c_int;
    ffpbyt: fn(*mut c_void, i64, *const c_void, *mut c_int) -> c_int;
    ffpmsg: fn(*const c_char);
    ffpmrk: fn();
    ffcmrk: fn();
    ffinit: fn(*mut *mut c_void, *const c_char, *mut c_int) -> c_int;
    ffcrim: fn(*mut c_void, c_int, c_int, *mut c_long, *mut c_int) -> c_int;
    ffcrtb: fn(*mut c_void, c_int, i64, c_int, *const *const c_char, *const *const c_char, *const *const c_char,
        *const c_char, *mut c_int) -> c_int;
    ffpscl: fn(*mut c_void, f64, f64, *mut c_int) -> c_int;
    ffpnul: fn(*mut c_void, i64, *mut c_int) -> c_int;
    ffclos: fn(*mut c_void, *mut c_int) -> c_int;
}

impl Functions {
    /// Runs `calls` and drops the error messages that CFITSIO collects meanwhile, because forwarding the call produces
    /// them again.
    pub(super) fn quietly<T>(&self, calls: impl FnOnce() -> T) -> T {
        // SAFETY: a function without arguments.
        unsafe { (self.ffpmrk)() };
        let result = calls();
        // SAFETY: as above.
        unsafe { (self.ffcmrk)() };
        result
    }

    /// Adds the message about numbers that do not fit, as CFITSIO does.
    pub(crate) fn report_overflow(&self) {
        let text = c"Numerical overflow during type conversion while reading FITS data.";
        // SAFETY: a C string, which is copied.
        unsafe { (self.ffpmsg)(text.as_ptr()) };
    }

    /// Makes the HDU of a handle the current one, as every reading function does; messages about its header are kept.
    pub(crate) fn settle(&self, file: Handle) {
        let (mut offsets, mut status) = ([0i64; 3], 0);
        let [header, data, end] = &mut offsets;
        // SAFETY: an open file of the caller and places for the results.
        unsafe { (self.ffghadll)(file.pointer(), header, data, end, &raw mut status) };
    }

    /// Returns the parameters of a column and of the requested elements; `None` if CFITSIO reports an error.
    pub(crate) fn column(
        &self,
        file: Handle,
        column: c_int,
        row: i64,
        element: i64,
        count: i64,
    ) -> Option<ColumnFacts> {
        let mut facts = ColumnFacts {
            scale: f64::NAN,
            zero: f64::NAN,
            code: 0,
            start: -1,
            element: -1,
            step: -1,
            repeat: -1,
            row_bytes: -1,
            hdu_type: -1,
            null: 0,
        };
        let (mut form, mut null) = ([0; TEXT_BYTES], [0; TEXT_BYTES]);
        let (mut width, mut step, mut most, mut status) = (0, -1, 0, 0);
        // SAFETY: an open file of the caller, and places for the results; the text buffers are larger than CFITSIO's.
        let result = self.quietly(|| unsafe {
            (self.ffgcprll)(
                file.pointer(),
                column,
                row,
                element,
                count,
                0,
                &raw mut facts.scale,
                &raw mut facts.zero,
                form.as_mut_ptr(),
                &raw mut width,
                &raw mut facts.code,
                &raw mut most,
                &raw mut facts.start,
                &raw mut facts.element,
                &raw mut step,
                &raw mut facts.repeat,
                &raw mut facts.row_bytes,
                &raw mut facts.hdu_type,
                &raw mut facts.null,
                null.as_mut_ptr(),
                &raw mut status,
            )
        });
        facts.step = step;
        (result == 0 && status == 0).then_some(facts)
    }

    /// Returns the path of a file on disk that is open for reading only; `None` for all other files.
    pub(crate) fn disk_path(&self, file: Handle) -> Option<PathBuf> {
        let (mut mode, mut status) = (-1, 0);
        // SAFETY: an open file of the caller and places for the results.
        unsafe { (self.ffflmd)(file.pointer(), &raw mut mode, &raw mut status) };
        if status != 0 || mode != 0 || self.text(file, self.ffurlt)? != b"file://" {
            return None;
        }
        let mut name = self.text(file, self.ffflnm)?;
        name.push(0);
        let (mut root, mut status) = ([0u8; TEXT_BYTES], 0);
        self.quietly(|| {
            let root = root.as_mut_ptr().cast();
            // SAFETY: NUL-terminated text, and a buffer larger than any name.
            unsafe { (self.ffrtnm)(name.as_mut_ptr().cast(), root, &raw mut status) }
        });
        let root = CStr::from_bytes_until_nul(&root).ok()?.to_bytes();
        let root = root.strip_prefix(b"file://").unwrap_or(root);
        (status == 0 && !root.is_empty()).then(|| std::ffi::OsString::from_vec(root.into()).into())
    }

    fn text(
        &self,
        file: Handle,
        function: unsafe extern "C" fn(*mut c_void, *mut c_char, *mut c_int) -> c_int,
    ) -> Option<Vec<u8>> {
        let (mut text, mut status) = ([0u8; TEXT_BYTES], 0);
        // SAFETY: an open file of the caller, and a buffer larger than CFITSIO needs.
        unsafe { function(file.pointer(), text.as_mut_ptr().cast(), &raw mut status) };
        let text = CStr::from_bytes_until_nul(&text).ok()?;
        (status == 0).then(|| text.to_bytes().to_vec())
    }

    /// Returns the offsets of the header, the data, and the end of the data of the current HDU.
    pub(crate) fn offsets(&self, file: Handle) -> Option<[u64; 3]> {
        let (mut offsets, mut status) = ([0i64; 3], 0);
        let [header, data, end] = &mut offsets;
        // SAFETY: an open file of the caller and places for the results.
        self.quietly(|| unsafe {
            (self.ffghadll)(file.pointer(), header, data, end, &raw mut status)
        });
        let is_valid = offsets.iter().all(|&offset| offset >= 0) && status == 0;
        is_valid.then(|| offsets.map(|offset| offset as u64))
    }

    /// Reads bytes of the file through CFITSIO; returns whether that succeeded.
    pub(crate) fn read(&self, file: Handle, offset: u64, bytes: &mut [u8]) -> bool {
        let mut status = 0;
        let (Ok(offset), length) = (i64::try_from(offset), bytes.len() as i64) else {
            return false;
        };
        self.quietly(|| {
            // SAFETY: an open file of the caller; 0 makes the end of the file an error.
            unsafe { (self.ffmbyt)(file.pointer(), offset, 0, &raw mut status) };
            // SAFETY: as above, and a buffer of the requested size; nothing is read after an error.
            unsafe {
                (self.ffgbyt)(file.pointer(), length, bytes.as_mut_ptr().cast(), &raw mut status)
            };
        });
        status == 0
    }

    /// Reads the first elements of an image as doubles, through CFITSIO; returns whether that succeeded.
    pub(crate) fn first_pixels(&self, file: Handle, out: &mut [f64]) -> bool {
        let (mut any_null, mut status) = (0, 0);
        // SAFETY: an open file of the caller, and a buffer for the requested pixels.
        self.quietly(|| unsafe {
            (self.ffgpvd)(
                file.pointer(),
                0,
                1,
                out.len() as i64,
                0.0,
                out.as_mut_ptr(),
                &raw mut any_null,
                &raw mut status,
            )
        });
        status == 0
    }

    /// Returns the axes of the current image.
    pub(crate) fn axes(&self, file: Handle) -> Option<Vec<i64>> {
        self.settle(file);
        let (mut count, mut status) = (0, 0);
        let mut axes = [0i64; 99];
        self.quietly(|| {
            // SAFETY: an open file of the caller and a place for the result.
            unsafe { (self.ffgidm)(file.pointer(), &raw mut count, &raw mut status) };
            // SAFETY: as above; the array has room for 99 axes.
            unsafe { (self.ffgiszll)(file.pointer(), 99, axes.as_mut_ptr(), &raw mut status) };
        });
        let axes = axes.get(..usize::try_from(count).ok()?)?;
        (status == 0 && !axes.is_empty()).then(|| axes.to_vec())
    }

    /// Whether the current HDU is a compressed image, stored in tiles; `None` after an error.
    pub(crate) fn is_compressed(&self, file: Handle) -> Option<bool> {
        let mut status = 0;
        // SAFETY: an open file of the caller and a place for the status.
        let answer = self.quietly(|| unsafe {
            (self.fits_is_compressed_image)(file.pointer(), &raw mut status)
        });
        (status == 0).then_some(answer != 0)
    }

    /// Whether the functions behave as this library expects, with an image and a table in memory.
    pub(super) fn pass_test(&self) -> bool {
        self.quietly(|| {
            let (mut file, mut status) = (null_mut(), 0);
            // SAFETY: a new file in memory.
            unsafe { (self.ffinit)(&raw mut file, c"mem://".as_ptr(), &raw mut status) };
            if status != 0 || file.is_null() {
                return false;
            }
            let passed = self.test_image(Handle::new(file)) && self.test_table(Handle::new(file));
            status = 0;
            // SAFETY: `ffinit` above made this file, and no later call uses it.
            unsafe { (self.ffclos)(file, &raw mut status) };
            passed
        })
    }

    fn test_image(&self, file: Handle) -> bool {
        let (mut axes, mut status) = ([4, 3], 0);
        // SAFETY: a file that is open for writing, and two axes.
        unsafe { (self.ffcrim)(file.pointer(), 16, 2, axes.as_mut_ptr(), &raw mut status) };
        // SAFETY: as above.
        unsafe { (self.ffpscl)(file.pointer(), 2.0, 5.0, &raw mut status) };
        // SAFETY: as above.
        unsafe { (self.ffpnul)(file.pointer(), -7, &raw mut status) };
        let (Some(facts), Some([header, data, _])) =
            (self.column(file, 2, 1, 6, 7), self.offsets(file))
        else {
            return false;
        };
        let expected = ColumnFacts {
            scale: 2.0,
            zero: 5.0,
            code: 21,
            start: 2880,
            element: 5,
            step: 2,
            repeat: 12,
            row_bytes: facts.row_bytes,
            hdu_type: 0,
            null: -7,
        };
        let is_writable = self.disk_path(file).is_none();
        let scheme = self.text(file, self.ffurlt);
        status == 0
            && facts == expected
            && (header, data) == (0, 2880)
            && self.axes(file).as_deref() == Some(&[4, 3])
            && self.is_compressed(file) == Some(false)
            // Pixels that begin at an element that does not exist.
            && self.column(file, 2, 1, 13, 1).is_none()
            && is_writable
            && scheme.as_deref() == Some(b"mem://")
    }

    fn test_table(&self, file: Handle) -> bool {
        let (names, forms) = ([c"A".as_ptr(), c"B".as_ptr()], [c"1J".as_ptr(), c"3E".as_ptr()]);
        let mut status = 0;
        // SAFETY: a file that is open for writing, two columns, no units and no name.
        unsafe {
            (self.ffcrtb)(
                file.pointer(),
                2,
                5,
                2,
                names.as_ptr(),
                forms.as_ptr(),
                std::ptr::null(),
                std::ptr::null(),
                &raw mut status,
            )
        };
        let (Some(facts), Some([_, data, _])) = (self.column(file, 2, 2, 3, 4), self.offsets(file))
        else {
            return false;
        };
        status == 0
            && (facts.scale, facts.zero, facts.code) == (1.0, 0.0, 42)
            && (facts.start, facts.element) == (data as i64 + 20, 2)
            && (facts.step, facts.repeat, facts.row_bytes, facts.hdu_type) == (4, 3, 16, 2)
            && self.column(file, 3, 1, 1, 1).is_none()
    }
}
