//! Writes a table, then selects and reads its bright rows in one scan: `cargo run --example bright_rows`.

use std::error::Error;
use std::path::Path;

use tachyfits::header::ValueType;
use tachyfits::table::{ColumnInput, Element, Field, NewColumn, NewTable};
use tachyfits::table::{TableKind, TableWriter};
use tachyfits::{FileWriter, FitsFile, Header, OpenOptions};
use tachyfits::{Rows, RunOptions, WriteOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("sources.fits");
    write(&path, &[1, 2, 3, 4], &[0.5, 12.0, 3.0, 40.0])?;
    for (number, flux) in bright(&path, 10.0)? {
        println!("source {number}: {flux} Jy");
    }
    Ok(())
}

/// Writes the numbers and fluxes of sources as a binary table.
fn write(path: &Path, numbers: &[i32], fluxes: &[f32]) -> Result<(), Box<dyn Error>> {
    let column = |name, value| {
        let element = Element::Number(value);
        NewColumn::new(name, Field::Fixed { element, repeat: 1, width: 1 })
    };
    let flux = column("FLUX", ValueType::F32).unit(Some("Jy".to_owned()));
    let new = NewTable::new(TableKind::Binary, vec![column("NUMBER", ValueType::I32), flux]);
    let file = FileWriter::create(path, &WriteOptions::default().checksum(true))?;
    let mut table = TableWriter::new(file, new, &Header::new())?;
    let columns = [ColumnInput::of(numbers), ColumnInput::of(fluxes)];
    table.write_rows(&columns, numbers.len() as u64, &RunOptions::default())?;
    table.finish()?.commit()?;
    Ok(())
}

/// Returns the numbers and fluxes of sources brighter than a limit.
fn bright(path: &Path, limit: f32) -> Result<Vec<(i32, f32)>, tachyfits::Error> {
    let table = FitsFile::open(path, &OpenOptions::default())?.table(1)?;
    let (run, all) = (RunOptions::default(), 0..table.layout().rows);
    let (rows, _report) = table.rows_where(&format!("FLUX > {limit}"), all, &run)?;
    let (numbers, _) = table.read_column::<i32>("NUMBER", &Rows::List(&rows), &run)?;
    let (fluxes, _) = table.read_column::<f32>("FLUX", &Rows::List(&rows), &run)?;
    Ok(numbers.into_iter().zip(fluxes).collect())
}

#[test]
fn the_bright_sources_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sources.fits");
    write(&path, &[1, 2, 3, 4], &[0.5, 12.0, 3.0, 40.0]).unwrap();
    assert_eq!(bright(&path, 10.0).unwrap(), [(2, 12.0), (4, 40.0)]);
}
