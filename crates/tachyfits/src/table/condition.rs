//! Selects rows by condition: `MAG < 20 && CLASS == 'STAR'`. Decodes only the columns that the
//! condition names, a few stored rows at a time in the first-level cache.
//!
//! The language is that of expressions over images, with strings, columns and truth values:
//! [`check`] resolves its names. Operands that need their own evaluation (strings, exact 64-bit
//! integers) become single operands of [`operand`], so the remaining program works on f64.

mod operand;
mod resolve;
mod side;

use std::ops::Range;

use tachyfits_io::operation::{Progress, RunOptions};
use tachyfits_io::{Report, Storage};
use tachyfits_kernels::Tier;
use tachyfits_memory as memory;

use super::Table;
use super::row_ranges::{RowBlock, RowReads, Rows};
use crate::error::{Error, Reason};
use crate::expression::parse::parse;
use crate::expression::program::{NameValue, Program};
use crate::expression::token::Dialect;
use crate::image::tier;
use operand::{ConditionLeaf, ConditionScratch, RowChunk};
use resolve::check;
use side::Text;

/// Rows evaluated at a time: a buffer is 8 KiB of f64, so that several stay in the first-level cache.
const CHUNK: usize = 1024;

/// Maximum rows of a condition that reads no bytes: more would take minutes.
const MOST_UNREAD_ROWS: u64 = 1 << 34;

impl Table {
    /// Returns the numbers, from 0 and ascending, of the rows among `rows` for which a condition is true.
    ///
    /// A condition compares columns, numbers and strings, and combines comparisons: `MAG < 20 &&
    /// CLASS == 'STAR'`. It accepts the functions and operators of [`crate::evaluate`], and also:
    ///
    /// - names of columns, in upper or lower case; names in backquotes may have any characters;
    /// - strings in single or double quotes; trailing blanks and text after a NUL are ignored;
    ///   bytes outside ASCII use the encoding of the column ([`Table::text_encoding`]);
    /// - `x IN (1, 2)`, short for `x == 1 || x == 2`, and `x NOT IN (1, 2)`, short for `x != 1 && x != 2`;
    /// - `NAME LIKE 'NGC%'`, true if the text matches the pattern, and `NAME NOT LIKE 'NGC%'`: `%`
    ///   matches any text, `_` one character, and the character of `ESCAPE '!'` makes the next one
    ///   literal; blanks at the end of a pattern are ignored;
    /// - `NAME[2]`, the second element of a column of arrays;
    /// - `&` and `|` of integers, the bitwise operators, in brackets: `(QUALITY & 128) == 0`;
    /// - `ROW` (or `#ROW`), the number of the row, from 1; `T` and `F` (or `true`, `false`), the truth values;
    /// - `isnull(x)`, true if a number, logical value or string is null, a number is NaN, or a string is empty.
    ///
    /// A comparison with a null is false, also `!=`; a null logical value counts as false. Numbers
    /// are f64 after scaling; 64-bit integers are compared exactly with any number. A number
    /// compared with a column of 32-bit floats is rounded to that type: `MAG <= 0.1` is true of the
    /// value displayed as 0.1.
    ///
    /// ```
    /// use tachyfits::{FitsFile, OpenOptions, RunOptions};
    /// let primary = ["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0", "END"];
    /// let cards = [
    ///     "XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 3", "NAXIS2  = 3", "PCOUNT  = 0", "GCOUNT  = 1",
    ///     "TFIELDS = 2", "TTYPE1  = 'CLASS'", "TFORM1  = 'A'", "TTYPE2  = 'COUNT'", "TFORM2  = 'I'", "END",
    /// ];
    /// let mut bytes = Vec::new();
    /// for header in [&primary[..], &cards] {
    ///     bytes.extend(header.iter().flat_map(|card| format!("{card:<80}").into_bytes()));
    ///     bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    /// # }
    /// bytes.extend([b'a', 0, 10, b'b', 0, 20, b'a', 1, 0]);
    /// bytes.resize(8640, 0);
    /// // Rows of a letter, CLASS, and a 16-bit integer, COUNT: a 10, b 20, a 256.
    /// let table = FitsFile::from_bytes("example", bytes, &OpenOptions::default())?.table(1)?;
    /// let (rows, _) = table.rows_where("CLASS == 'a' && count > 15", 0..3, &RunOptions::default())?;
    /// assert_eq!(rows, [2]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Reason::Expression`] and [`Reason::ExpressionInput`] with the position in the condition;
    /// [`Reason::Rows`]; [`Reason::DataMissing`] if the file ends before a row;
    /// [`Reason::CellText`]; or an I/O error.
    pub fn rows_where(
        &self,
        condition: &str,
        rows: Range<u64>,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<u64>, Report), Error> {
        let search = self.search(condition)?;
        self.check_rows(&Rows::Range(rows.clone()))?;
        if rows.is_empty() {
            return Ok((Vec::new(), Report::default()));
        }
        search.rows(rows, options)
    }

    /// Compiles a condition.
    pub(super) fn search(&self, condition: &str) -> Result<RowSearch<'_>, Error> {
        let tier = tier();
        let parsed = parse(condition, Dialect::Rows).map_err(|problem| problem.of(condition))?;
        let checked = check(condition, &parsed, &self.layout);
        let checked = checked.map_err(|problem| problem.of(condition))?;
        let names: Vec<NameValue> = (0..checked.leaves.len()).map(NameValue::Pixels).collect();
        let (program, operands) = Program::new(&checked.expression, &names, tier);
        let mut leaves: Vec<_> =
            operands.iter().map(|&leaf| checked.leaves[leaf].clone()).collect();
        for leaf in &mut leaves {
            self.set_encoding(leaf)?;
        }
        Ok(RowSearch { table: self, program, leaves, tier })
    }
}

impl Table {
    /// Sets the encoding of strings that are compared with each other or with text outside ASCII,
    /// or matched against a pattern that counts characters.
    fn set_encoding(&self, leaf: &mut ConditionLeaf) -> Result<(), Error> {
        let sides = match leaf {
            ConditionLeaf::Texts(_, sides) if !sides.iter().any(Text::is_ascii) => &mut sides[..],
            ConditionLeaf::Like { text, pattern, .. } if !pattern.is_of_bytes() => {
                std::slice::from_mut(text)
            }
            _ => return Ok(()),
        };
        for side in sides {
            if let Text::Field(field) = side {
                field.encoding = Some(self.text_encoding(field.column)?);
            }
        }
        Ok(())
    }
}

/// A compiled condition.
pub(super) struct RowSearch<'a> {
    table: &'a Table,
    program: Program,
    leaves: Vec<ConditionLeaf>,
    tier: Tier,
}

impl RowSearch<'_> {
    /// Returns the numbers of the rows for which the condition is true.
    pub(super) fn rows(
        &self,
        rows: Range<u64>,
        options: &RunOptions<'_>,
    ) -> Result<(Vec<u64>, Report), Error> {
        let fields = self.fields();
        if fields.iter().all(Range::is_empty) {
            return Ok((self.unread(rows)?, Report::default()));
        }
        let reads = RowReads::new(&self.table.layout, Rows::Range(rows), &fields);
        let mut selected = Vec::new();
        let storage = self.table.bytes_of(&fields);
        let report = self.scan(
            (&*storage, &reads),
            options,
            |(): &mut (), _block, rows, _first| Ok(rows),
            |mut rows| self.append(&mut selected, &mut rows),
        )?;
        Ok((selected, report))
    }

    /// Byte ranges of a row that the condition needs.
    pub(super) fn fields(&self) -> Vec<Range<u64>> {
        let mut fields = Vec::new();
        self.leaves.iter().for_each(|leaf| leaf.fields(&mut fields));
        fields
    }

    /// Evaluates the condition on the rows of `reads`. Calls `take` with each block, the numbers of
    /// its matching rows and the number of its first row; passes the results to `append` in row
    /// order.
    pub(super) fn scan<S: Default, T: Send>(
        &self,
        (storage, reads): (&dyn Storage, &RowReads<'_>),
        options: &RunOptions<'_>,
        take: impl Fn(&mut S, &RowBlock<'_>, Vec<u64>, u64) -> Result<T, Error> + Sync,
        mut append: impl FnMut(T) -> Result<(), Error> + Send,
    ) -> Result<Report, Error> {
        let progress = Progress { options: *options, total: reads.bytes() };
        let slots = self.program.slots();
        tachyfits_io::run(
            storage,
            reads,
            &progress.run_options(),
            || {
                let scratch = ConditionScratch::new(slots, CHUNK, self.leaves.len());
                (Vec::new(), scratch, S::default())
            },
            |(packed, scratch, state), task, fetched| {
                let first_row = reads.number(reads.places(task).start);
                let block = reads.block(task, fetched, packed)?;
                let rows =
                    self.block(&block, &|in_row| reads.offset(in_row), first_row, scratch)?;
                take(state, &block, rows, first_row)
            },
            |_task, result| append(result),
        )
    }

    /// Selects rows by a condition that reads no bytes.
    fn unread(&self, rows: Range<u64>) -> Result<Vec<u64>, Error> {
        let count = rows.end - rows.start;
        if count > MOST_UNREAD_ROWS {
            let expected =
                format!("at most {MOST_UNREAD_ROWS} rows for a condition without columns");
            return Err(self.table.refused(Reason::Memory, expected, count.to_string()));
        }
        let mut scratch = ConditionScratch::new(self.program.slots(), CHUNK, self.leaves.len());
        let mut selected = Vec::new();
        let mut first = rows.start;
        while first < rows.end {
            let count = (rows.end - first).min(1 << 20);
            let block = RowBlock { bytes: &[], stride: 0, rows: count as usize };
            self.append(&mut selected, &mut self.block(&block, &|_| 0, first, &mut scratch)?)?;
            first += count;
        }
        Ok(selected)
    }

    pub(super) fn append(&self, selected: &mut Vec<u64>, rows: &mut Vec<u64>) -> Result<(), Error> {
        memory::reserve(selected, rows.len(), "the rows found")?;
        selected.append(rows);
        Ok(())
    }

    /// Returns the rows of a block for which the condition is true.
    fn block(
        &self,
        block: &RowBlock<'_>,
        offset: &dyn Fn(u64) -> usize,
        first_row: u64,
        scratch: &mut ConditionScratch,
    ) -> Result<Vec<u64>, Error> {
        let mut selected = Vec::new();
        for first in (0..block.rows).step_by(CHUNK) {
            let rows = CHUNK.min(block.rows - first);
            let (bytes, row) = (&block.bytes[first * block.stride..], first_row + first as u64);
            let block = RowBlock { bytes, rows, ..*block };
            scratch.gather(&block, &self.leaves, offset);
            let chunk = RowChunk { table: self.table, bytes, stride: block.stride, row, offset };
            let (slots, mut loader) = scratch.split();
            let mut first_error = None;
            let truths = self.program.run(slots, rows, self.tier, |leaf, out| {
                let loaded = loader.load(&self.leaves[leaf], leaf, &chunk, self.tier, out);
                if let Err(error) = loaded {
                    first_error.get_or_insert(error);
                }
            });
            if let Some(error) = first_error {
                return Err(error);
            }
            memory::reserve(&mut selected, rows, "the rows found")?;
            push_true(truths, row, &mut selected);
        }
        Ok(selected)
    }
}

/// Appends the row numbers of the truth values that are not 0.
fn push_true(truths: &[f64], first: u64, selected: &mut Vec<u64>) {
    /// Number of rows checked together, because most conditions select few rows.
    const TOGETHER: usize = 16;
    for (group, truths) in truths.chunks(TOGETHER).enumerate() {
        if truths.iter().fold(0, |any, truth| any | truth.to_bits()) == 0 {
            continue;
        }
        let first = first + (group * TOGETHER) as u64;
        let matches = (first..).zip(truths).filter(|(_, truth)| **truth != 0.0);
        selected.extend(matches.map(|(row, _)| row));
    }
}
