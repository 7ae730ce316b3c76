//! Headers of a whole image in another shape: with its axes in another order, or with blocks of pixels combined to one
//! pixel each.

use super::section::Section;
use super::{AxisSelection, section_header};
use crate::code::Code;
use crate::error::FormatError;
use crate::hdu::Hdu;
use crate::header::Header;

/// Blocks of pixels along one axis; the first block begins at the first pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisBlocks {
    /// Pixels per block, 1 or more.
    pub pixels: u64,
    /// Number of blocks, 1 or more. The last block may extend beyond the axis, but must begin within it.
    pub count: u64,
}

/// Returns the header of the HDU's image with its axes in another order: the new axis n is axis `order[n - 1]` of the
/// image, 1 for NAXIS1.
///
/// Keywords that belong to axes (CTYPEn, CRPIXn, PCi_j, PVi_m and the like, of every alternate
/// description) get the new numbers; see [`crate::cutout_header`] for the other cards.
///
/// # Errors
/// Returns the errors of [`crate::cutout_header`], and [`Code::AxisNumber`] unless every axis is named once.
///
/// ```
/// use tachyfits_format::{ReadOptions, Step, Walker};
/// let cards = "SIMPLE  =                    T|BITPIX  =                    8|\
///     NAXIS   =                    2|NAXIS1  =                    3|\
///     NAXIS2  =                    2|CTYPE1  = 'FREQ'|END";
/// let mut file: Vec<u8> = Vec::new();
/// cards.split('|').for_each(|card| file.extend(format!("{card:<80}").as_bytes()));
/// file.resize(2880, b' ');
/// let mut walker = Walker::new(ReadOptions::default(), 5760);
/// walker.step()?;
/// file.resize(5760, 0);
/// walker.supply(&file);
/// let Step::Hdu(hdu) = walker.step()? else { panic!() };
/// let header = tachyfits_format::reordered_header(&hdu, &[2, 1])?;
/// assert_eq!((header.get_i64("NAXIS1")?, header.get_i64("NAXIS2")?), (Some(2), Some(3)));
/// assert_eq!(header.get_text("CTYPE2")?, Some("FREQ"));
/// # Ok::<(), tachyfits_format::FormatError>(())
/// ```
pub fn reordered_header(hdu: &Hdu, order: &[usize]) -> Result<Header, FormatError> {
    let mut section = Section::of_cutout(hdu, &whole(hdu))?;
    let axes = hdu.axes.len();
    // At most 999 axes.
    let mut numbers = vec![0; axes];
    for (number, &axis) in (1..).zip(order) {
        if let Some(new) = axis.checked_sub(1).and_then(|axis| numbers.get_mut(axis)) {
            *new = number;
        }
    }
    if order.len() != axes || numbers.contains(&0) {
        let expected = format!("each of the axes 1 to {axes} once");
        let found = format!("{order:?}");
        return Err(FormatError::new(Code::AxisNumber, hdu.place(), expected, found));
    }
    section.renumber(&numbers);
    let letters: Vec<String> = order.iter().map(usize::to_string).collect();
    let history = format!(
        "tachyfits: axes in the order {} of HDU {} (0-based)",
        letters.join(" "),
        hdu.index
    );
    section_header(hdu, &section, &history)
}

/// Returns the header of the HDU's image with each block of pixels combined to one pixel.
///
/// The centre of a new pixel is the centre of its block, CRPIX' = (CRPIX - 0.5) / n + 0.5, and increments are n times
/// as large; see [`crate::cutout_header`] for the other cards. A HISTORY card names how pixels are combined: `what`,
/// such as "mean".
///
/// # Errors
/// Returns the errors of [`crate::cutout_header`].
///
/// ```
/// use tachyfits_format::{ReadOptions, Step, Walker};
/// let cards = "SIMPLE  =                    T|BITPIX  =                    8|\
///     NAXIS   =                    1|NAXIS1  =                    9|\
///     CRPIX1  =                  0.5|CDELT1  =                  2.0|END";
/// let mut file: Vec<u8> = Vec::new();
/// cards.split('|').for_each(|card| file.extend(format!("{card:<80}").as_bytes()));
/// file.resize(2880, b' ');
/// let mut walker = Walker::new(ReadOptions::default(), 5760);
/// walker.step()?;
/// file.resize(5760, 0);
/// walker.supply(&file);
/// let Step::Hdu(hdu) = walker.step()? else { panic!() };
/// use tachyfits_format::{AxisBlocks, rebinned_header};
/// let header = rebinned_header(&hdu, &[AxisBlocks { pixels: 4, count: 2 }], "mean")?;
/// // The edge of the first pixel stays where it was.
/// assert_eq!((header.get_f64("CRPIX1")?, header.get_f64("CDELT1")?), (Some(0.5), Some(8.0)));
/// # Ok::<(), tachyfits_format::FormatError>(())
/// ```
pub fn rebinned_header(
    hdu: &Hdu,
    blocks: &[AxisBlocks],
    what: &str,
) -> Result<Header, FormatError> {
    let selection = |block: &AxisBlocks| {
        // A step too large for any axis is rejected with the others that do not fit.
        let step = i64::try_from(block.pixels).unwrap_or(0);
        AxisSelection { count: block.count, step, keep: true, ..AxisSelection::default() }
    };
    let selections: Vec<_> = blocks.iter().map(selection).collect();
    let mut section = Section::of_cutout(hdu, &selections)?;
    let widths: Vec<u64> = blocks.iter().map(|block| block.pixels).collect();
    section.widen(&widths);
    let sizes: Vec<String> = blocks.iter().map(|block| block.pixels.to_string()).collect();
    let history = format!(
        "tachyfits: {what} of blocks of {} pixels of HDU {} (0-based)",
        sizes.join(" x "),
        hdu.index
    );
    section_header(hdu, &section, &history)
}

/// Selects every pixel of every axis.
fn whole(hdu: &Hdu) -> Vec<AxisSelection> {
    let all = |&count| AxisSelection { count, step: 1, keep: true, ..AxisSelection::default() };
    hdu.axes.iter().map(all).collect()
}
