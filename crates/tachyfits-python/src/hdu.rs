//! One header and data unit.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tachyfits::HduKind;
use tachyfits::checksum::OnesComplement;

use crate::buffer::{bytes, shaped};
use crate::checks::{self, Checksum};
use crate::errors::{OrRaise, argument};
use crate::header::Header;
use crate::image::Image;
use crate::table::Table;

/// One header and data unit of an open file.
#[pyclass(frozen, module = "tachyfits._core")]
pub(crate) struct Hdu {
    file: Arc<tachyfits::FitsFile>,
    hdu: Arc<tachyfits::Hdu>,
}

impl Hdu {
    pub(crate) fn new(file: Arc<tachyfits::FitsFile>, hdu: Arc<tachyfits::Hdu>) -> Hdu {
        Hdu { file, hdu }
    }
}

#[pymethods]
impl Hdu {
    /// 0-based number in the file.
    #[getter]
    fn index(&self) -> usize {
        self.hdu.index
    }

    /// "primary", "image", "random groups", "binary table", "ascii table", or the XTENSION of another extension.
    #[getter]
    fn kind(&self) -> &str {
        self.hdu.kind.as_str()
    }

    /// EXTNAME; None without one.
    #[getter]
    fn extname(&self) -> Option<&str> {
        self.hdu.extname.as_deref()
    }

    /// EXTVER; 1 without one.
    #[getter]
    fn extver(&self) -> i64 {
        self.hdu.extver
    }

    /// Binary table that stores the HDU in compressed tiles; None for an HDU that is not compressed.
    #[getter]
    fn stored(&self) -> Option<Hdu> {
        let stored = self.file.stored_hdu(self.hdu.index).ok()?;
        let same = Arc::ptr_eq(stored, &self.hdu);
        (!same).then(|| Hdu::new(Arc::clone(&self.file), Arc::clone(stored)))
    }

    /// Offset of the header, in bytes.
    #[getter]
    fn header_offset(&self) -> u64 {
        self.hdu.header_offset
    }

    /// Offset of the data, in bytes.
    #[getter]
    fn data_offset(&self) -> u64 {
        self.hdu.data_offset
    }

    /// Bytes of data according to the header, without fill.
    #[getter]
    fn data_bytes(&self) -> u64 {
        self.hdu.data_bytes
    }

    /// Bytes of data in the file: fewer if it is truncated.
    #[getter]
    fn data_bytes_present(&self) -> u64 {
        self.hdu.data_bytes_present
    }

    /// NAXIS1, NAXIS2, ... in FITS order, from the header.
    #[getter]
    fn axes(&self) -> Vec<u64> {
        self.hdu.axes.clone()
    }

    /// Whether the data are an array, or random groups as an array with an extra axis. `image` may still reject it.
    #[getter]
    fn has_image(&self) -> bool {
        let kinds = [HduKind::Primary, HduKind::Image, HduKind::RandomGroups];
        kinds.contains(&self.hdu.kind) && !self.hdu.axes.is_empty()
    }

    /// Whether the HDU is a binary or ASCII table. `table` may still reject its columns.
    #[getter]
    fn has_table(&self) -> bool {
        matches!(self.hdu.kind, HduKind::BinaryTable | HduKind::AsciiTable)
    }

    /// Return the cards.
    fn header(&self) -> Header {
        Header::new(Arc::clone(&self.hdu))
    }

    /// Return the pixels.
    fn image(&self, py: Python<'_>) -> PyResult<Image> {
        if self.hdu.axes.is_empty() {
            let (index, name) = (self.hdu.index, self.file.name());
            let found = format!("NAXIS = 0 in HDU {index} (0-based) of {name:?}");
            let hint = "has_image says which HDUs have pixels";
            return Err(argument(py, "an HDU with pixels", &found, hint));
        }
        let image = py.detach(|| self.file.image(self.hdu.index)).or_raise(py)?;
        Ok(Image::new(image))
    }

    /// Return the rows and columns.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        let table = py.detach(|| self.file.table(self.hdu.index)).or_raise(py)?;
        Ok(Table::new(table))
    }

    /// Sum the bytes of the HDU and compare them with DATASUM and CHECKSUM.
    #[pyo3(signature = (*, threads=0, progress=None))]
    fn checksum(
        &self,
        py: Python<'_>,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Checksum> {
        checks::checksum(py, &self.file, self.hdu.index, threads, progress)
    }

    /// Return the header blocks of a new file with checksums; `sums`: sums of the parts of the data.
    fn header_with_checksums<'py>(
        &self,
        py: Python<'py>,
        sums: Vec<u32>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut data = OnesComplement::default();
        sums.into_iter().for_each(|sum| data.merge(OnesComplement::from_sum(sum)));
        let header = self.file.header_with_checksums(self.hdu.index, data).or_raise(py)?;
        bytes(py, &header)
    }

    /// Return the parameters of random groups: a dictionary by PTYPE of scaled float64 arrays, one value per group.
    fn group_parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parameters_of_groups =
            py.detach(|| self.file.group_parameters(self.hdu.index)).or_raise(py)?;
        let parameters = PyDict::new(py);
        let place = (self.file.name(), Some(self.hdu.index));
        for (name, values) in parameters_of_groups.names.iter().zip(parameters_of_groups.values) {
            let groups = [values.len() as u64];
            parameters.set_item(name, shaped(py, values, &groups, place)?)?;
        }
        Ok(parameters)
    }

    fn __repr__(&self) -> String {
        let hdu = &self.hdu;
        let name = hdu.extname.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
        let (index, kind, axes) = (hdu.index, hdu.kind.as_str(), &hdu.axes);
        format!("<Hdu {index}{name} of {:?}: {kind}, axes {axes:?} (FITS order)>", self.file.name())
    }
}
