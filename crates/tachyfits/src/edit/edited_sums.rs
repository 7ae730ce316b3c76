//! DATASUM and CHECKSUM of an edited HDU. The sum of unchanged data is taken over; that of changed data follows from the old
//! one by what was taken out and what was put in, so that its cost grows with the change. A sum that was wrong before the
//! edit is wrong by as much after it: it still says that the data are not what they were.

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

/// The keywords of sums.
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
    let stated = match unit.updates_checksums {
        true => Stated::Nothing,
        false => stated_sum(unit, tier),
    };
    let sum = match stated {
        Stated::Sum(sum) if !unit.has_new_data() => sum,
        Stated::Sum(sum) => changed_sum(unit, sum, own, run, tier)?,
        Stated::Nothing => whole_sum(unit, run, tier)?,
        Stated::Unreadable => return Ok(()),
    };
    let with_checksum = unit.updates_checksums || !data_alone;
    let length = unit.origin.as_ref().filter(|_| unit.own);
    let length = length.map(|hdu| hdu.data_offset - hdu.header_offset);
    let name = own.name().to_owned();
    let set = set(unit.header_mut(), sum, with_checksum, length, tier);
    set.map_err(|error| Error::Format { file: name, error })
}

/// Whether writing the unit changes its sums.
fn is_due(unit: &EditedHdu) -> bool {
    let stated = SUMS.iter().any(|keyword| unit.header().position(keyword).is_some());
    let is_same = unit.changed.is_none() && !unit.has_new_data();
    (unit.updates_checksums || (stated && !is_same)) && unit.missing() == 0
}

/// Leaves the sums of a changed unit blank, which states nothing: those in the header are of its old bytes.
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

/// Whether a header has a sum that [`blank`] left blank.
pub(crate) fn has_blank(header: &Header) -> bool {
    SUMS.iter().any(|keyword| header.get_text(keyword) == Ok(Some("")))
}

/// Puts the sums into a header that is made as long as it was before.
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

/// The checksum of the data in the original file.
enum Stated {
    /// Neither keyword is there, or they are blank.
    Nothing,
    Sum(OnesComplement),
    /// There are sums, and none can be read: no other may take their place.
    Unreadable,
}

/// The sum that DATASUM states, or the one of which CHECKSUM would be right.
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

/// The sum of all data as they are now, beside which the one stated for the old ones is as wrong as it was.
fn carried_sum(
    unit: &EditedHdu,
    stated: OnesComplement,
    run: &RunOptions<'_>,
    tier: Tier,
) -> Result<OnesComplement, Error> {
    let new = whole_sum(unit, run, tier)?;
    let Some(stored) = &unit.stored else { return Ok(new) };
    let old = sum_of_part(stored, 0..stored.bytes(), run, tier)?;
    if same_sum(old.sum(), stated.sum()) {
        return Ok(new);
    }
    let mut sum = stated;
    sum.merge(OnesComplement::from_sum(!old.sum()));
    sum.merge(new);
    Ok(sum)
}

/// The sum of data that are those of the origin in part.
fn changed_sum(
    unit: &EditedHdu,
    stated: OnesComplement,
    own: &Arc<dyn Source>,
    run: &RunOptions<'_>,
    tier: Tier,
) -> Result<OnesComplement, Error> {
    let Some(hdu) = unit.origin.as_ref().filter(|hdu| unit.own && hdu.end_offset() <= own.bytes())
    else {
        return carried_sum(unit, stated, run, tier);
    };
    let old = hdu.data_offset..hdu.end_offset();
    let Some((taken_out, put_in)) = difference(&unit.data, old.clone())? else {
        return carried_sum(unit, stated, run, tier);
    };
    let touched: u64 = taken_out.iter().chain(&put_in).map(|range| range.end - range.start).sum();
    if touched >= unit.data.bytes() {
        return carried_sum(unit, stated, run, tier);
    }
    let mut sum = stated;
    let old_bytes = Rope::of(Arc::clone(own), old.clone());
    for range in taken_out {
        let range = range.start - old.start..range.end - old.start;
        let part = sum_of_part(&old_bytes, range, run, tier)?;
        sum.merge(OnesComplement::from_sum(!part.sum()));
    }
    for range in put_in {
        sum.merge(sum_of_part(&unit.data, range, run, tier)?);
    }
    let fill = unit.fill();
    // At most the bytes of a block.
    let mut bytes = vec![0; fill.bytes() as usize];
    fill.read(0, &mut bytes)?;
    sum.accumulate(unit.data.bytes(), &bytes, tier);
    // All ones is 0 again, and whether it was ever anything else only the bytes know.
    match sum.sum() {
        u32::MAX => carried_sum(unit, stated, run, tier),
        _ => Ok(sum),
    }
}

/// Ranges that rise and are apart.
type Ranges = Vec<Range<u64>>;

/// The ranges of the old file that the data no longer have, and those of the data that are new; `None` where the old bytes
/// are in another order, or shifted against the words of the sum.
fn difference(data: &Rope, old: Range<u64>) -> Result<Option<(Ranges, Ranges)>, NoMemory> {
    let mut parts = Vec::new();
    data.kept(0..data.bytes(), &mut parts)?;
    let room = || memory::with_room(parts.len() + 1, PARTS);
    let (mut taken_out, mut put_in): (Ranges, Ranges) = (room()?, room()?);
    let (mut reached_old, mut reached) = (old.start, 0);
    for KeptBytes { at, offset, bytes } in parts {
        let in_order = offset >= reached_old && offset + bytes <= old.end;
        if !in_order || (offset - old.start) % 4 != at % 4 {
            return Ok(None);
        }
        taken_out.push(reached_old..offset);
        put_in.push(reached..at);
        (reached_old, reached) = (offset + bytes, at + bytes);
    }
    taken_out.push(reached_old..old.end);
    put_in.push(reached..data.bytes());
    taken_out.retain(|range| !range.is_empty());
    put_in.retain(|range| !range.is_empty());
    Ok(Some((taken_out, put_in)))
}

/// The sum of all data and their fill.
fn whole_sum(unit: &EditedHdu, run: &RunOptions<'_>, tier: Tier) -> Result<OnesComplement, Error> {
    let mut rope = unit.data.clone();
    rope.append(unit.fill());
    let end = rope.bytes();
    sum_of_part(&rope, 0..end, run, tier)
}

/// The sum of a part of some data, counted from its beginning.
fn sum_of_part(
    rope: &Rope,
    range: Range<u64>,
    run: &RunOptions<'_>,
    tier: Tier,
) -> Result<OnesComplement, Error> {
    let begin = range.start;
    let part = EditPlan::of_rope(rope.part(range));
    let (sum, _report) = sum_of_range(&part, 0, 0..part.rope.bytes(), run, tier)?;
    // Where it lies within the words of the whole.
    Ok(OnesComplement::from_sum(sum.sum().rotate_right(8 * (begin % 4) as u32)))
}
