//! Types of the opaque pointers of C, and their operations: safe Rust on the engine.

pub(crate) mod files;
pub(crate) mod headers;
pub(crate) mod images;
pub(crate) mod jobs;
pub(crate) mod tables;
pub(crate) mod writing;

pub(crate) use files::FileHandle;
pub(crate) use headers::HeaderHandle;
pub(crate) use jobs::{Call, JobHandle};
pub(crate) use writing::{EditorHandle, WriterHandle};

use crate::failure::Failure;

pub(crate) type Outcome<T> = Result<T, Failure>;
