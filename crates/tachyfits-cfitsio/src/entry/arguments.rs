//! Arguments of C and Fortran, read in the order of a function's declaration.

use std::ffi::{c_int, c_void};

use bytemuck::AnyBitPattern;
use tachyfits::PixelType;

use super::shape::{Caller, Entry, Shape};
use crate::cfitsio::{Handle, Library};
use crate::report::Reason;
use crate::request::{Found, NullWish, Place, Request};

/// Arguments on the stack that are read and passed on: the longest function has six in registers and five on the stack.
const STACK_WORDS: usize = 5;

/// Registers with arguments: six integers or pointers, and floats in the lower halves.
#[repr(C)]
pub(super) struct Registers {
    pub(super) words: [u64; 6],
    pub(super) floats: [[u64; 2]; 8],
}

/// Arguments of a call, in their original form.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    registers: *const Registers,
    stack: *const u64,
}

/// A call of a reading function.
pub(super) struct Call {
    pub(super) file: Handle,
    pub(super) request: Request,
    /// Number of elements to read.
    count: usize,
    values: *mut u8,
    flags: *mut u8,
    any_null: *mut c_int,
    status: *mut c_int,
}

/// Reader of one argument after another.
struct Reader {
    arguments: Arguments,
    next: usize,
    caller: Caller,
}

impl Arguments {
    /// # Safety
    /// The registers and the stack belong to a call of a function of the table.
    pub(super) unsafe fn new(registers: *const Registers, stack: *const u64) -> Arguments {
        Arguments { registers, stack }
    }

    /// Returns the file of a C function.
    pub(super) fn handle(self) -> Handle {
        Handle::new(self.word(0) as *mut c_void)
    }

    /// Returns the second file of a C function.
    pub(super) fn second_handle(self) -> Handle {
        Handle::new(self.word(1) as *mut c_void)
    }

    /// Returns the first two doubles.
    pub(super) fn doubles(self) -> [f64; 2] {
        // SAFETY: see `new`.
        let floats = unsafe { &(*self.registers).floats };
        [0, 1].map(|index| f64::from_bits(floats[index][0]))
    }

    fn word(self, index: usize) -> u64 {
        if index < 6 {
            // SAFETY: see `new`.
            return unsafe { (&(*self.registers).words)[index] };
        }
        // SAFETY: see `new`; the functions declare this many arguments.
        let place = unsafe { self.stack.add(index - 6) };
        // SAFETY: as above.
        unsafe { place.read() }
    }

    /// Calls a function with the same arguments.
    ///
    /// # Safety
    /// The function must accept these arguments.
    pub(super) unsafe fn forward(self, function: usize) -> u64 {
        type Function =
            unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, f64) -> u64;
        // SAFETY: all integers and pointers are passed in the same way; the float goes to its own register, of which a
        // shorter float uses the lower half; functions ignore further words on the stack.
        let function = unsafe { std::mem::transmute::<usize, Function>(function) };
        let [a, b, c, d, e, f, g, h, i, j, k] = std::array::from_fn(|index| {
            const { assert!(6 + STACK_WORDS == 11) };
            self.word(index)
        });
        // SAFETY: the saved register.
        let float = unsafe { (*self.registers).floats[0][0] };
        // SAFETY: the caller's own arguments.
        unsafe { function(a, b, c, d, e, f, g, h, i, j, k, f64::from_bits(float)) }
    }

    /// Returns the status, if the caller passed a variable for it.
    pub(super) fn status(self, entry: &Entry) -> Option<c_int> {
        let status = self.word(entry.words() - 1) as *const c_int;
        // SAFETY: the caller's variable for the status.
        unsafe { status.as_ref() }.copied()
    }

    /// Stores the status.
    ///
    /// # Safety
    /// The caller passed a variable for it: see `status`.
    pub(super) unsafe fn set_status(self, entry: &Entry, status: c_int) {
        let place = self.word(entry.words() - 1) as *mut c_int;
        // SAFETY: the caller's variable for the status.
        unsafe { place.write(status) };
    }

    /// Whether the status reports no earlier error: after one, the other arguments need not be valid.
    pub(super) fn has_no_error(self, entry: &Entry) -> bool {
        self.status(entry) == Some(0)
    }

    /// Interprets the arguments. Returns an error if the call is unusual, or fills less than `least` bytes. Changes
    /// nothing.
    pub(super) fn call(
        self,
        entry: &Entry,
        library: &Library,
        least: usize,
    ) -> Result<Call, Reason> {
        if !self.has_no_error(entry) {
            return Err(Reason::Status);
        }
        let mut reader = Reader { arguments: self, next: 0, caller: entry.caller };
        let file = reader.file(library).ok_or(Reason::Arguments)?;
        let mut kind = entry.kind;
        let is_wide = kind.bytes() == 8 && !kind.is_float();
        let mut is_long =
            is_wide && entry.caller == Caller::C && !entry.name.to_bytes().ends_with(b"jj");
        let is_any = matches!(
            entry.shape,
            Shape::Pixels | Shape::RunOfType | Shape::SectionOfType | Shape::ColumnOfType
        );
        if is_any {
            let code = reader.integer();
            kind = kind_of(code).ok_or(Reason::Type)?;
            is_long = matches!(code, 40 | 41);
        }
        // In functions for planes and cubes, the null value precedes the sizes.
        let mut nulls = None;
        let place = match entry.shape {
            Shape::Pixels => {
                let first = reader.pointer();
                let count = reader.long();
                if usize::try_from(count).is_ok_and(|count| count.saturating_mul(8) < least) {
                    return Err(Reason::Small);
                }
                let axes = library
                    .functions()
                    .ok_or(Reason::Library)?
                    .axes(file)
                    .ok_or(Reason::Refused)?
                    .len();
                Place::Pixels { first: reader.longs(first, axes)?, count }
            }
            Shape::RunOfType => Place::Run { group: 1, first: reader.long(), count: reader.long() },
            Shape::Run => {
                let group = reader.number();
                Place::Run { group, first: reader.long(), count: reader.long() }
            }
            Shape::SectionOfType => {
                let axes = library
                    .functions()
                    .ok_or(Reason::Library)?
                    .axes(file)
                    .ok_or(Reason::Refused)?
                    .len();
                let (first, last, step) = (reader.pointer(), reader.pointer(), reader.pointer());
                Place::Section {
                    group: 1,
                    first: reader.longs(first, axes)?,
                    last: reader.longs(last, axes)?,
                    step: reader.longs(step, axes)?,
                    axes: None,
                }
            }
            Shape::Section => {
                let group = i64::from(reader.integer());
                let axes = usize::try_from(reader.integer()).ok().filter(|axes| *axes <= 9);
                let count = axes.filter(|&axes| axes > 0).ok_or(Reason::Arguments)?;
                let (axes, first) = (reader.pointer(), reader.pointer());
                let (last, step) = (reader.pointer(), reader.pointer());
                Place::Section {
                    group: group.max(1),
                    first: reader.longs(first, count)?,
                    last: reader.longs(last, count)?,
                    step: reader.longs(step, count)?,
                    axes: Some(reader.longs(axes, count)?),
                }
            }
            Shape::Plane | Shape::Cube => {
                let group = reader.number();
                nulls = Some(reader.null(kind)?);
                let columns = reader.number();
                let is_cube = entry.shape == Shape::Cube;
                let rows = if is_cube { Some(reader.number()) } else { None };
                let (width, height) = (reader.number(), reader.number());
                let depth = if is_cube { reader.number() } else { 1 };
                // Rows with gaps between them in the array are read one by one.
                if columns != width || rows.is_some_and(|rows| rows != height) {
                    return Err(Reason::Arguments);
                }
                let count = width.checked_mul(height).and_then(|count| count.checked_mul(depth));
                Place::Run { group, first: 1, count: count.ok_or(Reason::Arguments)? }
            }
            Shape::ColumnOfType | Shape::Column => {
                let column = reader.integer();
                let (row, element) = (reader.long(), reader.long());
                let count = match entry.caller {
                    Caller::LongFortran => reader.number(),
                    Caller::C | Caller::Fortran => reader.long(),
                };
                Place::Column { column, row, element, count }
            }
            Shape::Close
            | Shape::Scale
            | Shape::NullValue
            | Shape::Decompress
            | Shape::Checksum => return Err(Reason::Arguments),
        };
        let nulls = match (nulls, entry.flags, is_any) {
            (Some(nulls), _, _) => nulls,
            (None, true, _) => NullWish::Flags,
            (None, false, true) => reader.null_at_pointer(kind),
            (None, false, false) => reader.null(kind)?,
        };
        let values = reader.pointer() as *mut u8;
        let flags = if entry.flags { reader.pointer() as *mut u8 } else { std::ptr::null_mut() };
        let (any_null, status) = (reader.pointer() as *mut c_int, reader.pointer() as *mut c_int);
        let count = place.count().ok_or(Reason::Arguments)?;
        if count.saturating_mul(kind.bytes()) < least {
            return Err(Reason::Small);
        }
        let is_whole = count.checked_mul(8).is_some_and(|bytes| bytes <= isize::MAX as usize);
        let is_aligned = values.addr().is_multiple_of(kind.bytes());
        let is_missing = values.is_null() || (entry.flags && flags.is_null());
        if is_missing || !is_whole || !is_aligned {
            return Err(Reason::Arguments);
        }
        let is_block = matches!(entry.shape, Shape::Plane | Shape::Cube);
        let request = Request { place, kind, is_long, nulls, is_block };
        Ok(Call { file, request, count, values, flags, any_null, status })
    }
}

impl Reader {
    fn word(&mut self) -> u64 {
        self.next += 1;
        self.arguments.word(self.next - 1)
    }

    fn pointer(&mut self) -> usize {
        self.word() as usize
    }

    /// Reads a value of the caller.
    fn at<T: AnyBitPattern>(address: usize) -> T {
        // SAFETY: a pointer of the caller to a value of this type.
        unsafe { (address as *const T).read_unaligned() }
    }

    /// Reads an `int`.
    fn integer(&mut self) -> c_int {
        match self.caller {
            Caller::C => self.word() as c_int,
            Caller::Fortran | Caller::LongFortran => Reader::at(self.pointer()),
        }
    }

    /// Reads a `long`; in Fortran an INTEGER.
    fn number(&mut self) -> i64 {
        match self.caller {
            Caller::C => self.word() as i64,
            Caller::Fortran | Caller::LongFortran => Reader::at::<c_int>(self.pointer()).into(),
        }
    }

    /// Reads a `LONGLONG`.
    fn long(&mut self) -> i64 {
        match self.caller {
            Caller::C => self.word() as i64,
            Caller::Fortran => Reader::at::<c_int>(self.pointer()).into(),
            Caller::LongFortran => Reader::at(self.pointer()),
        }
    }

    /// Reads an array of `long`; in Fortran of INTEGER.
    fn longs(&self, address: usize, count: usize) -> Result<Vec<i64>, Reason> {
        if address == 0 {
            return Err(Reason::Arguments);
        }
        Ok((0..count)
            .map(|index| match self.caller {
                Caller::C => Reader::at(address + 8 * index),
                Caller::Fortran | Caller::LongFortran => {
                    Reader::at::<c_int>(address + 4 * index).into()
                }
            })
            .collect())
    }

    fn file(&mut self, library: &Library) -> Option<Handle> {
        let file = match self.caller {
            Caller::C => self.word() as *mut c_void,
            Caller::Fortran | Caller::LongFortran => {
                let unit = self.integer();
                library.file_of_unit(unit)?
            }
        };
        (!file.is_null()).then_some(Handle::new(file))
    }

    /// Reads a null value: from a register, or through a pointer in Fortran.
    fn null(&mut self, kind: PixelType) -> Result<NullWish, Reason> {
        match self.caller {
            Caller::C if kind.is_float() => {
                // SAFETY: `Arguments::new`.
                let bits = unsafe { (*self.arguments.registers).floats[0][0] };
                Ok(wish(kind, bits))
            }
            Caller::C => Ok(wish(kind, self.word())),
            Caller::Fortran | Caller::LongFortran => match self.pointer() {
                0 => Err(Reason::Arguments),
                address => Ok(wish(kind, bits_at(kind, address))),
            },
        }
    }

    /// Reads a null value through a pointer, which may be NULL.
    fn null_at_pointer(&mut self, kind: PixelType) -> NullWish {
        match self.pointer() {
            0 => NullWish::Ignore,
            address => wish(kind, bits_at(kind, address)),
        }
    }
}

/// Returns the bits of a value of the caller.
fn bits_at(kind: PixelType, address: usize) -> u64 {
    match kind.bytes() {
        1 => Reader::at::<u8>(address).into(),
        2 => Reader::at::<u16>(address).into(),
        4 => Reader::at::<u32>(address).into(),
        _ => Reader::at(address),
    }
}

/// Interprets a null value; 0 means that nulls are not checked.
fn wish(kind: PixelType, bits: u64) -> NullWish {
    let bits = match kind.bytes() {
        1 => bits & 0xff,
        2 => bits & 0xffff,
        4 => bits & 0xffff_ffff,
        _ => bits,
    };
    let is_zero = match kind {
        PixelType::F32 => f32::from_bits(bits as u32) == 0.0,
        PixelType::F64 => f64::from_bits(bits) == 0.0,
        _ => bits == 0,
    };
    if is_zero { NullWish::Ignore } else { NullWish::Value(bits) }
}

/// Returns the type with a code of CFITSIO.
fn kind_of(code: c_int) -> Option<PixelType> {
    Some(match code {
        11 => PixelType::U8,
        12 => PixelType::I8,
        20 => PixelType::U16,
        21 => PixelType::I16,
        30 => PixelType::U32,
        31 => PixelType::I32,
        40 | 80 => PixelType::U64,
        41 | 81 => PixelType::I64,
        42 => PixelType::F32,
        82 => PixelType::F64,
        _ => return None,
    })
}

impl Call {
    /// Returns the size of the array to fill, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.count * self.request.kind.bytes()
    }

    /// Returns the caller's arrays, values and flags, as bytes.
    ///
    /// # Safety
    /// They must have the number of elements in the call, and nothing else may use them meanwhile.
    #[expect(clippy::mut_from_ref, reason = "the arrays are the caller's, not the call's")]
    pub(super) unsafe fn arrays(&self) -> (&mut [u8], Option<&mut [u8]>) {
        // SAFETY: the caller's array.
        let values = unsafe { std::slice::from_raw_parts_mut(self.values, self.bytes()) };
        let flags = (!self.flags.is_null()).then(|| {
            // SAFETY: the caller's array.
            unsafe { std::slice::from_raw_parts_mut(self.flags, self.count) }
        });
        (values, flags)
    }

    /// Stores the results of a served call; returns its status.
    ///
    /// # Safety
    /// The caller's variables must still exist.
    pub(super) unsafe fn finish(&self, served: Found) -> u64 {
        if !self.any_null.is_null() {
            // SAFETY: the caller's variable.
            unsafe { self.any_null.write(served.any_null.into()) };
        }
        let status = served.status();
        // SAFETY: the caller's variable.
        unsafe { self.status.write(status) };
        status as u64
    }

    /// Returns the results stored by the real function: whether there are nulls, if the caller requested that, and the
    /// status.
    ///
    /// # Safety
    /// The caller's variables must still exist.
    pub(super) unsafe fn results(&self) -> (Option<c_int>, c_int) {
        // SAFETY: NULL, or the caller's variable.
        let any_null = unsafe { self.any_null.as_ref() }.copied();
        // SAFETY: the caller's variable.
        (any_null, unsafe { self.status.read() })
    }
}
