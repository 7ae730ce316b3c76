//! Functions of CFITSIO that write: decompressed images, and the checksums of an HDU.

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};

use super::functions::{Functions, Handle, TEXT_BYTES};

/// Status codes of CFITSIO.
const MEMORY_ALLOCATION: c_int = 113;
const KEY_NO_EXIST: c_int = 202;

/// CHECKSUM of an HDU whose sum is not known yet.
const NO_CHECKSUM: &[u8] = b"0000000000000000";

/// Pixels of a tile: first and last one of each axis, from 1, and the position of the first in a run of tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TilePlace {
    pub(crate) first: Vec<c_long>,
    pub(crate) last: Vec<c_long>,
    /// Number of the tile's first pixel, from 1.
    pub(crate) element: i64,
    pub(crate) pixels: i64,
}

/// C string: a value, or a comment.
type Text = [u8; TEXT_BYTES];

impl Functions {
    /// Begins decompressing an image as `fits_img_decompress` does: copies the header and disables scaling. Returns the
    /// status.
    pub(crate) fn begin_decompression(
        &self,
        input: Handle,
        output: Handle,
        status: c_int,
    ) -> c_int {
        let mut status = status;
        let (input, output) = (input.pointer(), output.pointer());
        // SAFETY: open files of the caller, and a place for the status.
        unsafe { (self.fits_img_decompress_header)(input, output, &raw mut status) };
        if status > 0 {
            return status;
        }
        // SAFETY: as above.
        unsafe { (self.ffrdef)(output, &raw mut status) };
        for file in [output, input] {
            // SAFETY: as above.
            unsafe { (self.ffpscl)(file, 1.0, 0.0, &raw mut status) };
        }
        status
    }

    /// Writes bytes at an offset; returns whether that succeeded.
    pub(crate) fn write(&self, file: Handle, offset: u64, bytes: &[u8]) -> bool {
        let (mut status, length) = (0, bytes.len() as i64);
        let Ok(offset) = i64::try_from(offset) else { return false };
        self.quietly(|| {
            // SAFETY: an open file of the caller; 1 allows a position beyond the end of the file.
            unsafe { (self.ffmbyt)(file.pointer(), offset, 1, &raw mut status) };
            let bytes = bytes.as_ptr().cast::<c_void>();
            // SAFETY: as above, and a buffer of the stated size.
            unsafe { (self.ffpbyt)(file.pointer(), length, bytes, &raw mut status) };
        });
        status == 0
    }

    /// Reads a tile of a compressed image and writes its pixels, as `fits_img_decompress` does. Returns CFITSIO's
    /// status. The buffer has room for the tile in elements of CFITSIO's type `code`; `null` has the bits of the null
    /// value.
    pub(crate) fn copy_tile(
        &self,
        (input, output): (Handle, Handle),
        code: c_int,
        place: &TilePlace,
        null: u64,
        buffer: &mut [u64],
    ) -> c_int {
        let (mut any_null, mut status) = (0, 0);
        let steps = [1 as c_long; 9];
        let (first, last) = (place.first.as_ptr(), place.last.as_ptr());
        let null = (&raw const null).cast::<c_void>();
        let pixels = buffer.as_mut_ptr().cast::<c_void>();
        // SAFETY: an open file of the caller, coordinates of all axes, and a buffer for the tile.
        unsafe {
            (self.ffgsv)(
                input.pointer(),
                code,
                first,
                last,
                steps.as_ptr(),
                null,
                pixels,
                &raw mut any_null,
                &raw mut status,
            )
        };
        if status == 0 && any_null != 0 {
            let (element, count) = (place.element, place.pixels);
            // SAFETY: an open file of the caller, and a buffer with the stated number of pixels.
            unsafe {
                (self.ffppn)(output.pointer(), code, element, count, pixels, null, &raw mut status)
            };
        } else if status == 0 {
            // SAFETY: as above, and coordinates of all axes.
            unsafe { (self.ffpss)(output.pointer(), code, first, last, pixels, &raw mut status) };
        }
        status
    }

    /// Returns the status for too little memory for a tile, with CFITSIO's message.
    pub(crate) fn report_no_memory(&self) -> c_int {
        let text = c"Out of memory (fits_read_compress_img)";
        // SAFETY: a C string, which is copied.
        unsafe { (self.ffpmsg)(text.as_ptr()) };
        MEMORY_ALLOCATION
    }

    /// Returns the type of the current HDU, as numbered by CFITSIO, and whether the file is writable; `None` after an
    /// error.
    pub(crate) fn kind_and_mode(&self, file: Handle) -> Option<(c_int, bool)> {
        let (mut kind, mut mode, mut status) = (-1, -1, 0);
        self.quietly(|| {
            // SAFETY: an open file of the caller and places for the results.
            unsafe { (self.ffghdt)(file.pointer(), &raw mut kind, &raw mut status) };
            // SAFETY: as above.
            unsafe { (self.ffflmd)(file.pointer(), &raw mut mode, &raw mut status) };
        });
        (status == 0).then_some((kind, mode == 1))
    }

    /// Returns DATASUM, or `None` without the card. Only integers are valid: CFITSIO converts other values in its own
    /// way.
    pub(crate) fn datasum(&self, file: Handle) -> Result<Option<u32>, ()> {
        let (mut value, mut status) = ([0; TEXT_BYTES], 0);
        self.quietly(|| self.get(file, c"DATASUM", &mut value, &mut status));
        match status {
            KEY_NO_EXIST => Ok(None),
            0 => number(&value).map(Some).ok_or(()),
            _ => Err(()),
        }
    }

    /// Creates or updates DATASUM and CHECKSUM of the current HDU as `ffpcks` does, step by step. `sum` computes the
    /// sum of the data; if it returns `None`, CFITSIO adds the bytes. Returns CFITSIO's status.
    pub(crate) fn update_checksums(
        &self,
        file: Handle,
        sum: impl FnOnce(std::ops::Range<u64>) -> Option<u32>,
    ) -> c_int {
        let mut status = 0;
        self.try_update(file, sum, &mut status);
        status
    }

    /// Updates the checksums; `None` after an error, which is in `status`.
    fn try_update(
        &self,
        file: Handle,
        sum: impl FnOnce(std::ops::Range<u64>) -> Option<u32>,
        status: &mut c_int,
    ) -> Option<()> {
        let mut date = [0; TEXT_BYTES];
        // SAFETY: a buffer larger than a date; NULL means that the time reference is not needed.
        unsafe { (self.ffgstm)(date.as_mut_ptr().cast(), std::ptr::null_mut(), status) };
        let comment = text(b"HDU checksum updated ", &date);
        let data_comment = text(b"data unit checksum updated ", &date);
        let (mut checksum, mut stated) = ([0; TEXT_BYTES], [0; TEXT_BYTES]);
        self.get(file, c"CHECKSUM", &mut checksum, status);
        if *status == KEY_NO_EXIST {
            *status = 0;
            checksum = text(NO_CHECKSUM, b"");
            self.put(file, c"CHECKSUM", &checksum, &comment, status);
        }
        let undefine = |checksum: &mut Text, status: &mut c_int| {
            if !is(checksum, NO_CHECKSUM) {
                *checksum = text(NO_CHECKSUM, b"");
                self.modify(file, c"CHECKSUM", checksum, &comment, status);
            }
        };
        self.get(file, c"DATASUM", &mut stated, status);
        let mut old = 0;
        if *status == KEY_NO_EXIST {
            *status = 0;
            self.put(file, c"DATASUM", &text(b"         0", b""), &data_comment, status);
            undefine(&mut checksum, status);
        } else {
            old = number(&stated).unwrap_or_default().into();
        }
        // SAFETY: an open file of the caller and a place for the status.
        unsafe { (self.ffrdef)(file.pointer(), status) };
        // SAFETY: as above.
        unsafe { (self.ffpdfl)(file.pointer(), status) };
        let (mut head, mut data, mut end) = (0i64, 0i64, 0i64);
        // SAFETY: as above, and places for the results.
        unsafe {
            (self.ffghadll)(file.pointer(), &raw mut head, &raw mut data, &raw mut end, status)
        };
        if *status > 0 {
            return None;
        }
        let mut total: c_ulong = match sum(data as u64..end as u64) {
            Some(sum) => sum.into(),
            None => {
                let mut total = 0;
                self.add(file, data..end, &mut total, status)?;
                total
            }
        };
        if total != old {
            let value = text(total.to_string().as_bytes(), b"");
            self.modify(file, c"DATASUM", &value, &data_comment, status);
            undefine(&mut checksum, status);
        }
        if !is(&checksum, NO_CHECKSUM) {
            let mut sum_of_hdu = total;
            self.add(file, head..data, &mut sum_of_hdu, status)?;
            if sum_of_hdu == 0 || sum_of_hdu == 0xffff_ffff {
                return Some(());
            }
            undefine(&mut checksum, status);
        }
        self.add(file, head..data, &mut total, status)?;
        let mut encoded = [0; TEXT_BYTES];
        // SAFETY: a buffer larger than the 16 letters.
        unsafe { (self.ffesum)(total, 1, encoded.as_mut_ptr().cast()) };
        self.modify(file, c"CHECKSUM", &encoded, &text(b"&", b""), status);
        Some(())
    }

    /// Whether CFITSIO accepts checksums updated by this library, for a file in memory.
    pub(super) fn pass_checksum_test(&self) -> bool {
        self.quietly(|| {
            let (mut file, mut status) = (std::ptr::null_mut(), 0);
            // SAFETY: a new file in memory.
            unsafe { (self.ffinit)(&raw mut file, c"mem://".as_ptr(), &raw mut status) };
            if status != 0 || file.is_null() {
                return false;
            }
            let mut axes = [700, 3];
            // SAFETY: a file that is open for writing, and two axes.
            unsafe { (self.ffcrim)(file, 16, 2, axes.as_mut_ptr(), &raw mut status) };
            let handle = Handle::new(file);
            let mut range = 0..0;
            let updated = self.update_checksums(handle, |data| {
                range = data;
                None
            });
            let (mut data_sum, mut whole) = (0, 0);
            // SAFETY: the same file, and places for the results.
            unsafe { (self.ffvcks)(file, &raw mut data_sum, &raw mut whole, &raw mut status) };
            let passed = (status, updated, data_sum, whole) == (0, 0, 1, 1);
            status = 0;
            // SAFETY: `ffinit` above made this file, and no later call uses it.
            unsafe { (self.ffclos)(file, &raw mut status) };
            passed && range == (2880..2880 + 5760)
        })
    }

    /// Adds blocks of the file to a sum through CFITSIO; `None` after an error.
    fn add(
        &self,
        file: Handle,
        range: std::ops::Range<i64>,
        sum: &mut c_ulong,
        status: &mut c_int,
    ) -> Option<()> {
        let blocks = (range.end - range.start) / 2880;
        if blocks > 0 {
            // SAFETY: an open file of the caller; 0 makes the end of the file an error.
            unsafe { (self.ffmbyt)(file.pointer(), range.start, 0, status) };
            // SAFETY: as above, and a place for the sum.
            unsafe { (self.ffcsum)(file.pointer(), blocks, sum, status) };
        }
        (*status <= 0).then_some(())
    }

    fn get(&self, file: Handle, name: &CStr, value: &mut Text, status: &mut c_int) {
        let (mut comment, value) = ([0u8; TEXT_BYTES], value.as_mut_ptr().cast());
        let comment = comment.as_mut_ptr().cast::<c_char>();
        // SAFETY: an open file of the caller, a C string, and buffers larger than CFITSIO needs.
        unsafe { (self.ffgkys)(file.pointer(), name.as_ptr(), value, comment, status) };
    }

    fn put(&self, file: Handle, name: &CStr, value: &Text, comment: &Text, status: &mut c_int) {
        let (value, comment) = (value.as_ptr().cast(), comment.as_ptr().cast());
        // SAFETY: an open file of the caller, and C strings.
        unsafe { (self.ffpkys)(file.pointer(), name.as_ptr(), value, comment, status) };
    }

    fn modify(&self, file: Handle, name: &CStr, value: &Text, comment: &Text, status: &mut c_int) {
        let (value, comment) = (value.as_ptr().cast(), comment.as_ptr().cast());
        // SAFETY: an open file of the caller, and C strings.
        unsafe { (self.ffmkys)(file.pointer(), name.as_ptr(), value, comment, status) };
    }
}

/// Concatenates two parts to a C string, which ends at the first NUL.
fn text(first: &[u8], second: &[u8]) -> Text {
    let mut text = [0; TEXT_BYTES];
    let bytes = first.iter().chain(second).take(TEXT_BYTES - 1);
    text.iter_mut().zip(bytes).for_each(|(place, &byte)| *place = byte);
    text
}

/// Returns the bytes of a C string.
fn content(text: &Text) -> &[u8] {
    CStr::from_bytes_until_nul(text).map_or(&[], CStr::to_bytes)
}

fn is(text: &Text, expected: &[u8]) -> bool {
    content(text) == expected
}

/// Returns the integer of a value surrounded by blanks.
fn number(text: &Text) -> Option<u32> {
    std::str::from_utf8(content(text)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{content, is, number, text};

    #[test]
    fn texts_are_joined_and_numbers_have_blanks() {
        let result = text(b"updated ", &text(b"2026", b""));
        assert!(is(&result, b"updated 2026"));
        assert_eq!(content(&text(b"", b"")), b"");
        assert_eq!(number(&text(b"         0", b"")), Some(0));
        assert_eq!(number(&text(b"4294967295", b"")), Some(0xffff_ffff));
        for odd in [&b"4294967296"[..], b"12.", b"", b"-1"] {
            assert_eq!(number(&text(odd, b"")), None);
        }
    }
}
