//! Rows of a table as a stream of Arrow batches, in a capsule for other libraries.

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tachyfits_arrow::{Faults, FieldMetadata, Request, TableStream, exported};

use crate::errors::{OrRaise, not_negative};
use crate::progress;
use crate::table::Table;
use crate::text::GivenText;

#[pymethods]
impl Table {
    /// Return a capsule with a stream of the rows ``first`` to before ``end``, which its consumer reads batch by batch.
    // `metadata` has the metadata of the schema, and of the field of each column. `faults` is called once after the
    // last batch with, per column, the number of elements that violate the Standard, and whether arrays differ in shape
    // from TDIMn.
    #[pyo3(signature = (columns, first, end, *, condition, batch_rows, metadata, faults, threads=0))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn arrow_stream<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<usize>,
        first: u64,
        end: u64,
        condition: Option<GivenText>,
        batch_rows: u64,
        metadata: (FieldMetadata, Vec<FieldMetadata>),
        faults: Py<PyAny>,
        threads: i64,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let faults: Faults = Box::new(move |column_faults| {
            Python::attach(|py| {
                let column_faults: Vec<_> =
                    column_faults.iter().map(|column| (column.odd, column.misshapen)).collect();
                if let Err(error) = faults.call1(py, (column_faults,)) {
                    error.write_unraisable(py, None);
                }
            });
        });
        let request = Request {
            columns: Some(columns),
            condition: condition.map(|text| text.to_string()),
            rows: first..end,
            batch_rows,
            metadata: Some(metadata),
            faults: Some(faults),
            threads: progress::threads(not_negative(py, "threads", threads)?),
            job: None,
        };
        let table = self.shared();
        let stream = py.detach(|| TableStream::new(table, request)).or_raise(py)?;
        PyCapsule::new_with_value(py, exported(stream), c"arrow_array_stream")
    }
}
