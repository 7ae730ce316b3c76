//! NumPy arrays as memory that the engine writes to: new arrays, and arrays of the caller (`out=`).

use numpy::{
    Element, PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyReadwriteArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods, dtype,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyEllipsis, PyTuple};
use tachyfits::{OutputPixels, PixelType, Reason};
use tachyfits_memory as memory;

use crate::errors::{OrRaise, exception, refused};

/// Subject of a message: file and HDU.
pub(crate) type Place<'a> = (&'a str, Option<usize>);

/// Returns NumPy's name of a type.
pub(crate) fn name(pixel: PixelType) -> &'static str {
    match pixel {
        PixelType::U8 => "uint8",
        PixelType::I8 => "int8",
        PixelType::I16 => "int16",
        PixelType::U16 => "uint16",
        PixelType::I32 => "int32",
        PixelType::U32 => "uint32",
        PixelType::I64 => "int64",
        PixelType::U64 => "uint64",
        PixelType::F32 => "float32",
        PixelType::F64 => "float64",
    }
}

/// Runs the same code for the Rust type of each pixel type.
macro_rules! with_type {
    ($pixel:expr, $function:ident($($argument:expr),*)) => {
        match $pixel {
            PixelType::U8 => $function::<u8>($($argument),*),
            PixelType::I8 => $function::<i8>($($argument),*),
            PixelType::I16 => $function::<i16>($($argument),*),
            PixelType::U16 => $function::<u16>($($argument),*),
            PixelType::I32 => $function::<i32>($($argument),*),
            PixelType::U32 => $function::<u32>($($argument),*),
            PixelType::I64 => $function::<i64>($($argument),*),
            PixelType::U64 => $function::<u64>($($argument),*),
            PixelType::F32 => $function::<f32>($($argument),*),
            PixelType::F64 => $function::<f64>($($argument),*),
        }
    };
}

/// Pixel type that the engine reads and writes.
trait Pixel: Element + bytemuck::NoUninit {
    /// The engine's name of the type.
    const TYPE: PixelType;
    /// Converts an array to the engine's form.
    fn output(pixels: &mut [Self]) -> OutputPixels<'_>;
}

impl Pixel for f32 {
    const TYPE: PixelType = PixelType::F32;
    fn output(pixels: &mut [f32]) -> OutputPixels<'_> {
        OutputPixels::Float32(pixels)
    }
}

impl Pixel for f64 {
    const TYPE: PixelType = PixelType::F64;
    fn output(pixels: &mut [f64]) -> OutputPixels<'_> {
        OutputPixels::Float64(pixels)
    }
}

macro_rules! integers {
    ($($integer:ty: $pixel:ident)+) => {$(
        impl Pixel for $integer {
            const TYPE: PixelType = PixelType::$pixel;
            fn output(pixels: &mut [$integer]) -> OutputPixels<'_> {
                OutputPixels::Bytes(bytemuck::cast_slice_mut(pixels))
            }
        }
    )+};
}
integers!(u8: U8 i8: I8 i16: I16 u16: U16 i32: I32 u32: U32 i64: I64 u64: U64);

/// Returns a new uninitialised array. NumPy allocates it, so it has the large pages of NumPy's allocator and NumPy's
/// error messages (too large, too many axes).
pub(crate) fn empty<'py, T: Element>(
    py: Python<'py>,
    shape: &[u64],
    place: Place<'_>,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    make(py, "empty", shape, place)
}

/// Returns a new array of zeros; memory that is not written to costs nothing.
pub(crate) fn zeros<'py, T: Element>(
    py: Python<'py>,
    shape: &[u64],
    place: Place<'_>,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    make(py, "zeros", shape, place)
}

/// Number of axes that every array may have. Small arrays of zeros cost nothing.
const FEW_AXES: usize = 32;
const FEW_BYTES: u64 = 64 << 10;

fn make<'py, T: Element>(
    py: Python<'py>,
    maker: &str,
    shape: &[u64],
    place: Place<'_>,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    // Importing NumPy and its function takes longer than reading a few pixels. An axis of length 0 counts as 1, because
    // NumPy rejects a shape whose other axes are too long.
    let bytes = shape
        .iter()
        .fold(size_of::<T>() as u64, |bytes, &length| bytes.saturating_mul(length.max(1)));
    if shape.len() <= FEW_AXES && bytes <= FEW_BYTES {
        let shape: Vec<usize> = shape.iter().map(|&length| length as usize).collect();
        return Ok(PyArrayDyn::zeros(py, shape, false));
    }
    let axes = PyTuple::new(py, shape)?;
    let new_array = py.import("numpy")?.call_method1(maker, (axes, dtype::<T>(py)));
    let array = new_array.map_err(|error| no_array(py, place, shape, &error))?;
    Ok(array.cast_into()?)
}

/// Returns the error for an array that NumPy cannot allocate.
pub(crate) fn no_array(py: Python<'_>, place: Place<'_>, shape: &[u64], error: &PyErr) -> PyErr {
    let expected = format!("an array of shape {}", tuple(shape));
    let refusal =
        refused(Reason::Memory, place, expected, format!("NumPy says: {}", error.value(py)));
    exception(py, &refusal)
}

/// Formats a shape as a Python tuple.
pub(crate) fn tuple(shape: &[u64]) -> String {
    let lengths: Vec<_> = shape.iter().map(u64::to_string).collect();
    match lengths.as_slice() {
        [length] => format!("({length},)"),
        lengths => format!("({})", lengths.join(", ")),
    }
}

/// Allocates an array and fills it.
pub(crate) fn filled<'py>(
    py: Python<'py>,
    pixel: PixelType,
    shape: &[u64],
    place: Place<'_>,
    fill: impl FnOnce(OutputPixels<'_>) -> PyResult<()>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    with_type!(pixel, filled_of(py, shape, place, fill))
}

fn filled_of<'py, T: Pixel>(
    py: Python<'py>,
    shape: &[u64],
    place: Place<'_>,
    fill: impl FnOnce(OutputPixels<'_>) -> PyResult<()>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let array = empty::<T>(py, shape, place)?;
    let mut borrowed = borrow(py, &array, place)?;
    fill(T::output(borrowed.as_slice_mut()?))?;
    Ok(array.as_untyped().clone())
}

/// Fills the caller's array, which must have exactly this type and shape, be native-endian and writable. If its memory
/// is not contiguous in C order, the pixels are read into a contiguous array first and then copied.
pub(crate) fn fill_out(
    py: Python<'_>,
    out: &Bound<'_, PyUntypedArray>,
    pixel: PixelType,
    shape: &[u64],
    place: Place<'_>,
    fill: impl FnOnce(OutputPixels<'_>) -> PyResult<()>,
) -> PyResult<()> {
    with_type!(pixel, fill_out_of(py, out, pixel, shape, place, fill))
}

fn fill_out_of<T: Pixel>(
    py: Python<'_>,
    out: &Bound<'_, PyUntypedArray>,
    pixel: PixelType,
    shape: &[u64],
    place: Place<'_>,
    fill: impl FnOnce(OutputPixels<'_>) -> PyResult<()>,
) -> PyResult<()> {
    let own_shape: Vec<u64> = out.shape().iter().map(|&length| length as u64).collect();
    let array = match out.cast::<PyArrayDyn<T>>() {
        Ok(array) if own_shape == shape => array,
        _ => {
            let expected = format!("an array of native {} and shape {}", name(pixel), tuple(shape));
            let found = format!("one of {} and shape {}", out.dtype(), tuple(&own_shape));
            return Err(exception(py, &refused(Reason::Output, place, expected, found)));
        }
    };
    let mut borrowed = borrow(py, array, place)?;
    // The slice from NumPy's Rust interface may also be in Fortran order.
    if array.is_c_contiguous() && array.is_aligned() {
        return fill(T::output(borrowed.as_slice_mut()?));
    }
    drop(borrowed);
    let pieces = filled_of::<T>(py, shape, place, fill)?;
    out.set_item(PyEllipsis::get(py), pieces)
}

/// Passes the bytes of the caller's array to `take`. It must be native-endian, contiguous in C order, and of a pixel
/// type.
pub(crate) fn with_bytes(
    py: Python<'_>,
    array: &Bound<'_, PyUntypedArray>,
    place: Place<'_>,
    take: impl FnOnce(&[u8], PixelType) -> PyResult<()>,
) -> PyResult<()> {
    for pixel in PixelType::ALL {
        if name(pixel) == array.dtype().to_string() {
            return with_type!(pixel, with_bytes_of(py, array, place, take));
        }
    }
    let names: Vec<&str> = PixelType::ALL.into_iter().map(name).collect();
    let expected = format!("an array of native {}", names.join(", "));
    Err(exception(py, &refused(Reason::Output, place, expected, array.dtype().to_string())))
}

fn with_bytes_of<T: Pixel>(
    py: Python<'_>,
    array: &Bound<'_, PyUntypedArray>,
    place: Place<'_>,
    take: impl FnOnce(&[u8], PixelType) -> PyResult<()>,
) -> PyResult<()> {
    let refusal = |found: String| {
        let expected = "an aligned array, contiguous in C order, not written meanwhile";
        exception(py, &refused(Reason::Output, place, expected, found))
    };
    let array = array.cast::<PyArrayDyn<T>>()?;
    if !array.is_c_contiguous() || !array.is_aligned() {
        return Err(refusal("another layout".to_owned()));
    }
    let borrowed = array.try_readonly().map_err(|error| refusal(error.to_string()))?;
    take(bytemuck::cast_slice(borrowed.as_slice()?), T::TYPE)
}

/// Borrows an array for writing. Fails if it is read-only, or another operation is writing to its memory.
pub(crate) fn borrow<'py, T: Element>(
    py: Python<'py>,
    array: &Bound<'py, PyArrayDyn<T>>,
    place: Place<'_>,
) -> PyResult<PyReadwriteArrayDyn<'py, T>> {
    array.try_readwrite().map_err(|error| {
        let found = error.to_string();
        exception(py, &refused(Reason::Output, place, "a writeable array", found))
    })
}

/// Copies the caller's array; too little memory is an error.
pub(crate) fn copied<T: Element + Copy>(
    py: Python<'_>,
    array: &PyReadonlyArray1<'_, T>,
) -> PyResult<Vec<T>> {
    let copy = memory::collected(array.as_array().iter().copied(), "a copy of an array");
    copy.map_err(tachyfits::Error::from).or_raise(py)
}

/// Copies bytes to a Python object; too little memory is an error.
pub(crate) fn bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |out| {
        out.copy_from_slice(bytes);
        Ok(())
    })
}

/// Returns a computed vector as an array of this shape.
pub(crate) fn shaped<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[u64],
    place: Place<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let flat = numpy::PyArray1::from_vec(py, values);
    let axes = PyTuple::new(py, shape)?;
    flat.call_method1("reshape", (axes,)).map_err(|error| no_array(py, place, shape, &error))
}
