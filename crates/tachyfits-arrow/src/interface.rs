//! Arrow's C stream interface: <https://arrow.apache.org/docs/format/CStreamInterface.html>.
//!
//! The consumer must follow the rules of the interface: pass the structs that these functions filled, from one thread
//! at a time, and release each once. The unsafe blocks below rely on this.
#![expect(
    unsafe_code,
    reason = "the border to other libraries: see DESIGN.md, \"Where is unsafe code allowed?\""
)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use tachyfits::io::IoError;
use tachyfits::{Error, ErrorKind};

use crate::aligned::AlignedBytes;
use crate::stream::{Node, TableStream, Values};

/// Type of an array (`ArrowSchema`).
#[repr(C)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// Values of an array (`ArrowArray`).
#[repr(C)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// A stream of batches. Dropping it releases what its consumer did not take.
#[repr(C)]
pub struct ArrowArrayStream {
    get_schema: Option<extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

// SAFETY: a stream may move between threads, but is used by one at a time; its contents permit that.
unsafe impl Send for ArrowArrayStream {}

impl Drop for ArrowArrayStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            release(self);
        }
    }
}

/// End of a stream: an array that needs no release.
const RELEASED: ArrowArray = ArrowArray {
    length: 0,
    null_count: 0,
    offset: 0,
    n_buffers: 0,
    n_children: 0,
    buffers: null_mut(),
    children: null_mut(),
    dictionary: null_mut(),
    release: None,
    private_data: null_mut(),
};

/// Flag of a nullable field (ARROW_FLAG_NULLABLE).
const NULLABLE: i64 = 2;

/// Error number of an invalid argument (EINVAL).
const INVALID: c_int = 22;

/// Dereferences a mutable struct of the consumer; `None` for NULL.
fn mutable<'a, T>(pointer: *mut T) -> Option<&'a mut T> {
    // SAFETY: NULL, or a valid struct used by one thread.
    unsafe { pointer.as_mut() }
}

/// Takes back the memory that a struct owns; `None` for NULL.
fn into_box<T>(pointer: *mut T) -> Option<Box<T>> {
    // SAFETY: created by `Box::into_raw` in this module, and taken back once.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}

/// Writes a result to the consumer's memory, without reading its old content.
fn put<T>(place: *mut T, value: T) -> Option<()> {
    if place.is_null() {
        return None;
    }
    // SAFETY: not NULL; memory of the consumer for a value of this type.
    unsafe { place.write(value) };
    Some(())
}

/// Runs the release of a struct; a panic must not unwind into C.
fn without_panic(body: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(body));
}

/// Memory owned by a schema.
struct SchemaOwner {
    format: CString,
    name: CString,
    metadata: Vec<u8>,
    children: Vec<*mut ArrowSchema>,
}

/// Memory owned by an array.
struct ArrayOwner {
    /// Only kept alive: `pointers` refers to these buffers.
    _buffers: Vec<Option<AlignedBytes>>,
    pointers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

/// State of a stream.
struct StreamOwner {
    stream: TableStream,
    last_error: Option<CString>,
}

/// Converts text to a C string, without the NULs that would end it.
fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// Encodes keys and values for the interface: counts and lengths are native 32-bit integers.
fn metadata_bytes(entries: &[(String, String)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |text: &[u8]| {
        bytes.extend((text.len() as i32).to_ne_bytes());
        bytes.extend(text);
    };
    for (name, text) in entries {
        put(name.as_bytes());
        put(text.as_bytes());
    }
    [&(entries.len() as i32).to_ne_bytes()[..], &bytes].concat()
}

fn schema_of(node: Node) -> ArrowSchema {
    let children = node.children.into_iter().map(|child| Box::into_raw(Box::new(schema_of(child))));
    let mut owner = Box::new(SchemaOwner {
        format: c_text(&node.format),
        name: c_text(&node.name),
        metadata: metadata_bytes(&node.metadata),
        children: children.collect(),
    });
    ArrowSchema {
        format: owner.format.as_ptr(),
        name: owner.name.as_ptr(),
        metadata: match node.metadata.is_empty() {
            true => std::ptr::null(),
            false => owner.metadata.as_ptr().cast(),
        },
        flags: NULLABLE,
        n_children: owner.children.len() as i64,
        children: owner.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_schema),
        private_data: Box::into_raw(owner).cast(),
    }
}

fn array_of(values: Values) -> ArrowArray {
    let children =
        values.children.into_iter().map(|child| Box::into_raw(Box::new(array_of(child))));
    let pointer = |buffer: &Option<AlignedBytes>| {
        buffer.as_ref().map_or(std::ptr::null(), |bytes| bytes.bytes().as_ptr().cast())
    };
    let mut owner = Box::new(ArrayOwner {
        pointers: values.buffers.iter().map(pointer).collect(),
        children: children.collect(),
        _buffers: values.buffers,
    });
    ArrowArray {
        length: values.length as i64,
        null_count: values.null_count as i64,
        offset: 0,
        n_buffers: owner.pointers.len() as i64,
        n_children: owner.children.len() as i64,
        buffers: owner.pointers.as_mut_ptr(),
        children: owner.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(owner).cast(),
    }
}

/// Releases a child that its consumer has not moved away.
fn release_child<T>(child: *mut T, release: impl FnOnce(&T) -> Option<extern "C" fn(*mut T)>) {
    if let Some(release) = mutable(child).and_then(|child| release(child)) {
        release(child);
    }
    drop(into_box(child));
}

extern "C" fn release_schema(schema: *mut ArrowSchema) {
    without_panic(|| {
        let Some(schema) = mutable(schema) else { return };
        schema.release = None;
        let Some(owner) = into_box(schema.private_data.cast::<SchemaOwner>()) else { return };
        for child in owner.children {
            release_child(child, |child| child.release);
        }
    });
}

extern "C" fn release_array(array: *mut ArrowArray) {
    without_panic(|| {
        let Some(array) = mutable(array) else { return };
        array.release = None;
        let Some(owner) = into_box(array.private_data.cast::<ArrayOwner>()) else { return };
        for child in owner.children {
            release_child(child, |child| child.release);
        }
    });
}

/// Runs a function of a stream, and stores its error as the last error.
fn with_stream(
    stream: *mut ArrowArrayStream,
    operate: impl FnOnce(&mut TableStream) -> Result<c_int, Error>,
) -> c_int {
    let Some(stream) = mutable(stream) else { return INVALID };
    let Some(owner) = mutable(stream.private_data.cast::<StreamOwner>()) else { return INVALID };
    let outcome = catch_unwind(AssertUnwindSafe(|| operate(&mut owner.stream)));
    let (number, message) = match outcome {
        Ok(Ok(number)) => (number, None),
        Ok(Err(error)) => (errno(&error), Some(format!("{error:#}"))),
        Err(_) => (INVALID, Some("internal error: please report it with the file".to_owned())),
    };
    owner.last_error = message.map(|message| c_text(&message));
    number
}

extern "C" fn get_schema(stream: *mut ArrowArrayStream, schema: *mut ArrowSchema) -> c_int {
    with_stream(
        stream,
        |stream| Ok(put(schema, schema_of(stream.schema())).map_or(INVALID, |()| 0)),
    )
}

extern "C" fn get_next(stream: *mut ArrowArrayStream, array: *mut ArrowArray) -> c_int {
    with_stream(stream, |stream| {
        let next = stream.next()?.map_or(RELEASED, array_of);
        Ok(put(array, next).map_or(INVALID, |()| 0))
    })
}

extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    let owner =
        mutable(stream).and_then(|stream| mutable(stream.private_data.cast::<StreamOwner>()));
    let text = owner.and_then(|owner| owner.last_error.as_ref());
    text.map_or(std::ptr::null(), |text| text.as_ptr())
}

extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    without_panic(|| {
        let Some(stream) = mutable(stream) else { return };
        stream.release = None;
        drop(into_box(stream.private_data.cast::<StreamOwner>()));
    });
}

/// Returns the error number (errno) of Arrow's stream interface for an error.
fn errno(error: &Error) -> c_int {
    let (io, memory, cancelled) = (5, 12, 125);
    match (error, error.kind()) {
        (Error::Io(IoError::Cancelled), _) => cancelled,
        (_, ErrorKind::Io) => io,
        (_, ErrorKind::Limit) => memory,
        _ => INVALID,
    }
}

/// Exports a stream to other libraries, which release it.
pub fn exported(stream: TableStream) -> ArrowArrayStream {
    let owner = Box::new(StreamOwner { stream, last_error: None });
    ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(owner).cast(),
    }
}
