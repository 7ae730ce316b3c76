//! The extension module `tachyfits._core`: the engine in Python's terms. It only translates axis orders, NumPy arrays
//! and exceptions; all computing is done in the `tachyfits` crate, with the interpreter lock released.
//!
//! Axes are in NumPy order here (reversed FITS), indices 0-based. The contract is `python/tachyfits/_core.pyi`.

use pyo3::prelude::*;

mod arrow_stream;
mod buffer;
mod build_info;
mod checks;
mod column;
mod compression;
mod computed;
mod csv;
mod diff;
mod editor;
mod editor_pixels;
mod editor_table;
mod errors;
mod executor;
mod expression;
mod file;
mod file_writer;
mod fit;
mod hdu;
mod header;
mod histogram;
mod image;
mod interface;
mod moment;
mod new_columns;
mod options;
mod order_statistics;
mod output;
mod partial_stats;
mod progress;
mod records;
mod region;
mod repair;
mod report;
mod reshape;
mod section;
mod sky_match;
mod source;
mod stats;
mod table;
mod table_arrays;
mod text;

/// Types and functions of the engine for the package `tachyfits`, which users should import instead.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::add_to(module)?;
    interface::add_to(module)?;
    build_info::add_to(module)?;
    checks::add_to(module)?;
    repair::add_to(module)?;
    diff::add_to(module)?;
    module.add_class::<file::FitsFile>()?;
    module.add_class::<hdu::Hdu>()?;
    module.add_class::<header::Header>()?;
    module.add_class::<image::Image>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<column::Column>()?;
    module.add_class::<file_writer::FileWriter>()?;
    module.add_class::<editor::Editor>()?;
    module.add_class::<output::OutputFile>()?;
    module.add_class::<region::Region>()?;
    module.add_class::<report::Report>()?;
    executor::add_to(module)?;
    module.add_function(wrap_pyfunction!(report::collect_reports, module)?)?;
    module.add_function(wrap_pyfunction!(report::stop_collecting, module)?)?;
    module.add_function(wrap_pyfunction!(computed::smoothing_weights, module)?)?;
    module.add_function(wrap_pyfunction!(fit::fit_spectra, module)?)?;
    module.add_function(wrap_pyfunction!(sky_match::nearest_positions, module)?)?;
    module.add_function(wrap_pyfunction!(sky_match::matching_positions, module)?)?;
    module.add_function(wrap_pyfunction!(computed::array_file, module)?)?;
    module.add_function(wrap_pyfunction!(computed::chunks_file, module)?)?;
    module.add_function(wrap_pyfunction!(csv::csv_rows, module)?)?;
    module.add_function(wrap_pyfunction!(csv::decode_texts, module)?)?;
    module.add_function(wrap_pyfunction!(source::compression, module)?)?;
    module.add_function(wrap_pyfunction!(source::url_name, module)?)?;
    module.add_function(wrap_pyfunction!(source::remote_entry, module)?)?;
    module.add_function(wrap_pyfunction!(source::remote_entries, module)?)?;
    module.add_function(wrap_pyfunction!(source::index_cache, module)?)?;
    module.add_function(wrap_pyfunction!(source::set_index_cache, module)?)?;
    module.add_function(wrap_pyfunction!(source::file_version, module)?)?;
    module.add_function(wrap_pyfunction!(compression::codecs, module)?)?;
    module.add_function(wrap_pyfunction!(header::column_keyword, module)?)?;
    module.add_function(wrap_pyfunction!(header::comment_kept, module)?)?;
    module.add_function(wrap_pyfunction!(header::column_pattern, module)?)?;
    module.add_function(wrap_pyfunction!(expression::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(expression::expression_functions, module)?)?;
    module.add_function(wrap_pyfunction!(progress::set_defaults, module)?)?;
    module.add_function(wrap_pyfunction!(progress::allow_maps, module)?)?;
    module.add_function(wrap_pyfunction!(expression::expression_names, module)?)?;
    module.add_function(wrap_pyfunction!(expression::expression_mixed_units, module)?)?;
    stats::add_to(module)?;
    histogram::add_to(module)?;
    records::add_to(module)?;
    // PyO3's own list includes private functions; the underscore marks what is private.
    module.delattr("__all__")
}
