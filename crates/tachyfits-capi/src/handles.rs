//! Types of the opaque C pointers, and their operations: safe Rust on the engine.

pub(crate) mod call;
pub(crate) mod columns;
mod convert;
pub(crate) mod file_handle;
pub(crate) mod header_handle;
pub(crate) mod new_files;
pub(crate) mod pixels;

pub(crate) use call::Call;
pub(crate) use file_handle::FileHandle;
pub(crate) use header_handle::HeaderHandle;
pub(crate) use new_files::{EditorHandle, WriterHandle};

use crate::failure::Failure;

pub(crate) type Outcome<T> = Result<T, Failure>;
