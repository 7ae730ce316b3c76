//! Parts of an image that survive an operation on it: its cards, and its companions. Companions are
//! the table of beams that CASA writes for cubes with a beam per channel (CASAMBM = T, a table
//! BEAMS with a row per channel and polarisation), the tables of coordinates of -TAB axes, and
//! images of corrections (`CPDISi = 'LOOKUP'`), which move with the pixels.
//!
//! Each operation describes its effect on the axes ([`Change`]) and gets the header and the
//! companions of its result ([`Survivors`]). Channels that remain keep their rows, renumbered. If
//! channels are combined, or all get one beam, the table and CASAMBM are removed, and HISTORY
//! records it.

mod coordinate_table;
mod of_image;

use std::collections::HashSet;
use std::sync::Arc;

use tachyfits_format::{
    AxisBlocks, AxisSelection, Card, FormatError, Hdu, HduKind, Header, NumberCell, OffsetAxis,
    TableKind, coordinate_tables, lookup_tables, padded,
};
use tachyfits_io::Storage;
use tachyfits_memory::{self as memory, NoMemory};

use crate::error::Error;
use coordinate_table::CoordinateTable;

/// Name of a table of beams, and the keyword that announces it.
const TABLE: &str = "BEAMS";
const ANNOUNCED: &str = "CASAMBM";
/// Keywords of the single beam of an image.
const BEAM: [&str; 3] = ["BMAJ", "BMIN", "BPA"];
/// Maximum bytes of a companion: far more than channels need.
const MOST_BYTES: u64 = 1 << 26;
/// Purpose of the allocation, for error messages.
const TABLES: &str = "the tables of an image";

/// Effect of an operation on an image.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'a> {
    /// New values on the same grid.
    Values,
    /// Values depend on their neighbours along an axis, 0 for NAXIS1; only every n-th result is
    /// kept, from the first on.
    Along { axis: usize, every: u64 },
    /// A part of the pixels.
    Section(&'a [AxisSelection]),
    /// Each block of pixels becomes one pixel, by the named statistic.
    Blocks(&'a [AxisBlocks], &'a str),
    /// The new axis n is the axis `order[n]`, 0 for NAXIS1.
    Order(&'a [usize]),
    /// The first two axes are replaced by offsets along a path.
    Path(&'a OffsetAxis),
}

/// Surviving parts of an image: its cards, its table of beams, and its tables of coordinates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survivors {
    pub(crate) header: Header,
    beams: Option<Arc<Beams>>,
    tables: Vec<Arc<CoordinateTable>>,
}

impl Survivors {
    /// Creates survivors without companions.
    pub(crate) fn of_header(header: Header) -> Survivors {
        Survivors { header, ..Survivors::default() }
    }

    /// Changes cards. If all channels get one beam (BMAJ, BMIN or BPA differ, or CASAMBM was
    /// removed), the table of beams is removed.
    pub(crate) fn change(
        mut self,
        change: impl FnOnce(&mut Header) -> Result<(), FormatError>,
    ) -> Result<Survivors, FormatError> {
        let beam_cards = |header: &Header| BEAM.map(|keyword| header.get(keyword).cloned());
        let (before, was_announced) = (beam_cards(&self.header), is_announced(&self.header));
        let source = self.header.clone();
        change(&mut self.header)?;
        keep_comments(&source, &mut self.header)?;
        let common =
            beam_cards(&self.header) != before || was_announced != is_announced(&self.header);
        if common && (was_announced || self.beams.is_some()) {
            self.beams = None;
            self.header.remove(ANNOUNCED);
            let text = "tachyfits: all channels have one beam: the table BEAMS is left out";
            self.header.push_commentary("HISTORY", text)?;
        }
        Ok(self)
    }

    /// Replaces the beam of each row of the table of beams, in the order of
    /// [`Image::channel_beams`]: major and minor axis and position angle, in degrees.
    ///
    /// # Errors
    /// If a column cannot store a number.
    pub(crate) fn with_beams(mut self, new_beams: &[[f64; 3]]) -> Result<Survivors, FormatError> {
        if let Some(beams) = &self.beams {
            self.beams = Some(Arc::new(beams.with_beams(new_beams)?));
        }
        Ok(self)
    }

    /// Iterates over the companions, each as header and data.
    pub(crate) fn companions(&self) -> impl Iterator<Item = (&Header, &[u8])> {
        let beams = self.beams.iter().map(|beams| (&beams.header, &*beams.rows));
        beams.chain(self.tables.iter().map(|table| (&table.header, &*table.data)))
    }

    /// Returns the companions as the next HDUs of a file; empty if there are none.
    ///
    /// # Errors
    /// If memory runs out.
    pub(crate) fn companion_bytes(&self) -> Result<Vec<u8>, NoMemory> {
        let mut all = Vec::new();
        for (header, data) in self.companions() {
            memory::extend(&mut all, &hdu_bytes(header, data)?, TABLES)?;
        }
        Ok(all)
    }
}

/// Returns the bytes of an HDU with this header and data.
///
/// # Errors
/// If memory runs out.
pub(crate) fn hdu_bytes(header: &Header, data: &[u8]) -> Result<Vec<u8>, NoMemory> {
    let mut bytes = header.to_bytes();
    let whole = padded((bytes.len() + data.len()) as u64) as usize;
    let more = whole - bytes.len();
    memory::reserve(&mut bytes, more, TABLES)?;
    bytes.extend_from_slice(data);
    // At most the reserved room.
    bytes.resize(whole, 0);
    Ok(bytes)
}

/// Adds a HISTORY card with the whole comment of each card whose comment was cut by its new value.
/// Cards of other axes may have been renumbered, so keywords are compared without their digits.
fn keep_comments(source: &Header, header: &mut Header) -> Result<(), FormatError> {
    let root =
        |card: &Card| card.keyword().trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let old_comments: HashSet<&str> = source.cards().iter().map(Card::comment).collect();
    let mut notes = Vec::new();
    for card in header.cards().iter().filter(|card| card.value().is_some()) {
        let comment = card.comment();
        let is_part = |old: &&Card| old.comment().starts_with(comment) && root(old) == root(card);
        if !comment.is_empty()
            && !old_comments.contains(comment)
            && let Some(old) = source.cards().iter().find(is_part)
        {
            let whole = old.comment().replace(|c: char| !matches!(c, ' '..='~'), "?");
            notes.push(format!("tachyfits: comment of {}: {whole}", card.keyword()));
        }
    }
    notes.iter().try_for_each(|note| header.push_commentary("HISTORY", note))
}

fn is_announced(header: &Header) -> bool {
    header.get_logical(ANNOUNCED).is_ok_and(|value| value == Some(true))
}

/// Channels and polarisations that remain, with their new numbers.
struct Kept {
    channels: KeptPixels,
    polarisations: Option<KeptPixels>,
}

/// Pixels of an axis that remain, and the number of undefined pixels inserted before them. Not a
/// list, because a header may claim any number of pixels.
#[derive(Clone, Copy)]
struct KeptPixels {
    first: u64,
    count: u64,
    step: i64,
    before: u64,
    /// Length of the axis in the result.
    length: u64,
}

impl KeptPixels {
    /// Selects pixels of an axis at a fixed step.
    fn every(step: u64, length: u64) -> KeptPixels {
        let count = length.div_ceil(step);
        KeptPixels { first: 0, count, step: step as i64, before: 0, length: count }
    }

    /// Returns the new number of a pixel, if it remains.
    fn position(self, pixel: u64) -> Option<u64> {
        let distance = i128::from(pixel) - i128::from(self.first);
        let step = i128::from(self.step);
        let place = match step {
            0 => distance,
            step if distance % step == 0 => distance / step,
            _ => return None,
        };
        let place = u64::try_from(place).ok().filter(|place| *place < self.count)?;
        Some(place.saturating_add(self.before))
    }
}

/// An HDU that accompanies an image, and the storage of its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Companion {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) hdu: Arc<Hdu>,
}

/// The HDUs of a file that accompany an image.
#[derive(Clone, Debug, Default)]
pub(crate) struct Companions {
    beams: Option<Companion>,
    tables: Vec<Companion>,
}

impl Companions {
    /// Finds the companions of the image `of` among the HDUs of its file. CASA writes a table of
    /// beams for the primary array.
    pub(crate) fn find<'a>(
        of: &Hdu,
        hdus: &'a [Arc<Hdu>],
        storage_of: impl Fn(usize) -> &'a Arc<dyn Storage>,
    ) -> Companions {
        let find = |is_it: &dyn Fn(&Hdu) -> bool| {
            let hdu = hdus.iter().find(|other| other.index != of.index && is_it(other))?;
            let storage = Arc::clone(storage_of(hdu.index));
            Some(Companion { storage, hdu: Arc::clone(hdu) })
        };
        let may_have = of.index == 0 || is_announced(&of.header);
        let beams = may_have.then(|| find(&|hdu| hdu.is_named(TABLE))).flatten();
        let tables = coordinate_tables(&of.header).into_iter().filter_map(|(name, version)| {
            find(&|hdu| {
                hdu.kind == HduKind::BinaryTable && hdu.is_named(&name) && hdu.extver == version
            })
        });
        let lookups = lookup_tables(&of.header).into_iter().filter_map(|(name, version)| {
            find(&|hdu| hdu.kind == HduKind::Image && hdu.is_named(&name) && hdu.extver == version)
        });
        Companions { beams, tables: tables.chain(lookups).collect() }
    }
}

/// Returns the offset of a result along the first two axes, in pixels; images of corrections move by it.
fn corner(change: Change<'_>) -> [f64; 2] {
    let Change::Section(selections) = change else { return [0.0; 2] };
    [0, 1].map(|axis: usize| {
        selections.get(axis).map_or(0.0, |axis| axis.first as f64 - axis.before as f64)
    })
}

/// Returns the channels and polarisations that an operation keeps; `None` if it combines some.
fn kept(hdu: &Hdu, axes: &[u64], change: Change<'_>) -> Option<Kept> {
    let selection_of = |axis: Option<usize>| -> Option<KeptPixels> {
        // Without such an axis, there is one channel.
        let Some(axis) = axis else { return Some(KeptPixels::every(1, 1)) };
        let length = *axes.get(axis)?;
        let every = |step: u64| KeptPixels::every(step, length);
        match change {
            Change::Values | Change::Order(_) => Some(every(1)),
            Change::Along { axis: along, every: step } => {
                Some(every(if along == axis { step.max(1) } else { 1 }))
            }
            Change::Section(selections) => {
                let selection = selections.get(axis)?;
                let AxisSelection { first, count, step, before, .. } = *selection;
                Some(KeptPixels { first, count, step, before, length: selection.pixels() })
            }
            Change::Blocks(blocks, _) => (blocks.get(axis)?.pixels == 1).then(|| every(1)),
            Change::Path(_) => (axis > 1).then(|| every(1)),
        }
    };
    let polarisations = match hdu.stokes_axis() {
        None => None,
        axis => Some(selection_of(axis)?),
    };
    Some(Kept { channels: selection_of(hdu.channel_axis())?, polarisations })
}

/// Beam of a channel, from a row of the table BEAMS.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChannelBeam {
    /// The channel, from 0.
    pub channel: u64,
    /// The polarisation, from 0; `None` without a column POL.
    pub polarisation: Option<u64>,
    /// Full width at half maximum of the major axis, degrees.
    pub major: f64,
    /// Full width at half maximum of the minor axis, degrees.
    pub minor: f64,
    /// Position angle of the major axis, from north through east, degrees.
    pub angle: f64,
}

/// A table of beams: its header, and its rows in memory.
#[derive(Debug)]
struct Beams {
    header: Header,
    rows: Vec<u8>,
    row_bytes: usize,
    channel: Option<NumberCell>,
    polarisation: Option<NumberCell>,
    /// BMAJ, BMIN, BPA, and the size of their units in degrees.
    beam: Option<[(NumberCell, f64); 3]>,
}

impl Beams {
    /// Reads the table; `None` unless its rows have a fixed layout.
    fn read(storage: &dyn Storage, hdu: &Hdu) -> Result<Option<Beams>, Error> {
        let Ok(layout) = hdu.table() else { return Ok(None) };
        let is_whole = hdu.data_bytes <= hdu.data_bytes_present && layout.heap.bytes == 0;
        if layout.kind != TableKind::Binary || !is_whole || hdu.data_bytes > MOST_BYTES {
            return Ok(None);
        }
        let column = |name: &str| Some(&layout.columns[layout.column(name)?]);
        let cell = |name: &str| column(name).and_then(NumberCell::of);
        let in_degrees = |name: &str| {
            let (cell, unit) = (cell(name)?, column(name)?.unit.as_deref().unwrap_or_default());
            let size = match unit.trim().to_ascii_lowercase().as_str() {
                "arcsec" | "arcsecs" | "arcsecond" | "arcseconds" | "asec" => 1.0 / 3600.0,
                "arcmin" | "arcmins" | "arcminute" | "arcminutes" | "amin" => 1.0 / 60.0,
                "deg" | "degs" | "degree" | "degrees" => 1.0,
                "rad" | "radian" | "radians" => 180.0 / std::f64::consts::PI,
                "mas" => 1.0 / 3.6e6,
                _ => return None,
            };
            Some((cell, size))
        };
        let beam = (|| Some([in_degrees("BMAJ")?, in_degrees("BMIN")?, in_degrees("BPA")?]))();
        let mut rows = memory::filled(hdu.data_bytes as usize, 0, "a table of beams")?;
        storage.read_exact_at(layout.data_offset, &mut rows)?;
        let mut header = hdu.header.clone();
        for keyword in ["CHECKSUM", "DATASUM"] {
            header.remove(keyword);
        }
        Ok(Some(Beams {
            header,
            rows,
            row_bytes: layout.row_bytes as usize,
            channel: cell("CHAN"),
            polarisation: cell("POL"),
            beam,
        }))
    }

    /// Returns the rows of channels and polarisations that remain, renumbered; sorted by the new
    /// numbers if the order of channels is reversed.
    fn keep(&self, selection: &Kept) -> Result<Beams, FormatError> {
        let mut rows: Vec<(Option<u64>, u64, Vec<u8>)> = Vec::new();
        for (index, row) in (0..).zip(self.rows.chunks_exact(self.row_bytes.max(1))) {
            let channel = self.channel.map_or(Some(index), |cell| whole(cell.get(row)?));
            let of_channel = channel.and_then(|old| selection.channels.position(old));
            let Some(new_channel) = of_channel else { continue };
            let mut row = row.to_vec();
            if let Some(cell) = self.channel {
                cell.put(&mut row, new_channel as f64)?;
            }
            let mut new_polarisation = None;
            if let (Some(cell), Some(polarisations)) = (self.polarisation, &selection.polarisations)
            {
                let old = cell.get(&row).and_then(whole);
                let Some(new) = old.and_then(|old| polarisations.position(old)) else { continue };
                cell.put(&mut row, new as f64)?;
                new_polarisation = Some(new);
            }
            rows.push((new_polarisation, new_channel, row));
        }
        if selection.channels.step < 0 && selection.channels.count > 1 {
            rows.sort_by_key(|(polarisation, channel, _)| (*polarisation, *channel));
        }
        let mut header = self.header.clone();
        header.set("NAXIS2", rows.len(), "")?;
        if header.get("NCHAN").is_some() {
            header.set("NCHAN", selection.channels.length as usize, "")?;
        }
        if let (Some(_), Some(polarisations)) = (header.get("NPOL"), &selection.polarisations) {
            header.set("NPOL", polarisations.length as usize, "")?;
        }
        let rows = rows.into_iter().flat_map(|(_, _, row)| row).collect();
        Ok(Beams { header, rows, ..*self })
    }

    /// Returns BMAJ, BMIN and BPA of a channel, in degrees.
    fn beam(&self, channel: u64, polarisation: u64) -> Option<[f64; 3]> {
        let is_of = |beam: &ChannelBeam| {
            beam.channel == channel && beam.polarisation.is_none_or(|of| of == polarisation)
        };
        self.rows_of_beams().find(is_of).map(|beam| [beam.major, beam.minor, beam.angle])
    }

    /// Returns the beam of every row.
    fn channels(&self) -> Vec<ChannelBeam> {
        self.rows_of_beams().collect()
    }

    fn rows_of_beams(&self) -> impl Iterator<Item = ChannelBeam> {
        let rows = (0..).zip(self.rows.chunks_exact(self.row_bytes.max(1)));
        rows.filter_map(|(index, row)| self.beam_of_row(index, row))
    }

    fn beam_of_row(&self, index: u64, row: &[u8]) -> Option<ChannelBeam> {
        let channel = self.channel.map_or(Some(index), |cell| whole(cell.get(row)?))?;
        let polarisation = self.polarisation.and_then(|cell| whole(cell.get(row)?));
        let [major, minor, angle] = self.beam?.map(|(cell, size)| Some(cell.get(row)? * size));
        let (major, minor, angle) = (major?, minor?, angle?);
        Some(ChannelBeam { channel, polarisation, major, minor, angle })
    }

    /// Replaces the beam of each row that has one; values are in degrees.
    fn with_beams(&self, new_beams: &[[f64; 3]]) -> Result<Beams, FormatError> {
        let mut rows = self.rows.clone();
        let mut new_beams = new_beams.iter();
        for (index, row) in (0..).zip(rows.chunks_exact_mut(self.row_bytes.max(1))) {
            let (Some(_), Some(cells)) = (self.beam_of_row(index, row), self.beam) else {
                continue;
            };
            for ((cell, size), value) in
                cells.into_iter().zip(new_beams.next().into_iter().flatten())
            {
                cell.put(row, value / size)?;
            }
        }
        Ok(Beams { header: self.header.clone(), rows, ..*self })
    }
}

/// Returns the number of a channel or a polarisation, if it is a whole number.
fn whole(number: f64) -> Option<u64> {
    (number >= 0.0 && number.fract() == 0.0).then_some(number as u64)
}
