//! Decodes all compressed tiles of an HDU, and compares the data with the checksum of the original.

use std::sync::Arc;

use tachyfits_format::{Code, Finding, FormatError, Hdu, Rule};
use tachyfits_io::Storage;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::Tier;

use crate::byte_sums::sum_of_range;
use crate::error::Error;
use crate::file::decompressed_hdu;
use crate::tiled::{CompressedImage, DamageList, OnDamage};

/// Maximum damaged tiles with a separate finding; the last finding counts the rest.
const MOST_DAMAGED: usize = 16;

/// Maximum ratio of decompressed to compressed bytes in most images.
const MOST_TIMES: u64 = 1024;

/// Decodes the tiles of an image or a table. Each damaged tile is a finding.
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
    let list = DamageList::new(MOST_DAMAGED);
    let on_damage = OnDamage::List(Arc::clone(&list));
    let shared = Arc::new(stored.clone());
    let (hdu, decompressed) = match decompressed_hdu(storage, &shared, tier, on_damage) {
        None => return Ok(()),
        Some(Err(error)) => return report(findings, storage, error),
        Some(Ok(result)) => result,
    };
    // A tile may declare any size. If the data are far larger than their streams, decode tile by
    // tile first, which takes no longer than the streams allow, and compute the sum only if no tile
    // is damaged.
    if stored.is_tiled_image() && hdu.data_bytes / MOST_TIMES > stored.data_bytes {
        let layout = stored
            .tiled_image()
            .map_err(|error| Error::Format { file: storage.name().to_owned(), error })?;
        let on_damage = OnDamage::List(Arc::clone(&list));
        CompressedImage::new(Arc::clone(storage), layout, tier, on_damage).decode_all(run)?;
    }
    let sum_result = match list.found() {
        (_, 0) => {
            let range = hdu.data_offset..hdu.data_offset + hdu.data_bytes;
            sum_of_range(&*decompressed.storage, range.start, range, run, tier)
        }
        _ => Ok(Default::default()),
    };
    let (damaged, count) = list.found();
    findings.extend(damaged.iter().map(|error| Finding::of_problem(error.problem())));
    if let Some(last) = findings.last_mut().filter(|_| count > 0) {
        last.repeats += count - damaged.len() as u64;
    }
    let sum = match sum_result {
        Ok(_) if count > 0 => return Ok(()),
        Ok((sum, _report)) => sum.sum(),
        Err(Error::Format { error, .. }) => return report(findings, storage, error),
        Err(error) => return Err(error),
    };
    let Ok(Some(declared)) = stored.header.get_text("ZDATASUM") else { return Ok(()) };
    let is_lossless = stored.tiled_image().map_or(true, |image| image.is_lossless());
    let Some(declared) = declared.trim().parse::<u32>().ok().filter(|_| is_lossless) else {
        return Ok(());
    };
    // Ones' complement has two zeros, which are the same sum.
    if declared != sum && (declared, sum) != (0, u32::MAX) && (declared, sum) != (u32::MAX, 0) {
        let expected = format!("data whose sum is {declared}, as before compression");
        let place = stored.header.place("ZDATASUM");
        findings.push(Finding::of_rule(Rule::DecodedSum, place, expected, format!("{sum}")));
    }
    Ok(())
}

/// Reports damage of compressed data as a finding, and too little memory as an error.
fn report(
    findings: &mut Vec<Finding>,
    storage: &Arc<dyn Storage>,
    error: FormatError,
) -> Result<(), Error> {
    if error.code() == Code::NoMemory {
        return Err(Error::Format { file: storage.name().to_owned(), error });
    }
    findings.push(Finding::of_problem(error.problem()));
    Ok(())
}
