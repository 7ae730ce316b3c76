//! DATASUM and CHECKSUM of an edited HDU. The sum of unchanged data is kept; the sum of changed
//! data is the old sum minus the removed bytes plus the new ones, so that its cost is proportional
//! to the change. A sum that was wrong before the edit stays wrong by the same amount: it still
//! records that the data have changed.

use std::ops::Range;
use std::sync::Arc;

use tachyfits_format::{FormatError, Header, NO_CHECKSUM, Value};
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::{OnesComplement, Tier, encode_checksum};
use tachyfits_memory::{self as memory, NoMemory};

use super::content::{KeptBytes, PARTS, Rope, Source};
use super::edited_hdu::EditedHdu;
use super::plan::EditPlan;
use crate::byte_sums::sum_of_range;
use crate::checksum::same_sum;
use crate::error::Error;

/// Keywords of checksums.
const SUMS: [&str; 2] = ["DATASUM", "CHECKSUM"];

/// Updates the checksums in the header of a changed unit that has them.
pub(crate) fn restate(
    unit: &mut EditedHdu,
    own: &Arc<dyn Source>,
    run: &RunOptions<'_>,
    tier: Tier,
) -> Result<(), Error> {
    if !is_due(unit) {
        return Ok(());
    }
    let states = |keyword: &str| unit.header().position(keyword).is_some();
    let data_alone = states("DATASUM") && !states("CHECKSUM");
    let old_sum = match unit.updates_checksums {
        true => Stated::Nothing,
        false => stated_sum(unit, tier),
    };
    let sum = match old_sum {
        Stated::Sum(sum) if !unit.has_new_data() => sum,
        Stated::Sum(sum) => changed_sum(unit, sum, own, run, tier)?,
        Stated::Nothing => whole_sum(unit, run, tier)?,
        Stated::Unreadable => return Ok(()),
    };
    let with_checksum = unit.updates_checksums || !data_alone;
    let length = unit.origin.as_ref().filter(|_| unit.own);
    let length = length.map(|hdu| hdu.data_offset - hdu.header_offset);
    let name = own.name().to_owned();
    let result = set(unit.header_mut(), sum, with_checksum, length, tier);
    result.map_err(|error| Error::Format { file: name, error })
}

/// Whether writing the unit changes its sums.
fn is_due(unit: &EditedHdu) -> bool {
    let has_sums = SUMS.iter().any(|keyword| unit.header().position(keyword).is_some());
    let is_same = unit.changed.is_none() && !unit.has_new_data();
    (unit.updates_checksums || (has_sums && !is_same)) && unit.missing() == 0
}

/// Blanks the sums of a changed unit, which means no sum: the values in the header are for the old bytes.
pub(crate) fn blank(unit: &mut EditedHdu) -> Result<(), FormatError> {
    if !is_due(unit) {
        return Ok(());
    }
    for keyword in SUMS {
        if unit.header().position(keyword).is_some() {
            unit.header_mut().set(keyword, "", "")?;
        }
    }
    Ok(())
}

/// Whether a header has a sum blanked by [`blank`].
pub(crate) fn has_blank(header: &Header) -> bool {
    SUMS.iter().any(|keyword| header.get_text(keyword) == Ok(Some("")))
}

/// Writes the sums into a header, which is padded to its previous length.
fn set(
    header: &mut Header,
    data: OnesComplement,
    with_checksum: bool,
    length: Option<u64>,
    tier: Tier,
) -> Result<(), FormatError> {
    header.set("DATASUM", data.sum().to_string(), "")?;
    if with_checksum {
        header.set("CHECKSUM", NO_CHECKSUM, "")?;
    }
    if let Some(length) = length {
        header.fit(length);
    }
    if with_checksum {
        let mut whole = data;
        whole.accumulate(0, &header.to_bytes(), tier);
        let checksum = encode_checksum(whole.sum(), true);
        header.set("CHECKSUM", String::from_utf8_lossy(&checksum).as_ref(), "")?;
    }
    Ok(())
}

/// Checksum of the data in the header of the origin.
enum Stated {
    /// Neither keyword is present, or both are blank.
    Nothing,
    Sum(OnesComplement),
    /// There are sums, but none is readable; they must not be replaced.
    Unreadable,
}

/// Returns the sum in DATASUM, or the sum for which CHECKSUM would be correct.
fn stated_sum(unit: &EditedHdu, tier: Tier) -> Stated {
    let Some(hdu) = &unit.origin else { return Stated::Nothing };
    let text = |keyword: &str| match hdu.header.get(keyword) {
        None | Some(Value::Undefined) => String::new(),
        Some(value) => value.as_text().map_or_else(|| value.to_string(), str::to_owned),
    };
    let [data, whole] = ["DATASUM", "CHECKSUM"].map(text);
    if let Ok(sum) = data.trim().parse() {
        return Stated::Sum(OnesComplement::from_sum(sum));
    }
    if whole.trim().len() == 16 && whole.is_ascii() {
        let mut header = OnesComplement::default();
        header.accumulate(0, &hdu.header.to_bytes(), tier);
        return Stated::Sum(OnesComplement::from_sum(!header.sum()));
    }
    match data.trim().is_empty() && whole.trim().is_empty() {
        true => Stated::Nothing,
        false => Stated::Unreadable,
    }
}

/// Returns the sum of all new data. If the old sum was wrong, the new one is wrong by the same amount.
fn carried_sum(
    unit: &EditedHdu,
    old_sum: OnesComplement,
    run: &RunOptions<'_>,
    tier: Tier,
) -> Result<OnesComplement, Error> {
    let new = whole_sum(unit, run, tier)?;
    let Some(stored) = &unit.stored else { return Ok(new) };
    let old = sum_of_part(stored, 0..stored.bytes(), run, tier)?;
    if same_sum(old.sum(), old_sum.sum()) {
        return Ok(new);
    }
    let mut sum = old_sum;
    sum.merge(OnesComplement::from_sum(!old.sum()));
    sum.merge(new);
    Ok(sum)
}

/// Returns the sum of data that consist partly of the origin's data.
fn changed_sum(
    unit: &EditedHdu,
    old_sum: OnesComplement,
    own: &Arc<dyn Source>,
    run: &RunOptions<'_>,
    tier: Tier,
) -> Result<OnesComplement, Error> {
    let Some(hdu) = unit.origin.as_ref().filter(|hdu| unit.own && hdu.end_offset() <= own.bytes())
    else {
        return carried_sum(unit, old_sum, run, tier);
    };
    let old = hdu.data_offset..hdu.end_offset();
    let Some((removed, added)) = difference(&unit.data, old.clone())? else {
        return carried_sum(unit, old_sum, run, tier);
    };
    let changed: u64 = removed.iter().chain(&added).map(|range| range.end - range.start).sum();
    if changed >= unit.data.bytes() {
        return carried_sum(unit, old_sum, run, tier);
    }
    let mut sum = old_sum;
    let old_bytes = Rope::of(Arc::clone(own), old.clone());
    for range in removed {
        let range = range.start - old.start..range.end - old.start;
        let part = sum_of_part(&old_bytes, range, run, tier)?;
        sum.merge(OnesComplement::from_sum(!part.sum()));
    }
    for range in added {
        sum.merge(sum_of_part(&unit.data, range, run, tier)?);
    }
    let fill = unit.fill();
    // At most the bytes of a block.
    let mut bytes = vec![0; fill.bytes() as usize];
    fill.read(0, &mut bytes)?;
    sum.accumulate(unit.data.bytes(), &bytes, tier);
    // All ones may mean 0; only the bytes tell whether the sum is 0.
    match sum.sum() {
        u32::MAX => carried_sum(unit, old_sum, run, tier),
        _ => Ok(sum),
    }
}

/// Sorted, disjoint ranges.
type Ranges = Vec<Range<u64>>;

/// Returns the ranges of the old file that the data no longer contain, and the ranges of the data
/// that are new; `None` if old bytes changed their order, or their alignment to the 4-byte words of
/// the sum.
fn difference(data: &Rope, old: Range<u64>) -> Result<Option<(Ranges, Ranges)>, NoMemory> {
    let mut parts = Vec::new();
    data.kept(0..data.bytes(), &mut parts)?;
    let room = || memory::with_room(parts.len() + 1, PARTS);
    let (mut removed, mut added): (Ranges, Ranges) = (room()?, room()?);
    let (mut old_end, mut new_end) = (old.start, 0);
    for KeptBytes { at, offset, bytes } in parts {
        let in_order = offset >= old_end && offset + bytes <= old.end;
        if !in_order || (offset - old.start) % 4 != at % 4 {
            return Ok(None);
        }
        removed.push(old_end..offset);
        added.push(new_end..at);
        (old_end, new_end) = (offset + bytes, at + bytes);
    }
    removed.push(old_end..old.end);
    added.push(new_end..data.bytes());
    removed.retain(|range| !range.is_empty());
    added.retain(|range| !range.is_empty());
    Ok(Some((removed, added)))
}

/// Returns the sum of all data and their fill.
fn whole_sum(unit: &EditedHdu, run: &RunOptions<'_>, tier: Tier) -> Result<OnesComplement, Error> {
    let mut rope = unit.data.clone();
    rope.append(unit.fill());
    let end = rope.bytes();
    sum_of_part(&rope, 0..end, run, tier)
}

/// Returns the sum of a part of some data, as a contribution to the sum of the whole.
fn sum_of_part(
    rope: &Rope,
    range: Range<u64>,
    run: &RunOptions<'_>,
    tier: Tier,
) -> Result<OnesComplement, Error> {
    let begin = range.start;
    let part = EditPlan::of_rope(rope.part(range));
    let (sum, _report) = sum_of_range(&part, 0, 0..part.rope.bytes(), run, tier)?;
    // Rotate the sum to the alignment of the part within the words of the whole.
    Ok(OnesComplement::from_sum(sum.sum().rotate_right(8 * (begin % 4) as u32)))
}
