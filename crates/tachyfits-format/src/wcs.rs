//! Names of world-coordinate keywords (Sect. 8): the axes of a keyword, and the matrix of one description. Projections
//! are evaluated by readers of world coordinates.
//!
//! A description consists of the keywords of one alternate letter; the primary description has no letter. The matrix
//! from pixels to world units is CDELTi · PCi_j, or CDi_j, or CDELTi with a rotation by CROTAi (Sect. 8.1 and 8.2). If
//! both PC and CD are present, which the Standard forbids, PC is used, as in WCSLIB.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

use crate::card::Card;
use crate::error::FormatError;
use crate::header::Header;
use crate::value::Value;

/// Keywords of one axis, `CTYPE1` and `CTYPE1A`.
const OF_ONE_AXIS: [&str; 11] = [
    "CTYPE", "CUNIT", "CRVAL", "CRPIX", "CDELT", "CROTA", "CNAME", "CRDER", "CSYER", "CZPHS",
    "CPERI",
];
/// Keywords of two axes, `PC1_2A`, and in older files `PC001002`.
const MATRICES: [&str; 2] = ["PC", "CD"];
/// Keywords of one axis with an additional number, `PV2_1A`.
const PARAMETERS: [&str; 2] = ["PV", "PS"];

/// The letter of the primary description: none.
pub(crate) const PRIMARY: char = ' ';

/// Part of a name after the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NamePart {
    /// Nothing follows the axis.
    None,
    /// Pixel axis of a matrix element.
    Column(usize),
    /// Pixel axis of a matrix element in the notation `PC001002`.
    OldColumn(usize),
    /// Number of a parameter.
    Parameter(usize),
    /// Number of a record of IRAF's `WAT1_001`, whose text may continue in the next record.
    Record(usize),
}

/// Name of a keyword of one or two axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AxisName {
    /// `CTYPE`, `PC`, `PV`, … and IRAF's `LTV`, `LTM` and `WAT`.
    pub root: &'static str,
    /// Axis, from 1; for a matrix element its row.
    pub axis: usize,
    /// Part after the axis.
    pub part: NamePart,
    /// Letter of an alternate description; [`PRIMARY`] for none.
    pub letter: char,
}

impl AxisName {
    /// Creates names such as `CTYPE3A`.
    pub fn of(root: &'static str, axis: usize, letter: char) -> Self {
        AxisName { root, axis, part: NamePart::None, letter }
    }

    /// Parses the keyword of a card; `None` if it does not belong to an axis.
    pub fn parse(keyword: &str) -> Option<Self> {
        let keyword = keyword.to_ascii_uppercase();
        let of_axis = |root: &&'static str| {
            let (axis, letter) = number(keyword.strip_prefix(*root)?)?;
            Some(AxisName::of(root, axis, end(letter)?))
        };
        let of_axes = |root: &&'static str| {
            let (axis, rest) = number(keyword.strip_prefix(*root)?)?;
            let (column, letter) = number(rest.strip_prefix('_')?)?;
            Some(AxisName { root, axis, part: NamePart::Column(column), letter: end(letter)? })
        };
        let parameter = |root: &&'static str| {
            let (axis, rest) = number(keyword.strip_prefix(*root)?)?;
            let (n, letter) = digits(rest.strip_prefix('_')?)?;
            let name = AxisName { root, axis, part: NamePart::Parameter(n), letter: end(letter)? };
            // "PV1_01" would be written back as "PV1_1".
            (name.to_string() == keyword).then_some(name)
        };
        OF_ONE_AXIS
            .iter()
            .find_map(of_axis)
            .or_else(|| MATRICES.iter().find_map(of_axes))
            .or_else(|| MATRICES.iter().find_map(|root| old_matrix(&keyword, root)))
            .or_else(|| PARAMETERS.iter().find_map(parameter))
            .or_else(|| of_axis(&"LTV").filter(|name| name.letter == PRIMARY))
            .or_else(|| of_axes(&"LTM").filter(|name| name.letter == PRIMARY))
            .or_else(|| record(&keyword))
    }

    /// Returns the name with renumbered axes.
    pub fn renumbered(self, number: impl Fn(usize) -> usize) -> Self {
        let part = match self.part {
            NamePart::Column(column) => NamePart::Column(number(column)),
            NamePart::OldColumn(column) => NamePart::OldColumn(number(column)),
            other => other,
        };
        AxisName { axis: number(self.axis), part, ..self }
    }

    /// Pixel axis of a matrix element.
    pub fn column(self) -> Option<usize> {
        match self.part {
            NamePart::Column(column) | NamePart::OldColumn(column) => Some(column),
            _ => None,
        }
    }

    /// Whether the keyword belongs to IRAF's transformations, not to a description of Sect. 8.
    pub fn is_iraf(self) -> bool {
        matches!(self.root, "LTV" | "LTM" | "WAT")
    }
}

impl fmt::Display for AxisName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            NamePart::None => write!(f, "{}{}", self.root, self.axis)?,
            NamePart::Column(n) | NamePart::Parameter(n) => {
                write!(f, "{}{}_{n}", self.root, self.axis)?
            }
            NamePart::OldColumn(n) => write!(f, "{}{:03}{n:03}", self.root, self.axis)?,
            NamePart::Record(n) => write!(f, "{}{}_{n:03}", self.root, self.axis)?,
        }
        if self.letter == PRIMARY { Ok(()) } else { write!(f, "{}", self.letter) }
    }
}

/// Splits off the digits at the start.
fn digits(text: &str) -> Option<(usize, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    (end <= 3).then_some(())?;
    Some((digits.parse().ok()?, rest))
}

/// Splits off the number of an axis, which has no leading zero (Sect. 4.1.2.1).
fn number(text: &str) -> Option<(usize, &str)> {
    digits(text).filter(|_| !text.starts_with('0'))
}

/// Parses the end of a name: nothing, or the letter of an alternate description.
fn end(rest: &str) -> Option<char> {
    match rest.as_bytes() {
        [] => Some(PRIMARY),
        [letter @ b'A'..=b'Z'] => Some(char::from(*letter)),
        _ => None,
    }
}

fn old_matrix(keyword: &str, root: &'static str) -> Option<AxisName> {
    let rest = keyword.strip_prefix(root).filter(|rest| rest.len() == 6)?;
    let (axis, column) = rest.split_at_checked(3)?;
    let axis = digits(axis).filter(|(axis, rest)| *axis > 0 && rest.is_empty())?.0;
    let column = digits(column).filter(|(column, rest)| *column > 0 && rest.is_empty())?.0;
    Some(AxisName { root, axis, part: NamePart::OldColumn(column), letter: PRIMARY })
}

fn record(keyword: &str) -> Option<AxisName> {
    let (axis, rest) = number(keyword.strip_prefix("WAT")?)?;
    let (n, rest) = digits(rest.strip_prefix('_')?)?;
    let name = AxisName { root: "WAT", axis, part: NamePart::Record(n), letter: PRIMARY };
    (rest.is_empty() && name.to_string() == keyword).then_some(name)
}

/// Returns the letter of `WCSAXES` or `WCSAXESA`.
pub(crate) fn wcsaxes_letter(keyword: &str) -> Option<char> {
    end(keyword.to_ascii_uppercase().strip_prefix("WCSAXES")?)
}

/// The cards of one description about its axes.
#[derive(Debug)]
pub(crate) struct Description {
    pub letter: char,
    /// Axes named by keywords.
    pub axes: BTreeSet<usize>,
    /// WCSAXES, if present.
    pub wcsaxes: Option<usize>,
    /// Elements of the PC and of the CD matrix, from the first card of each.
    pub pc: Matrix,
    pub cd: Matrix,
}

/// Elements of a matrix that have a card.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    elements: HashMap<(usize, usize), f64>,
    /// Whether the notation is `PC001002`.
    pub old: bool,
    /// Axes with a non-zero element beside the diagonal in their row, and in their column.
    rows: HashSet<usize>,
    columns: HashSet<usize>,
    /// Axes with any element in their row or column.
    touched: HashSet<usize>,
}

impl Matrix {
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    pub fn element(&self, row: usize, column: usize) -> Option<f64> {
        self.elements.get(&(row, column)).copied()
    }

    /// Whether the world axis depends on pixel axes other than its own.
    pub fn mixes_into(&self, axis: usize) -> bool {
        self.rows.contains(&axis)
    }

    /// Whether pixel axis and world axis depend only on each other.
    pub fn isolates(&self, axis: usize) -> bool {
        !self.rows.contains(&axis) && !self.columns.contains(&axis)
    }

    /// Whether an element in the row or column of the axis has a card.
    pub fn touches(&self, axis: usize) -> bool {
        self.touched.contains(&axis)
    }

    /// Returns the name of the diagonal element in the notation of the others.
    pub fn diagonal(&self, root: &'static str, axis: usize, letter: char) -> AxisName {
        let part = if self.old { NamePart::OldColumn(axis) } else { NamePart::Column(axis) };
        AxisName { root, axis, part, letter }
    }

    fn insert(&mut self, row: usize, column: usize, value: f64) {
        if self.elements.contains_key(&(row, column)) {
            return;
        }
        self.elements.insert((row, column), value);
        self.touched.extend([row, column]);
        if row != column && value != 0.0 {
            self.rows.insert(row);
            self.columns.insert(column);
        }
    }
}

impl Description {
    fn new(letter: char) -> Self {
        Description {
            letter,
            axes: BTreeSet::new(),
            wcsaxes: None,
            pc: Matrix::default(),
            cd: Matrix::default(),
        }
    }

    /// Whether the coordinates of one axis depend on the pixels of the other: through the matrix, or as the two
    /// celestial axes.
    pub fn couples(&self, header: &Header, one: usize, other: usize) -> bool {
        let sky = |axis: usize| {
            let keyword = AxisName::of("CTYPE", axis, self.letter).to_string();
            header.get(&keyword).and_then(Value::as_text).is_some_and(is_celestial)
        };
        let matrix = if self.pc.is_empty() { &self.cd } else { &self.pc };
        let mixes = |row, column| matrix.element(row, column).is_some_and(|value| value != 0.0);
        one != other && (mixes(one, other) || mixes(other, one) || (sky(one) && sky(other)))
    }

    /// Returns the descriptions of a header, the primary one first.
    ///
    /// # Errors
    /// [`crate::Code::KeywordType`] and similar codes for matrix elements that are not numbers.
    pub fn all(header: &Header) -> Result<Vec<Description>, FormatError> {
        let mut found: HashMap<char, Description> = HashMap::new();
        for card in header.cards().iter().filter(|card| card.value().is_some()) {
            if let Some(letter) = wcsaxes_letter(card.keyword()) {
                let count = header.get_i64(card.keyword())?;
                let count = count.and_then(|count| usize::try_from(count).ok());
                found.entry(letter).or_insert_with(|| Description::new(letter)).wcsaxes = count;
            }
            let Some(name) = AxisName::parse(card.keyword()).filter(|name| !name.is_iraf()) else {
                continue;
            };
            let description =
                found.entry(name.letter).or_insert_with(|| Description::new(name.letter));
            description.add(header, card, name)?;
        }
        let mut all: Vec<Description> = found.into_values().collect();
        all.sort_by_key(|description| description.letter);
        Ok(all)
    }

    /// Returns the primary description; empty if the header has none.
    pub fn primary(header: &Header) -> Result<Description, FormatError> {
        let first = Description::all(header)?.into_iter().next();
        let primary = first.filter(|description| description.letter == PRIMARY);
        Ok(primary.unwrap_or_else(|| Description::new(PRIMARY)))
    }

    fn add(&mut self, header: &Header, card: &Card, name: AxisName) -> Result<(), FormatError> {
        self.axes.insert(name.axis);
        let Some(column) = name.column() else { return Ok(()) };
        self.axes.insert(column);
        let matrix = if name.root == "PC" { &mut self.pc } else { &mut self.cd };
        matrix.old |= matches!(name.part, NamePart::OldColumn(_));
        if let Some(value) = card_number(header, card)? {
            matrix.insert(name.axis, column, value);
        }
        Ok(())
    }
}

/// Returns the number of a card; `None` if its value field is empty.
pub(crate) fn card_number(header: &Header, card: &Card) -> Result<Option<f64>, FormatError> {
    header.number_of(card.keyword(), card.value())
}

/// Returns the type of coordinate that a CTYPE names (Sect. 8.2): `RA` of `RA---TAN`, `FREQ` of `FREQ-LSR`. It has four
/// characters, padded with hyphens, followed by a hyphen and an algorithm of three characters; any other text is
/// returned whole.
pub(crate) fn coordinate_type(ctype: &str) -> &str {
    let ctype = ctype.trim();
    let is_code = |code: &str| {
        let (code, rest) = code.split_once('-').unwrap_or((code, ""));
        let is_name =
            |text: &str| text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        // GIPSY types with the velocity definition and the frame.
        let is_gipsy = matches!(code, "OHEL" | "OLSR" | "RHEL" | "RLSR");
        (is_gipsy || code.len() == 3) && is_name(code) && is_name(rest)
    };
    match (ctype.get(..4), ctype.get(4..5), ctype.get(5..)) {
        (Some(name), Some("-"), Some(code)) if is_code(code) => name.trim_end_matches('-'),
        _ => ctype,
    }
}

/// Whether a type is a longitude or latitude (Sect. 8.3; `HPLN` and `HPLT` are solar).
pub(crate) fn is_celestial(ctype: &str) -> bool {
    let name = coordinate_type(ctype);
    let letters = |text: &str| text.bytes().all(|byte| byte.is_ascii_uppercase());
    matches!(name, "RA" | "DEC")
        || (name.len() == 4
            && letters(name)
            && (matches!(&name[1..], "LON" | "LAT") || matches!(&name[2..], "LN" | "LT")))
}

/// Whether a type is a spectral coordinate (Sect. 8.4, Table 25), or an AIPS one.
pub(crate) fn is_spectral(ctype: &str) -> bool {
    const TYPES: [&str; 11] =
        ["FREQ", "ENER", "WAVN", "VRAD", "WAVE", "VOPT", "ZOPT", "AWAV", "VELO", "BETA", "FELO"];
    TYPES.contains(&coordinate_type(ctype))
}
