//! The heap of a table that is edited. New arrays go to its end, so an array that reaches beyond it, which nobody could
//! read, would come to have bytes of the new ones: such a table is refused.

use tachyfits_format::Field;

use super::Edition;
use super::table::Parts;
use crate::error::Error;
use crate::table::Rows;

/// Bytes of rows that are looked at together.
const LOOK_BYTES: u64 = 1 << 20;

/// Fields that get other values, so that what they hold does not matter: those of a column in some rows.
#[derive(Clone, Copy)]
pub(super) struct Replaced<'a> {
    pub(super) column: usize,
    pub(super) rows: &'a Rows<'a>,
}

impl Edition {
    /// Checks that the arrays of all rows lie in the heap, before it grows; once, where all were looked at.
    ///
    /// # Errors
    /// [`tachyfits_format::Code::DescriptorRange`] and others of descriptors, with row and column.
    pub(super) fn check_arrays(
        &mut self,
        hdu: usize,
        parts: &Parts,
        replaced: Option<Replaced<'_>>,
    ) -> Result<(), Error> {
        if self.units[hdu].arrays_are_whole {
            return Ok(());
        }
        let (layout, stride) = (&parts.layout, parts.layout.row_bytes);
        let columns: Vec<usize> = (0..layout.columns.len())
            .filter(|&column| {
                let field = layout.columns[column].field;
                matches!(field, Field::Variable { .. }) && field.row_bytes() > 0
            })
            .collect();
        if columns.is_empty() {
            return Ok(());
        }
        let is_replaced = is_replaced(replaced);
        let check = |row: u64, column: usize, bytes: &[u8]| match is_replaced(column, row) {
            true => Ok(()),
            false => self
                .format_error(layout.descriptor(column, row, bytes).map(|_| ()))
                .map_err(|error| error.at(&self.name, hdu)),
        };
        let fields = columns.iter().map(|&column| {
            let found = &layout.columns[column];
            (column, found.offset, found.field.row_bytes())
        });
        let together = (LOOK_BYTES / stride).clamp(1, layout.rows.max(1));
        let mut bytes = Vec::new();
        for first in (0..layout.rows).step_by(together as usize) {
            let rows = together.min(layout.rows - first);
            // Of rows that are longer than all that is looked at together, no more than the fields is read.
            let lies_whole = stride <= LOOK_BYTES;
            if lies_whole {
                bytes.resize((rows * stride) as usize, 0);
                parts.rows.read(first * stride, &mut bytes)?;
            }
            for row in first..first + rows {
                for (column, offset, width) in fields.clone() {
                    let begin = if lies_whole { (row - first) * stride + offset } else { 0 };
                    if !lies_whole {
                        bytes.resize(width as usize, 0);
                        parts.rows.read(row * stride + offset, &mut bytes)?;
                    }
                    check(row, column, &bytes[begin as usize..(begin + width) as usize])?;
                }
            }
        }
        self.units[hdu].arrays_are_whole = replaced.is_none();
        Ok(())
    }
}

/// Says whether the field of a column in a row is replaced.
fn is_replaced(replaced: Option<Replaced<'_>>) -> impl Fn(usize, u64) -> bool {
    let (mut range, mut list, mut of) = (0..0, Vec::new(), None);
    if let Some(Replaced { column, rows }) = replaced {
        of = Some(column);
        match rows {
            Rows::Range(rows) => range = rows.clone(),
            Rows::List(rows) => list = rows.to_vec(),
        }
        list.sort_unstable();
    }
    move |column, row| {
        of == Some(column) && (range.contains(&row) || list.binary_search(&row).is_ok())
    }
}
