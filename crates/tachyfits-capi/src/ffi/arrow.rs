//! Arrow's C stream interface: <https://arrow.apache.org/docs/format/CStreamInterface.html>.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null_mut;

use super::{call, guarded, infallible, mutable, optional_text, put, reference, slice, taken};
use crate::failure::Failure;
use crate::handles::pixels::AlignedBytes;
use crate::handles::table_stream::{Node, Request, TableStream, Values, errno};
use crate::handles::{FileHandle, Outcome};
use crate::types::{CError, COptions};

/// A type.
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

/// Values.
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

/// Batches, one after another.
#[repr(C)]
pub struct ArrowArrayStream {
    get_schema: Option<extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

/// The end of a stream: an array that needs no release.
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

/// Any field may have nulls (ARROW_FLAG_NULLABLE).
const NULLABLE: i64 = 2;

/// Memory of a schema.
struct SchemaOwner {
    format: CString,
    name: CString,
    metadata: Vec<u8>,
    children: Vec<*mut ArrowSchema>,
}

/// Memory of an array.
struct ArrayOwner {
    /// Only held: `pointers` refers to them.
    _buffers: Vec<Option<AlignedBytes>>,
    pointers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

/// State of a stream.
struct StreamOwner {
    stream: TableStream,
    last_error: Option<CString>,
}

/// Text without the NULs that would end it.
fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// Names and texts as the interface has them: their numbers and lengths as 32-bit integers of the machine.
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

/// Releases what a child still holds; its consumer may have moved it away.
fn release_child<T>(child: *mut T, release: impl FnOnce(*mut T)) {
    release(child);
    drop(taken(child));
}

extern "C" fn release_schema(schema: *mut ArrowSchema) {
    infallible((), || {
        let Ok(schema) = mutable(schema, "schema") else { return };
        schema.release = None;
        let Some(owner) = taken(schema.private_data.cast::<SchemaOwner>()) else { return };
        for child in owner.children {
            release_child(child, |child| {
                let release = mutable(child, "child").ok().and_then(|child| child.release);
                release.into_iter().for_each(|release| release(child));
            });
        }
    });
}

extern "C" fn release_array(array: *mut ArrowArray) {
    infallible((), || {
        let Ok(array) = mutable(array, "array") else { return };
        array.release = None;
        let Some(owner) = taken(array.private_data.cast::<ArrayOwner>()) else { return };
        for child in owner.children {
            release_child(child, |child| {
                let release = mutable(child, "child").ok().and_then(|child| child.release);
                release.into_iter().for_each(|release| release(child));
            });
        }
    });
}

/// Runs a function of a stream; its error becomes the last one.
fn with_stream(
    stream: *mut ArrowArrayStream,
    operate: impl FnOnce(&mut TableStream) -> Outcome<()>,
) -> c_int {
    let invalid = 22;
    infallible(invalid, || {
        let Ok(stream) = mutable(stream, "stream") else { return invalid };
        let Ok(owner) = mutable(stream.private_data.cast::<StreamOwner>(), "stream") else {
            return invalid;
        };
        let operate = std::panic::AssertUnwindSafe(|| operate(&mut owner.stream));
        let outcome = std::panic::catch_unwind(operate)
            .unwrap_or_else(|panic| Err(Failure::internal(&*panic)));
        owner.last_error = outcome.as_ref().err().map(|failure| c_text(&failure.to_string()));
        outcome.map_or_else(|failure| errno(&failure), |()| 0)
    })
}

extern "C" fn get_schema(stream: *mut ArrowArrayStream, schema: *mut ArrowSchema) -> c_int {
    with_stream(stream, |stream| put(schema, "schema", || Ok(schema_of(stream.schema()))))
}

extern "C" fn get_next(stream: *mut ArrowArrayStream, array: *mut ArrowArray) -> c_int {
    with_stream(stream, |stream| {
        put(array, "array", || Ok(stream.next()?.map_or(RELEASED, array_of)))
    })
}

extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    infallible(std::ptr::null(), || {
        let owner = reference(stream, "stream").map(|stream| stream.private_data);
        let owner = owner.and_then(|owner| reference(owner.cast::<StreamOwner>(), "stream"));
        let text = owner.ok().and_then(|owner| owner.last_error.as_ref());
        text.map_or(std::ptr::null(), |text| text.as_ptr())
    })
}

extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    infallible((), || {
        let Ok(stream) = mutable(stream, "stream") else { return };
        stream.release = None;
        drop(taken(stream.private_data.cast::<StreamOwner>()));
    });
}

/// Give rows of a table as a stream of Arrow batches, for pyarrow, polars, DuckDB and others: `count` columns, or all if
/// `columns` is NULL; of `rows` rows from `first` (UINT64_MAX: to the end) those that meet `condition`, which may be NULL;
/// `batch_rows` rows are read at a time (0: 100000). The consumer releases the stream; the file may be closed before.
///
/// Array cells are fixed-size lists, nested in the order of C, cells of different lengths large lists, complex numbers lists of
/// two floats, text UTF-8. Units, descriptions and TFORMn are in the metadata of the fields.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_export_arrow(
    file: *const FileHandle,
    hdu: usize,
    columns: *const i32,
    count: usize,
    condition: *const c_char,
    first: u64,
    rows: u64,
    batch_rows: u64,
    stream: *mut ArrowArrayStream,
    options: *const COptions,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put(stream, "stream", || {
            let table = reference(file, "file")?.table(hdu)?;
            let columns = match columns.is_null() {
                true => None,
                false => Some(slice(columns, count, "columns")?),
            };
            let condition = optional_text(condition, "condition")?;
            let request = Request { columns, condition, first, rows, batch_rows };
            let stream = TableStream::new(table, &request, &call(options)?)?;
            let owner = Box::new(StreamOwner { stream, last_error: None });
            Ok(ArrowArrayStream {
                get_schema: Some(get_schema),
                get_next: Some(get_next),
                get_last_error: Some(get_last_error),
                release: Some(release_stream),
                private_data: Box::into_raw(owner).cast(),
            })
        })
    })
}
