//! Arrays in the form of DLPack: memory, type and shape, with a function that frees them.

use std::ffi::c_void;

use tachyfits::PixelType;
use tachyfits_arrow::AlignedBytes;

/// Version of DLPack.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLPackVersion {
    pub major: u32,
    pub minor: u32,
}

/// Device of the memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLDevice {
    /// 1: the processor's memory.
    pub device_type: i32,
    pub device_id: i32,
}

/// Type of an element.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DLDataType {
    /// 0: signed integers, 1: unsigned integers, 2: floats.
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

/// An array.
#[repr(C)]
pub struct DLTensor {
    pub data: *mut c_void,
    pub device: DLDevice,
    pub ndim: i32,
    pub dtype: DLDataType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// An array, and the function that frees it.
#[repr(C)]
pub struct DLManagedTensorVersioned {
    pub version: DLPackVersion,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<extern "C" fn(*mut DLManagedTensorVersioned)>,
    pub flags: u64,
    pub dl_tensor: DLTensor,
}

/// Memory owned by a tensor.
struct Owner {
    memory: AlignedBytes,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// The processor's memory (kDLCPU).
const CPU: DLDevice = DLDevice { device_type: 1, device_id: 0 };

/// Exports pixels; `lengths` are those of the axes, NAXIS1 first.
pub(super) fn exported(
    memory: AlignedBytes,
    pixel: PixelType,
    lengths: &[u64],
) -> *mut DLManagedTensorVersioned {
    let code = match pixel {
        PixelType::F32 | PixelType::F64 => 2,
        PixelType::U8 | PixelType::U16 | PixelType::U32 | PixelType::U64 => 1,
        PixelType::I8 | PixelType::I16 | PixelType::I32 | PixelType::I64 => 0,
    };
    let mut strides = Vec::new();
    let mut stride = 1;
    for length in lengths {
        strides.push(stride);
        stride *= *length as i64;
    }
    strides.reverse();
    let shape: Vec<_> = lengths.iter().rev().map(|length| *length as i64).collect();
    let mut owner = Box::new(Owner { memory, shape, strides });
    let dl_tensor = DLTensor {
        data: owner.memory.bytes_mut().as_mut_ptr().cast(),
        device: CPU,
        ndim: lengths.len() as i32,
        dtype: DLDataType { code, bits: 8 * pixel.bytes() as u8, lanes: 1 },
        shape: owner.shape.as_mut_ptr(),
        strides: owner.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    Box::into_raw(Box::new(DLManagedTensorVersioned {
        version: DLPackVersion { major: 1, minor: 0 },
        manager_ctx: Box::into_raw(owner).cast(),
        deleter: Some(release),
        flags: 0,
        dl_tensor,
    }))
}

/// Frees a tensor.
extern "C" fn release(tensor: *mut DLManagedTensorVersioned) {
    super::infallible((), || {
        if let Some(tensor) = super::into_box(tensor) {
            drop(super::into_box(tensor.manager_ctx.cast::<Owner>()));
        }
    });
}
