//! What the opaque pointers of C point to, and what can be done with it: safe Rust on the engine.

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
