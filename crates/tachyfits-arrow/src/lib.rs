//! Rows of tables as streams of Arrow batches.
//!
//! [`TableStream`] reads batches, and [`exported`] passes it to any library that supports [Arrow's C stream
//! interface](https://arrow.apache.org/docs/format/CStreamInterface.html): pyarrow, polars, DuckDB and others. The C
//! interface and the Python package use both.

mod aligned;
mod interface;
mod stream;

pub use aligned::AlignedBytes;
pub use interface::{ArrowArrayStream, exported};
pub use stream::{ColumnFaults, Faults, FieldMetadata, Request, TableStream};
