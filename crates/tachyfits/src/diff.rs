//! Differences between two files: HDUs, cards, pixels and cells within tolerances. Both files are read in one
//! pass, block by block, in bounded memory; equal bytes are not decoded.

mod cards;
mod pixels;
mod tables;
mod values;

use std::sync::Arc;

use tachyfits_format::{Hdu, HduKind, is_structural};
use tachyfits_io::operation::RunOptions;

use crate::error::{Error, Reason};
use crate::file::FitsFile;
use crate::image::{Image, tier};

pub use cards::{CardChange, CardDifference};
use tables::ColumnPairs;
pub use values::{DataDifference, DiffOptions, DifferentValue, ValuesDifference};

/// Identifies an HDU.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HduLabel {
    /// HDU number, from 0.
    pub index: usize,
    /// EXTNAME.
    pub name: Option<String>,
    /// EXTVER.
    pub version: i64,
    /// Type of the HDU, as text.
    pub kind: String,
}

/// Differences between two files: the first and the second of each pair.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FileDifference {
    /// Names of the files.
    pub files: [String; 2],
    /// HDUs that only one file has.
    pub only: [Vec<HduLabel>; 2],
    /// Pairs of HDUs that differ.
    pub hdus: Vec<HduDifference>,
    /// Number of HDU pairs that were compared.
    pub compared: usize,
}

impl FileDifference {
    /// Whether the files are equal.
    pub fn is_same(&self) -> bool {
        self.hdus.is_empty() && self.only.iter().all(Vec::is_empty)
    }
}

/// Differences between two HDUs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HduDifference {
    /// Labels of both HDUs.
    pub labels: [HduLabel; 2],
    /// Differences of cards, whatever their order.
    pub cards: Vec<CardDifference>,
    /// Differences of the data.
    pub data: Vec<DataDifference>,
}

/// Compares two files.
///
/// HDUs are paired by EXTNAME and EXTVER if both files have them, otherwise by number. Columns and their
/// cards are paired by name.
///
/// # Errors
/// If a file cannot be read or ends before its data do.
///
/// ```
/// use tachyfits::{FitsFile, OpenOptions, RunOptions, diff};
/// use tachyfits::diff::{DataDifference, DiffOptions};
/// let file = |last: u8| {
///     let cards = ["SIMPLE  =                    T", "BITPIX  =                   16", "NAXIS   =                    1",
///         "NAXIS1  =                    3", "END"];
///     let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
///     bytes.resize(2880, b' ');
///     bytes.extend([0, 1, 0, 2, 0, last]);
///     bytes.resize(5760, 0);
///     FitsFile::from_bytes("three pixels", bytes, &OpenOptions::default())
/// # };
/// // 1, 2, 6 and 1, 2, 9.
/// let (a, b) = (file(6)?, file(9)?);
/// let difference = diff(&a, &b, &DiffOptions::default(), &RunOptions::default())?;
/// let DataDifference::Values(values) = &difference.hdus[0].data[0] else { unreachable!() };
/// assert_eq!((values.different, values.compared, values.largest), (1, 3, 3.0));
/// let close = DiffOptions::default().absolute(3.0);
/// assert!(diff(&a, &b, &close, &RunOptions::default())?.is_same());
/// # Ok::<(), tachyfits::Error>(())
/// ```
pub fn diff(
    a: &FitsFile,
    b: &FitsFile,
    options: &DiffOptions,
    run: &RunOptions<'_>,
) -> Result<FileDifference, Error> {
    let (pairs, only) = paired(a, b);
    let mut hdus = Vec::new();
    for &[first, second] in &pairs {
        let (left, right) = (&a.hdus()[first], &b.hdus()[second]);
        let (cards, data) = Pair { files: [a, b], hdus: [left, right], options, run }.compare()?;
        if !cards.is_empty() || !data.is_empty() {
            hdus.push(HduDifference { labels: [label(left), label(right)], cards, data });
        }
    }
    let files = [a.name().to_owned(), b.name().to_owned()];
    Ok(FileDifference { files, only, hdus, compared: pairs.len() })
}

fn label(hdu: &Hdu) -> HduLabel {
    HduLabel {
        index: hdu.index,
        name: hdu.extname.clone(),
        version: hdu.extver,
        kind: hdu.kind.as_str().to_owned(),
    }
}

/// Returns the paired HDUs, and the HDUs without a partner.
fn paired(a: &FitsFile, b: &FitsFile) -> (Vec<[usize; 2]>, [Vec<HduLabel>; 2]) {
    let name = |hdu: &Hdu| {
        let name = hdu.extname.as_ref()?.trim_end().to_ascii_uppercase();
        Some((name, hdu.extver)).filter(|(name, _)| !name.is_empty())
    };
    // At most 65 536 HDUs, the limit of a file.
    let mut partner: Vec<Option<usize>> = vec![None; a.hdus().len()];
    let mut paired_second = vec![false; b.hdus().len()];
    // Compression moves a primary array to an extension after an empty primary HDU: the array is paired with
    // the extension.
    let mut firsts = [a, b].map(first_array);
    if firsts[0] == firsts[1] {
        firsts = [0, 0];
    } else {
        partner[firsts[0]] = Some(firsts[1]);
        paired_second[firsts[1]] = true;
    }
    for (first, hdu) in a.hdus().iter().enumerate() {
        let Some(key) = name(hdu).filter(|_| partner[first].is_none()) else { continue };
        let partner_of_name =
            b.hdus().iter().enumerate().find(|(second, other)| {
                !paired_second[*second] && name(other).as_ref() == Some(&key)
            });
        if let Some((second, _)) = partner_of_name {
            partner[first] = Some(second);
            paired_second[second] = true;
        }
    }
    for (first, partner) in partner.iter_mut().enumerate().skip(firsts[0]) {
        let second = first - firsts[0] + firsts[1];
        if partner.is_none() && paired_second.get(second) == Some(&false) {
            *partner = Some(second);
            paired_second[second] = true;
        }
    }
    let alone = |file: &FitsFile, first: usize, is_alone: &dyn Fn(usize) -> bool| {
        let hdus = file.hdus().iter().skip(first).filter(|hdu| is_alone(hdu.index));
        hdus.map(|hdu| label(hdu)).collect::<Vec<HduLabel>>()
    };
    let only = [
        alone(a, firsts[0], &|index| partner[index].is_none()),
        alone(b, firsts[1], &|index| !paired_second[index]),
    ];
    let pairs = partner.iter().enumerate().filter_map(|(first, second)| Some([first, (*second)?]));
    (pairs.collect(), only)
}

/// Returns the HDU of the primary array: the second HDU if the array was compressed.
fn first_array(file: &FitsFile) -> usize {
    let is_empty = file.hdus().first().is_some_and(|hdu| hdu.data_bytes == 0);
    let was_primary = || {
        let compressed = file.stored_hdu(1).ok()?;
        (is_restored(file, 1) && compressed.header.get("ZSIMPLE").is_some()).then_some(())
    };
    usize::from(is_empty && was_primary().is_some())
}

/// Whether an HDU is stored in compressed tiles.
fn is_restored(file: &FitsFile, index: usize) -> bool {
    let pair = file.stored_hdu(index).ok().zip(file.hdus().get(index));
    pair.is_some_and(|(stored_hdu, hdu)| !Arc::ptr_eq(stored_hdu, hdu))
}

/// Cards that depend on whether an array is the primary one or an extension.
const OF_PLACE: [&str; 6] = ["SIMPLE", "XTENSION", "EXTEND", "BLOCKED", "PCOUNT", "GCOUNT"];

/// Two HDUs to compare.
struct Pair<'a> {
    files: [&'a FitsFile; 2],
    hdus: [&'a Hdu; 2],
    options: &'a DiffOptions,
    run: &'a RunOptions<'a>,
}

impl Pair<'_> {
    fn compare(&self) -> Result<(Vec<CardDifference>, Vec<DataDifference>), Error> {
        let (mut cards, data) = self.compare_all()?;
        if [0, 1].into_iter().any(|n| is_restored(self.files[n], self.hdus[n].index)) {
            // Compression programs write their own comments, and an array may have been the primary one.
            let tables = [HduKind::BinaryTable, HduKind::AsciiTable];
            let is_array = self.hdus.iter().all(|hdu| !tables.contains(&hdu.kind));
            cards.retain(|card| {
                let is_comment = card.change == CardChange::Comment;
                !(is_comment && is_structural(&card.keyword)
                    || is_array && OF_PLACE.contains(&card.keyword.as_str()))
            });
        }
        Ok((cards, data))
    }

    fn compare_all(&self) -> Result<(Vec<CardDifference>, Vec<DataDifference>), Error> {
        let sort = |hdu: &Hdu| match hdu.kind {
            HduKind::Primary | HduKind::Image => 0,
            HduKind::BinaryTable | HduKind::AsciiTable => 1,
            _ => 2,
        };
        let [left, right] = self.hdus;
        let headers = self.hdus.map(|hdu| &hdu.header);
        let data = match (sort(left), sort(right)) {
            (0, 0) => self.images()?,
            (1, 1) => {
                let [first, second] =
                    [self.files[0].table(left.index)?, self.files[1].table(right.index)?];
                let columns = ColumnPairs::of(first.layout(), second.layout());
                let cards = cards::compare(headers, Some(&columns), self.options);
                let tables = [&first, &second];
                return Ok((cards, tables::compare(tables, &columns, self.options, self.run)?));
            }
            (2, 2) if left.kind == right.kind => self.bytes()?,
            _ => vec![DataDifference::Kind(self.hdus.map(|hdu| hdu.kind.as_str().to_owned()))],
        };
        Ok((cards::compare(headers, None, self.options), data))
    }

    fn images(&self) -> Result<Vec<DataDifference>, Error> {
        let [first, second]: [Image; 2] =
            [self.files[0].image(self.hdus[0].index)?, self.files[1].image(self.hdus[1].index)?];
        if first.axes() != second.axes() {
            let axes = [first.axes().to_vec(), second.axes().to_vec()];
            return Ok(vec![DataDifference::Shape(axes)]);
        }
        self.check_present()?;
        let difference = pixels::compare(&first, &second, self.options, self.run, tier())?;
        Ok(difference.map(DataDifference::Values).into_iter().collect())
    }

    /// Compares data of unknown meaning.
    fn bytes(&self) -> Result<Vec<DataDifference>, Error> {
        let [left, right] = self.hdus;
        if left.data_bytes != right.data_bytes {
            let sizes = [vec![left.data_bytes], vec![right.data_bytes]];
            return Ok(vec![DataDifference::Shape(sizes)]);
        }
        self.check_present()?;
        let difference = pixels::compare_bytes(
            [0, 1].map(|n| self.files[n].storage_of(self.hdus[n].index).clone()),
            self.hdus.map(|hdu| hdu.data_offset),
            left.data_bytes,
            self.options,
            self.run,
            tier(),
        )?;
        Ok(difference.map(DataDifference::Values).into_iter().collect())
    }

    fn check_present(&self) -> Result<(), Error> {
        for (file, hdu) in self.files.iter().zip(self.hdus) {
            if hdu.data_bytes_present < hdu.data_bytes {
                let expected = format!("{} bytes of data", hdu.data_bytes);
                let actual = format!("{} bytes, then the end of the file", hdu.data_bytes_present);
                let error = Error::refused(Reason::DataMissing, expected, actual);
                return Err(error.at(file.name(), hdu.index));
            }
        }
        Ok(())
    }
}
