//! Rows of tables as streams of Arrow batches.
//!
//! [`TableStream`] reads batches, and [`exported`] hands it to any library that takes
//! [Arrow's C stream interface](https://arrow.apache.org/docs/format/CStreamInterface.html): pyarrow, polars, DuckDB and others.
//! C and Python call both.

mod aligned;
mod interface;
mod stream;

pub use aligned::AlignedBytes;
pub use interface::{ArrowArrayStream, exported};
pub use stream::{ColumnFaults, Faults, FieldMetadata, Request, TableStream};
