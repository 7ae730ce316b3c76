//! The data that compressed tiles hold: all of them are decoded, and compared with the sum that the original stated.

use std::sync::Arc;

use tachyfits_format::{Finding, Hdu, Rule};
use tachyfits_io::Storage;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::Tier;

use crate::byte_sums::sum_of_range;
use crate::error::Error;
use crate::file::decompressed_hdu;

/// Decodes the tiles of an image or a table. The first damaged one is a finding, and ends the check of the HDU.
pub(super) fn check_tiles(
    storage: &Arc<dyn Storage>,
    stored: &Hdu,
    run: &RunOptions<'_>,
    tier: Tier,
    findings: &mut Vec<Finding>,
) -> Result<(), Error> {
    if stored.data_bytes_present < stored.data_bytes {
        return Ok(());
    }
    let (hdu, decompressed) = match decompressed_hdu(storage, &Arc::new(stored.clone()), tier) {
        None => return Ok(()),
        Some(Err(error)) => {
            findings.push(Finding::of_problem(error.problem()));
            return Ok(());
        }
        Some(Ok(found)) => found,
    };
    let range = hdu.data_offset..hdu.data_offset + hdu.data_bytes;
    let sum = match sum_of_range(&*decompressed.storage, range.start, range, run, tier) {
        Ok((sum, _report)) => sum.sum(),
        Err(Error::Format { error, .. }) => {
            findings.push(Finding::of_problem(error.problem()));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let Ok(Some(stated)) = stored.header.get_text("ZDATASUM") else { return Ok(()) };
    let is_lossless = stored.tiled_image().map_or(true, |image| image.is_lossless());
    let Some(stated) = stated.trim().parse::<u32>().ok().filter(|_| is_lossless) else {
        return Ok(());
    };
    // The two zeros of ones' complement are the same sum.
    if stated != sum && (stated, sum) != (0, u32::MAX) && (stated, sum) != (u32::MAX, 0) {
        let expected = format!("data whose sum is {stated}, as before compression");
        let place = stored.header.place("ZDATASUM");
        findings.push(Finding::of_rule(Rule::DecodedSum, place, expected, format!("{sum}")));
    }
    Ok(())
}
