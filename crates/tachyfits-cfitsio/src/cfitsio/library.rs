//! The CFITSIO that a caller is linked with, found from the calling object, and its functions.
//!
//! `RTLD_NEXT` alone is not enough: Python loads extensions with `RTLD_LOCAL`, where it finds nothing, and two objects
//! of a process may each have their own CFITSIO.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use super::functions::Functions;
use crate::shared::lock;

/// A public symbol that every CFITSIO has and that this library does not define.
const ANCHOR: &CStr = c"ffgerr";

/// A loaded CFITSIO.
#[derive(Debug)]
pub(crate) struct Library {
    /// Base address: the identity of the library.
    base: usize,
    /// Handle that keeps the library loaded.
    handle: Symbols,
    /// Addresses of the library's functions with the names exported here; 0 until they are needed.
    real: Box<[AtomicUsize]>,
    functions: OnceLock<Option<Functions>>,
    /// Whether the checksum functions behave as expected.
    has_checksums: OnceLock<bool>,
    /// Address of the function that returns files of Fortran units, if there is one.
    units: OnceLock<Option<usize>>,
}

/// An object that calls CFITSIO.
struct CallingObject {
    segments: Vec<Range<usize>>,
    library: &'static Library,
    /// Whether the object is CFITSIO itself.
    is_library: bool,
}

/// Symbols for `dlsym` to search.
#[derive(Clone, Copy, Debug)]
struct Symbols(*mut c_void);

// SAFETY: a handle of the loader belongs to no thread.
unsafe impl Send for Symbols {}
// SAFETY: as above.
unsafe impl Sync for Symbols {}

/// Calling objects and libraries found so far. They are few and never freed, because a call may use them at any time.
struct Known {
    callers: Vec<&'static CallingObject>,
    libraries: Vec<&'static Library>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { callers: Vec::new(), libraries: Vec::new() });

/// Caller found last.
static LAST: AtomicPtr<CallingObject> = AtomicPtr::new(std::ptr::null_mut());

/// Returns the library that the code at `address` is linked with, and whether that code is part of it. The library
/// stores the addresses of `rows` functions.
pub(crate) fn library_of(address: usize, rows: usize) -> (&'static Library, bool) {
    let last = LAST.load(Ordering::Acquire);
    // SAFETY: NULL, or a caller that is never freed.
    if let Some(last) = unsafe { last.as_ref() }
        && last.contains(address)
    {
        return (last.library, last.is_library);
    }
    // A child that was forked while another thread had the lock uses a temporary list.
    let mut temporary = Known { callers: Vec::new(), libraries: Vec::new() };
    let mut shared = lock(&KNOWN);
    let known = shared.as_deref_mut().unwrap_or(&mut temporary);
    let caller = known.callers.iter().copied().find(|caller| caller.contains(address));
    let caller = caller.unwrap_or_else(|| known.add_caller(address, rows));
    // Calls of the library to itself occur between those of a program.
    if !caller.is_library {
        LAST.store(std::ptr::from_ref(caller).cast_mut(), Ordering::Release);
    }
    (caller.library, caller.is_library)
}

impl CallingObject {
    fn contains(&self, address: usize) -> bool {
        self.segments.iter().any(|segment| segment.contains(&address))
    }
}

impl Known {
    fn add_caller(&mut self, address: usize, rows: usize) -> &'static CallingObject {
        let object = Object::at(address);
        let (path, segments) =
            object.map_or((None, Vec::new()), |object| (Some(object.path), object.segments));
        let library = self.library_for(path.as_deref(), rows);
        let is_library = segments.iter().any(|segment| segment.contains(&library.base));
        let caller_object = CallingObject { segments, library, is_library };
        // Code outside of any object, such as code generated at run time, is looked up each time, because its memory
        // may be reused.
        let is_lasting = !caller_object.segments.is_empty();
        let caller: &'static CallingObject = Box::leak(Box::new(caller_object));
        if is_lasting {
            self.callers.push(caller);
        }
        caller
    }

    /// Returns the library of the object at a path; an empty path is the program.
    fn library_for(&mut self, path: Option<&CStr>, rows: usize) -> &'static Library {
        let symbols_of_object = path.filter(|path| !path.is_empty()).and_then(Symbols::of_loaded);
        let places =
            [symbols_of_object, Some(Symbols(libc::RTLD_NEXT)), Some(Symbols(libc::RTLD_DEFAULT))];
        let anchor = places.into_iter().flatten().find_map(|symbols| symbols.address(ANCHOR));
        let anchor = anchor.or_else(|| {
            Object::all().iter().find_map(|object| {
                let is_likely = object.path.to_bytes().windows(7).any(|part| part == b"cfitsio");
                is_likely.then(|| Symbols::of_loaded(&object.path)?.address(ANCHOR)).flatten()
            })
        });
        let Some(object) = anchor.and_then(Object::at) else { missing("the CFITSIO library") };
        let base = object.segments.iter().map(|segment| segment.start).min().unwrap_or_default();
        if let Some(library) = self.libraries.iter().find(|library| library.base == base) {
            return library;
        }
        let handle = match object.path.is_empty() {
            // The program itself contains CFITSIO and exports it.
            true => Symbols(libc::RTLD_DEFAULT),
            false => Symbols::of_loaded(&object.path).unwrap_or(Symbols(libc::RTLD_NEXT)),
        };
        let real = (0..rows).map(|_| AtomicUsize::new(0)).collect();
        let (functions, has_checksums) = (OnceLock::new(), OnceLock::new());
        let library =
            Library { base, handle, real, functions, has_checksums, units: OnceLock::new() };
        let library: &'static Library = Box::leak(Box::new(library));
        self.libraries.push(library);
        library
    }
}

impl Library {
    /// Returns the base address, the library's identity.
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    /// Returns the address of the function in a row of the table.
    pub(crate) fn real(&self, row: usize, name: &CStr) -> usize {
        let place = &self.real[row];
        match place.load(Ordering::Relaxed) {
            0 => {
                let Some(address) = self.address(name) else { missing(&name.to_string_lossy()) };
                place.store(address, Ordering::Relaxed);
                address
            }
            address => address,
        }
    }

    /// Returns the functions for serving, if the library has them and they pass the test.
    pub(crate) fn functions(&self) -> Option<&Functions> {
        let functions = self.functions.get_or_init(|| {
            Functions::find(|name| self.address(name)).filter(Functions::pass_test)
        });
        functions.as_ref()
    }

    /// Returns the functions for updating checksums, if they pass their test too.
    pub(crate) fn checksum_functions(&self) -> Option<&Functions> {
        let functions = self.functions()?;
        self.has_checksums.get_or_init(|| functions.pass_checksum_test()).then_some(functions)
    }

    /// Returns the file of a Fortran unit, if the unit has one.
    pub(crate) fn file_of_unit(&self, unit: c_int) -> Option<*mut c_void> {
        let address = *self.units.get_or_init(|| self.address(c"CUnit2FITS"));
        let function = address? as *const c_void;
        // SAFETY: the signature of this function in every CFITSIO with a Fortran interface.
        let function = unsafe {
            std::mem::transmute::<*const c_void, unsafe extern "C" fn(c_int) -> *mut c_void>(
                function,
            )
        };
        // SAFETY: the function accepts any number.
        let file = unsafe { function(unit) };
        (!file.is_null()).then_some(file)
    }

    /// Returns the address of a function of this library.
    fn address(&self, name: &CStr) -> Option<usize> {
        // In a program that is linked with both libraries, the search finds our stub first.
        let this_object = Object::at(library_of as *const () as usize);
        let is_stub = |address: usize| {
            this_object.as_ref().is_some_and(|this_object| {
                this_object.segments.iter().any(|of| of.contains(&address))
            })
        };
        [self.handle, Symbols(libc::RTLD_NEXT)]
            .into_iter()
            .filter_map(|symbols| symbols.address(name))
            .find(|&address| !is_stub(address))
    }
}

impl Symbols {
    /// Returns the symbols of a loaded object, which stays loaded.
    fn of_loaded(path: &CStr) -> Option<Symbols> {
        // SAFETY: the path is a C string; with RTLD_NOLOAD no code runs.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then_some(Symbols(handle))
    }

    fn address(self, name: &CStr) -> Option<usize> {
        // SAFETY: a handle of the loader, and a C string.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address as usize)
    }
}

/// A loaded object: the program, whose path is empty, or a library.
struct Object {
    path: CString,
    segments: Vec<Range<usize>>,
}

impl Object {
    fn at(address: usize) -> Option<Object> {
        Object::all()
            .into_iter()
            .find(|object| object.segments.iter().any(|segment| segment.contains(&address)))
    }

    fn all() -> Vec<Object> {
        let mut objects: Vec<Object> = Vec::new();
        // SAFETY: the callback receives the pointer to the list, which lives until the call ends.
        unsafe { libc::dl_iterate_phdr(Some(add_object), (&raw mut objects).cast()) };
        objects
    }
}

/// Adds an object to the list at `objects`.
unsafe extern "C" fn add_object(
    info: *mut libc::dl_phdr_info,
    _bytes: usize,
    objects: *mut c_void,
) -> c_int {
    // SAFETY: the loader describes an object.
    let info = unsafe { &*info };
    // SAFETY: the list of `Object::all`, which no other code uses meanwhile.
    let objects = unsafe { &mut *objects.cast::<Vec<Object>>() };
    let name: *const c_char = if info.dlpi_name.is_null() { c"".as_ptr() } else { info.dlpi_name };
    // SAFETY: a C string.
    let path = unsafe { CStr::from_ptr(name) }.to_owned();
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the number of headers comes from the loader.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let segments = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD)
        .map(|header| {
            let start = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
            start..start.wrapping_add(header.p_memsz as usize)
        })
        .collect();
    objects.push(Object { path, segments });
    0
}

/// Ends the process as the loader does for a missing symbol: no function can take the call.
fn missing(name: &str) -> ! {
    eprintln!("tachyfits-cfitsio: {name} is not loaded; unset LD_PRELOAD for this program");
    std::process::abort()
}
