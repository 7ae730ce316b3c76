//! Options with a few named values.

use pyo3::prelude::*;
use tachyfits::StorageKind;
use tachyfits::io::{Buffering, Priority};
use tachyfits::rebin::BlockStatistic;
use tachyfits::smooth::{Blanks, Edge};
use tachyfits::tiled::DamagedTiles;

use crate::errors::argument;

/// Returns the value of a name in the table.
fn chosen<T: Copy>(
    py: Python<'_>,
    option: &str,
    name: &str,
    table: &[(&'static str, T)],
) -> PyResult<T> {
    let entry = table.iter().find(|(key, _)| *key == name);
    entry.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<String> = table.iter().map(|(name, _)| format!("{name:?}")).collect();
        let expected = format!("{option} to be one of {}", names.join(", "));
        let hint = format!("leave {option} out for the default");
        argument(py, &expected, &format!("{name:?}"), &hint)
    })
}

/// Returns the kind of storage.
pub(crate) fn storage(py: Python<'_>, name: &str) -> PyResult<StorageKind> {
    let table = [
        ("auto", StorageKind::Auto),
        ("pread", StorageKind::Positioned),
        ("mmap", StorageKind::Mapped),
        ("direct", StorageKind::Direct),
        ("memory", StorageKind::Memory),
    ];
    chosen(py, "storage", name, &table)
}

/// Returns the treatment of damaged tiles.
pub(crate) fn damaged(py: Python<'_>, name: &str) -> PyResult<DamagedTiles> {
    let table = [("error", DamagedTiles::Refused), ("nan", DamagedTiles::Undefined)];
    chosen(py, "damaged", name, &table)
}

/// Returns the arrangement of reading and computing.
pub(crate) fn buffering(py: Python<'_>, name: &str) -> PyResult<Buffering> {
    let table =
        [("auto", Buffering::Auto), ("single", Buffering::Single), ("double", Buffering::Double)];
    chosen(py, "buffering", name, &table)
}

/// Returns the priority of a request.
pub(crate) fn priority(py: Python<'_>, name: &str) -> PyResult<Priority> {
    let table = [
        ("interactive", Priority::Interactive),
        ("normal", Priority::Normal),
        ("background", Priority::Background),
    ];
    chosen(py, "priority", name, &table)
}

/// Returns the treatment of values beyond the ends of an axis.
pub(crate) fn edge(py: Python<'_>, name: &str) -> PyResult<Edge> {
    let table = [
        ("repeat", Edge::Repeat),
        ("pair", Edge::Pair),
        ("zero", Edge::Zero),
        ("blank", Edge::Blank),
        ("keep", Edge::Keep),
    ];
    chosen(py, "edge", name, &table)
}

/// Returns the treatment of undefined pixels in a weighted sum.
pub(crate) fn blanks(py: Python<'_>, name: &str) -> PyResult<Blanks> {
    let table = [
        ("renormalise", Blanks::Renormalise),
        ("propagate", Blanks::Propagate),
        ("zero", Blanks::Zero),
    ];
    chosen(py, "blanks", name, &table)
}

/// Returns the statistic of a block of pixels.
pub(crate) fn block_statistic(py: Python<'_>, name: &str) -> PyResult<BlockStatistic> {
    let table = [
        ("mean", BlockStatistic::Mean),
        ("sum", BlockStatistic::Sum),
        ("median", BlockStatistic::Median),
        ("min", BlockStatistic::Min),
        ("max", BlockStatistic::Max),
    ];
    chosen(py, "statistic", name, &table)
}
