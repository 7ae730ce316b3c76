//! Unformatted Fortran files: records as bytes of NumPy arrays, and arrays as records. Python defines the meaning of
//! the bytes: a field is (offset in the record, bytes of a number, count, offset in the item, repeats, stride of
//! repeats in the record, stride in the item).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::PyList;
use tachyfits_memory as memory;
use tachyfits_records::{
    Code, Conversion, Error, FileOrder, Narrowing, NewRecords, PixelType, Problem, RecordAccess,
    RecordField, RecordForm, RecordItem, RecordLayout, RecordNumber, RecordOptions, RecordPart,
    RunOptions,
};

use crate::buffer::name;
use crate::errors::{OrRaise, argument};
use crate::interface;
use crate::options;
use crate::progress;
use crate::report;
use crate::source::Given;
use crate::stats::Stats;

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RecordFile>()?;
    module.add_class::<RecordWriter>()?;
    module.add_function(wrap_pyfunction!(append_records, module)?)?;
    module.add_function(wrap_pyfunction!(record_items, module)?)?;
    module.add_function(wrap_pyfunction!(record_least_bytes, module)?)
}

/// The fields of [`RecordField`], in its order.
type Field = (u64, u64, u64, u64, u64, u64, u64);

/// A part of a file from Python: items, their number, bytes of a record and of an item, fields.
type Part<'py> = (PyReadonlyArray1<'py, u8>, u64, u64, u64, Vec<Field>);

fn field((offset, size, elements, to, repeats, step, to_step): Field) -> RecordField {
    RecordField { offset, size, elements, to, repeats, step, to_step }
}

fn layout(record_bytes: u64, item_bytes: u64, fields: Vec<Field>) -> RecordLayout {
    RecordLayout { record_bytes, item_bytes, fields: fields.into_iter().map(field).collect() }
}

/// Returns the kind of access. Direct access requires the number of bytes, and no other kind accepts it.
fn access(py: Python<'_>, name: &str, record_bytes: Option<u64>) -> PyResult<RecordAccess> {
    let hint = "give record_bytes with access=\"direct\", and only there";
    match (name, record_bytes) {
        ("sequential", None) => Ok(RecordAccess::Sequential),
        ("stream", None) => Ok(RecordAccess::Stream),
        ("direct", Some(bytes)) => Ok(RecordAccess::Direct(bytes)),
        ("direct", None) => Err(argument(py, "the bytes of a record", "none", hint)),
        ("sequential" | "stream", Some(bytes)) => {
            Err(argument(py, "no record_bytes", &bytes.to_string(), hint))
        }
        _ => {
            let expected = "access to be one of \"sequential\", \"direct\", \"stream\"";
            Err(argument(py, expected, &format!("{name:?}"), "leave access out for the default"))
        }
    }
}

fn order(py: Python<'_>, name: Option<&str>) -> PyResult<Option<FileOrder>> {
    match name {
        None => Ok(None),
        Some("big") => Ok(Some(FileOrder::Big)),
        Some("little") => Ok(Some(FileOrder::Little)),
        Some(other) => {
            let hint = "leave order out to detect it from the markers, or to use the machine's";
            Err(argument(py, "order to be \"big\" or \"little\"", &format!("{other:?}"), hint))
        }
    }
}

/// An open unformatted file. Opening reads the first records; the index is built when it is first needed.
#[pyclass(frozen, module = "tachyfits._core")]
pub(crate) struct RecordFile {
    file: Arc<tachyfits_records::RecordFile>,
}

#[pymethods]
impl RecordFile {
    /// Open a path, the bytes of a file or a file object, as `FitsFile.open` does.
    #[staticmethod]
    #[pyo3(signature = (source, *, name="<bytes>", on_demand=false, access="sequential", record_bytes=None, markers=None, order=None, recover=false, storage="auto"))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
    fn open(
        py: Python<'_>,
        source: Given<'_>,
        name: &str,
        on_demand: bool,
        access: &str,
        record_bytes: Option<u64>,
        markers: Option<usize>,
        order: Option<&str>,
        recover: bool,
        storage: &str,
    ) -> PyResult<RecordFile> {
        let mut options = RecordOptions::default()
            .access(self::access(py, access, record_bytes)?)
            .marker_bytes(markers)
            .order(self::order(py, order)?)
            .recover(recover)
            .storage(options::storage(py, storage)?);
        let source = source.source(py, name, on_demand, &tachyfits::io::SpoolOptions::default())?;
        let opened = progress::open(py, |spool| {
            options.spool = spool;
            tachyfits_records::RecordFile::open(source, &options)
        })?;
        Ok(RecordFile { file: Arc::new(opened) })
    }

    /// The path.
    #[getter]
    fn name(&self) -> &str {
        self.file.name()
    }

    /// Size in bytes.
    #[getter]
    fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// Bytes of a marker; None without markers.
    #[getter]
    fn markers(&self) -> Option<usize> {
        self.file.markers().map(|markers| markers.bytes())
    }

    /// Notices from opening the file, such as an interrupted append that was undone.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.file.notices().iter().map(ToString::to_string).collect()
    }

    /// Byte order: "big" or "little".
    #[getter]
    fn order(&self) -> &'static str {
        self.file.order().as_str()
    }

    /// Reason for the detected markers; None if they were specified, or the file has none.
    #[getter]
    fn reason(&self) -> Option<String> {
        self.file.detection().map(|detection| detection.reason.clone())
    }

    /// Result for each width and byte order of markers that was tried.
    #[getter]
    fn evidence(&self) -> Vec<String> {
        let evidence = self.file.detection().map(|detection| detection.evidence.as_slice());
        evidence.unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    /// Return the number of records; FormatError if damage hides it.
    fn records(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.file.len()).or_raise(py)
    }

    /// Return the number of complete records before the end or the first damage.
    fn whole_records(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.file.index().map(|index| index.len())).or_raise(py)
    }

    /// Return the damage after the last complete record; None without damage.
    fn damage(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let index = py.detach(|| self.file.index()).or_raise(py)?;
        Ok(index.damage().map(worded))
    }

    /// Return the ranges skipped by recovery: (first byte, byte after the last, reason).
    fn skipped(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64, String)>> {
        let index = py.detach(|| self.file.index()).or_raise(py)?;
        let each = index.skipped().iter();
        Ok(each.map(|(range, why)| (range.start, range.end, worded(why))).collect())
    }

    /// Return rows of (first record, number of records, bytes of each, offset, subrecords) for runs of equal length.
    fn runs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u64>>> {
        let index = py.detach(|| self.file.index()).or_raise(py)?;
        let runs = index.runs();
        let numbers = memory::with_room(runs.len().saturating_mul(5), "the runs of records");
        let mut numbers = numbers.map_err(tachyfits_records::Error::from).or_raise(py)?;
        numbers.extend(runs.iter().flat_map(|run| {
            [run.first, run.count, run.bytes, run.offset, run.pieces.len().max(1) as u64]
        }));
        let flat = numpy::PyArray1::from_vec(py, numbers);
        flat.reshape([runs.len(), 5])
    }

    /// Return the bytes of a record and its offset in the file.
    fn record(&self, py: Python<'_>, record: u64) -> PyResult<(u64, u64)> {
        py.detach(|| {
            self.file.check_records(record, 1)?;
            let index = self.file.index()?;
            let begin = index.payload(record).first().map_or(0, |piece| piece.start);
            Ok::<_, Error>((index.bytes(record).unwrap_or(0), begin))
        })
        .or_raise(py)
    }

    /// Return the common number of bytes of these records; UsageError if they differ.
    fn common_bytes(&self, py: Python<'_>, first: u64, count: u64) -> PyResult<u64> {
        py.detach(|| self.file.common_bytes(first, count)).or_raise(py)
    }

    /// Return the possible number of equal records from one on, and their bytes, according to the first one's marker.
    fn ahead(&self, py: Python<'_>, first: u64, most: u64) -> PyResult<Option<(u64, u64)>> {
        py.detach(|| self.file.ahead(first, most)).or_raise(py)
    }

    /// Read records of equal length into bytes; with `ahead` return whether they are of equal length.
    #[pyo3(signature = (first, count, record_bytes, item_bytes, fields, out, *, step=1, ahead=false, threads=0, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "arguments of a Python function")]
    fn read(
        &self,
        py: Python<'_>,
        first: u64,
        count: u64,
        record_bytes: u64,
        item_bytes: u64,
        fields: Vec<Field>,
        mut out: PyReadwriteArray1<'_, u8>,
        step: u64,
        ahead: bool,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<bool> {
        let layout = layout(record_bytes, item_bytes, fields);
        let bytes = out.as_slice_mut()?;
        let file = &self.file;
        let report = progress::run(py, threads, progress, |options| match (ahead, step) {
            (true, _) => file.read_ahead(first, count, &layout, bytes, options),
            (false, 1) => file.read(first, count, &layout, bytes, options).map(Some),
            (false, _) => file.read_every(first, step, count, &layout, bytes, options).map(Some),
        })?;
        let all = report.is_some();
        report.map_or(Ok(()), |report| report::collect(py, report))?;
        Ok(all)
    }

    /// Return the full statistics of the numbers of records, or of a field of them.
    #[pyo3(signature = (first, count, dtype, *, fields=None, is_complex=false, threads=0, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "arguments of a Python function")]
    fn stats(
        &self,
        py: Python<'_>,
        first: u64,
        count: u64,
        dtype: &str,
        fields: Option<Vec<Field>>,
        is_complex: bool,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Stats>> {
        let number = number(dtype).ok_or_else(|| {
            let expected = "integers, reals or complex numbers";
            Error::from(Problem::new(Code::Type, expected, dtype).in_file(self.file.name()))
        });
        let number = number.or_raise(py)?;
        let fields: Option<Vec<_>> = fields.map(|fields| fields.into_iter().map(field).collect());
        let fields = fields.as_deref();
        let (parts, report) = progress::run(py, threads, progress, |options| match is_complex {
            true => {
                let (parts, report) =
                    self.file.complex_stats(first, count, number, fields, options)?;
                Ok::<_, Error>((parts.to_vec(), report))
            }
            false => {
                let (stats, report) = self.file.stats(first, count, number, fields, options)?;
                Ok((vec![stats], report))
            }
        })?;
        report::collect(py, report)?;
        let common = self.file.common_bytes(first, count);
        let shaped = |stats: tachyfits_records::Stats| {
            let all = stats.count + stats.nan;
            let shape = match common {
                Ok(bytes) if count > 0 && bytes > 0 => vec![count, all / count],
                _ => vec![all],
            };
            Stats::new(stats, shape, report)
        };
        Ok(parts.into_iter().map(shaped).collect())
    }

    /// Write the records as a new file; return their number.
    #[pyo3(signature = (path, *, access="sequential", record_bytes=None, markers=4, order=None, forms=Vec::new(), last_repeats=false, precision=None, overwrite=false, sync=false, threads=0, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
    fn convert(
        &self,
        py: Python<'_>,
        path: PathBuf,
        access: &str,
        record_bytes: Option<u64>,
        markers: usize,
        order: Option<&str>,
        forms: Vec<String>,
        last_repeats: bool,
        precision: Option<&str>,
        overwrite: bool,
        sync: bool,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        let access = self::access(py, access, record_bytes)?;
        let order = self::order(py, order)?.unwrap_or(self.file.order());
        let new = NewRecords::default()
            .access(access)
            .marker_bytes(markers)
            .order(order)
            .overwrite(overwrite)
            .sync(sync);
        let forms = forms.iter().map(|form| self::form(py, form)).collect::<PyResult<_>>()?;
        let narrowing = precision.map(|name| narrowing(py, name)).transpose()?;
        let conversion = Conversion::default()
            .new(new)
            .forms(forms)
            .last_repeats(last_repeats)
            .narrowing(narrowing);
        progress::run(py, threads, progress, |options| {
            self.file.convert(&path, &conversion, options)
        })
    }

    fn __repr__(&self) -> String {
        let file = &self.file;
        format!("<RecordFile {:?}: {} bytes, {}-endian>", file.name(), file.bytes(), self.order())
    }
}

fn narrowing(py: Python<'_>, precision: &str) -> PyResult<Narrowing> {
    match precision {
        "single" => Ok(Narrowing::Single),
        "double" => Ok(Narrowing::Double),
        _ => {
            let expected = "precision to be \"single\" or \"double\"";
            let hint = "single converts reals of 8 bytes to 4, double reals of 16 bytes to 8";
            Err(argument(py, expected, &format!("{precision:?}"), hint))
        }
    }
}

/// Returns the number type with NumPy's name; real(16) is always "float128" here, even if NumPy does not have it.
fn number(dtype: &str) -> Option<RecordNumber> {
    match dtype {
        "float16" => Some(RecordNumber::Half),
        "float128" => Some(RecordNumber::Quad),
        _ => PixelType::ALL.into_iter().find(|&pixel| name(pixel) == dtype).map(RecordNumber::from),
    }
}

/// Parses a form, or raises an exception.
fn form(py: Python<'_>, text: &str) -> PyResult<RecordForm> {
    let form = RecordForm::parse(text);
    let form = form.map_err(|problem| Error::from(problem.in_file("a form of records")));
    form.or_raise(py)
}

/// A new unformatted file, which gets its name when it is complete.
#[pyclass(frozen, module = "tachyfits._core")]
pub(crate) struct RecordWriter(Mutex<Option<tachyfits_records::RecordWriter>>);

#[pymethods]
impl RecordWriter {
    /// Create a file.
    #[staticmethod]
    #[pyo3(signature = (path, *, access="sequential", record_bytes=None, markers=4, order=None, overwrite=false, sync=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        access: &str,
        record_bytes: Option<u64>,
        markers: usize,
        order: Option<&str>,
        overwrite: bool,
        sync: bool,
    ) -> PyResult<RecordWriter> {
        let access = self::access(py, access, record_bytes)?;
        let order = self::order(py, order)?.unwrap_or(FileOrder::NATIVE);
        let new = NewRecords::default()
            .access(access)
            .marker_bytes(markers)
            .order(order)
            .overwrite(overwrite)
            .sync(sync);
        let writer =
            py.detach(|| tachyfits_records::RecordWriter::create(&path, &new)).or_raise(py)?;
        Ok(RecordWriter(Mutex::new(Some(writer))))
    }

    /// Write records of one layout. After an error the file is discarded.
    #[pyo3(signature = (items, count, record_bytes, item_bytes, fields, *, threads=0, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "arguments of a Python function")]
    fn write(
        &self,
        py: Python<'_>,
        items: PyReadonlyArray1<'_, u8>,
        count: u64,
        record_bytes: u64,
        item_bytes: u64,
        fields: Vec<Field>,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let layout = layout(record_bytes, item_bytes, fields);
        let part = RecordPart { items: items.as_slice()?, count, layout: &layout };
        let mut writer = self.take(py)?;
        let result = progress::run(py, threads, progress, |options| writer.write(&part, options));
        if result.is_ok() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        }
        result
    }

    /// Give the file its name; return the number of records.
    fn finish(&self, py: Python<'_>) -> PyResult<u64> {
        let writer = self.take(py)?;
        let records = writer.records();
        py.detach(|| writer.finish()).or_raise(py)?;
        Ok(records)
    }

    /// Discard the file.
    fn abandon(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl RecordWriter {
    fn take(&self, py: Python<'_>) -> PyResult<tachyfits_records::RecordWriter> {
        let writer = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        writer.ok_or_else(|| {
            let hint = "create a new file; after an error nothing of the old one remains";
            argument(py, "a file that is being written", "one that is finished or given up", hint)
        })
    }
}

/// Append records to a file, all of them or none; return notices about the file.
#[pyfunction]
#[pyo3(signature = (path, parts, *, access="sequential", record_bytes=None, markers=None, order=None, threads=0, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
fn append_records(
    py: Python<'_>,
    path: PathBuf,
    parts: Vec<Part<'_>>,
    access: &str,
    record_bytes: Option<u64>,
    markers: Option<usize>,
    order: Option<&str>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<String>> {
    let options = RecordOptions::default()
        .access(self::access(py, access, record_bytes)?)
        .marker_bytes(markers)
        .order(self::order(py, order)?);
    let layouts: Vec<_> = parts.iter().map(|part| layout(part.2, part.3, part.4.clone())).collect();
    let each = parts.iter().zip(&layouts);
    let engine_parts: Vec<_> = each
        .map(|(part, layout)| Ok(RecordPart { items: part.0.as_slice()?, count: part.1, layout }))
        .collect::<PyResult<_>>()?;
    let notices = progress::run(py, threads, progress, |run: &RunOptions<'_>| {
        tachyfits_records::append_records(&path, &options, &engine_parts, run)
    })?;
    Ok(notices.iter().map(ToString::to_string).collect())
}

/// Return the items of a record of `record_bytes` bytes with this form.
#[pyfunction]
fn record_items<'py>(
    py: Python<'py>,
    form: &str,
    record_bytes: u64,
) -> PyResult<Bound<'py, PyList>> {
    listed(py, &tachyfits_records::record_items(form, record_bytes).or_raise(py)?)
}

fn listed<'py>(py: Python<'py>, items: &[RecordItem]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for item in items {
        let parts = listed(py, &item.parts)?;
        list.append((item.kind.letter(), item.size, item.count, item.offset, parts))?;
    }
    Ok(list)
}

/// Return the minimum bytes of a record of a form: those of all items except the one that fills it.
#[pyfunction]
fn record_least_bytes(py: Python<'_>, form: &str) -> PyResult<u64> {
    tachyfits_records::record_least_bytes(form).or_raise(py)
}

/// Formats a problem with its hint, in the words of the current interface.
fn worded(problem: &Problem) -> String {
    interface::message(&format!("{problem:#}")).into_owned()
}
