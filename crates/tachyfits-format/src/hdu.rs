//! Interprets a header as an HDU: its kind, and shape and size of its data (Sect. 4.4.1, 6, 7). For the layout of
//! pixels see [`crate::image`], for the sequence of HDUs [`crate::walk`].

use crate::code::Code;
use crate::error::{FormatError, Place, Warning, Warnings, quoted};
use crate::header::{Context, Header};
use crate::limits::{Limits, padded};
use crate::value::Value;

/// Content of an HDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HduKind {
    /// The first HDU: an array, or nothing when NAXIS = 0.
    Primary,
    /// An IMAGE extension, or its old name IUEIMAGE.
    Image,
    /// The first HDU with NAXIS1 = 0 and GROUPS = T (Sect. 6).
    RandomGroups,
    /// A BINTABLE extension, or its old name A3DTABLE. Tile-compressed images are stored in these.
    BinaryTable,
    /// A TABLE extension.
    AsciiTable,
    /// Another conforming extension with its XTENSION value: it is skipped; its size is known.
    Unknown(String),
}

impl HduKind {
    /// Name of the kind in lower-case words; for an unknown extension its XTENSION value.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            HduKind::Primary => "primary",
            HduKind::Image => "image",
            HduKind::RandomGroups => "random groups",
            HduKind::BinaryTable => "binary table",
            HduKind::AsciiTable => "ascii table",
            HduKind::Unknown(xtension) => xtension,
        }
    }

    pub(crate) fn of_extension(xtension: &str) -> Self {
        match xtension {
            "IMAGE" | "IUEIMAGE" => HduKind::Image,
            "BINTABLE" | "A3DTABLE" => HduKind::BinaryTable,
            "TABLE" => HduKind::AsciiTable,
            other => HduKind::Unknown(other.to_owned()),
        }
    }
}

/// Type of a number in the file, from BITPIX (Table 8); all are big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoredType {
    /// BITPIX = 8: unsigned.
    U8,
    /// BITPIX = 16.
    I16,
    /// BITPIX = 32.
    I32,
    /// BITPIX = 64.
    I64,
    /// BITPIX = -32: IEEE 754.
    F32,
    /// BITPIX = -64: IEEE 754.
    F64,
}

impl StoredType {
    /// Returns the type of a BITPIX value; `None` if it is not one of the six.
    #[must_use]
    pub const fn from_bitpix(bitpix: i64) -> Option<Self> {
        Some(match bitpix {
            8 => StoredType::U8,
            16 => StoredType::I16,
            32 => StoredType::I32,
            64 => StoredType::I64,
            -32 => StoredType::F32,
            -64 => StoredType::F64,
            _ => return None,
        })
    }

    /// BITPIX value of the type.
    #[must_use]
    pub const fn bitpix(self) -> i64 {
        match self {
            StoredType::U8 => 8,
            StoredType::I16 => 16,
            StoredType::I32 => 32,
            StoredType::I64 => 64,
            StoredType::F32 => -32,
            StoredType::F64 => -64,
        }
    }

    /// Bytes of one number.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.bitpix().unsigned_abs() as usize / 8
    }

    /// Returns the smallest and the largest integer; `None` for floating point.
    pub(crate) const fn integer_range(self) -> Option<(i64, i64)> {
        match self {
            StoredType::U8 => Some((0, 255)),
            StoredType::I16 => Some((i16::MIN as i64, i16::MAX as i64)),
            StoredType::I32 => Some((i32::MIN as i64, i32::MAX as i64)),
            StoredType::I64 => Some((i64::MIN, i64::MAX)),
            StoredType::F32 | StoredType::F64 => None,
        }
    }

    /// Decodes the number at the start of `bytes`, 64-bit integers rounded to f64; `None` if there are too few bytes.
    pub(crate) fn number(self, bytes: &[u8]) -> Option<f64> {
        Some(match self {
            StoredType::F32 => f32::from_be_bytes(*bytes.first_chunk()?).into(),
            StoredType::F64 => f64::from_be_bytes(*bytes.first_chunk()?),
            _ => self.integer(bytes)? as f64,
        })
    }

    /// Decodes the integer at the start of `bytes`; `None` for floating point, or if there are too few bytes.
    pub(crate) fn integer(self, bytes: &[u8]) -> Option<i64> {
        Some(match self {
            StoredType::U8 => (*bytes.first()?).into(),
            StoredType::I16 => i16::from_be_bytes(*bytes.first_chunk()?).into(),
            StoredType::I32 => i32::from_be_bytes(*bytes.first_chunk()?).into(),
            StoredType::I64 => i64::from_be_bytes(*bytes.first_chunk()?),
            StoredType::F32 | StoredType::F64 => return None,
        })
    }

    /// Whether it is an IEEE 754 type.
    #[must_use]
    pub const fn is_float(self) -> bool {
        self.bitpix() < 0
    }
}

/// A header and data unit: its content, position and size.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hdu {
    /// Position in the file, 0 is the primary HDU.
    pub index: usize,
    /// Its content.
    pub kind: HduKind,
    /// Its cards.
    pub header: Header,
    /// Byte offset of the header.
    pub header_offset: u64,
    /// Byte offset of the data: the end of the header's last block.
    pub data_offset: u64,
    /// Bytes of data as declared, without fill.
    pub data_bytes: u64,
    /// Bytes of data in the file; fewer than `data_bytes` if it is truncated.
    pub data_bytes_present: u64,
    /// NAXIS1, NAXIS2, …: FITS order, fastest first, as declared (for random groups the first is 0).
    pub axes: Vec<u64>,
    /// Type of a number, from BITPIX.
    pub stored: StoredType,
    /// PCOUNT: heap bytes of a binary table, parameters of a random group, otherwise 0.
    pub parameter_count: u64,
    /// GCOUNT: number of random groups, otherwise 1.
    pub group_count: u64,
    /// EXTNAME.
    pub extname: Option<String>,
    /// EXTVER, 1 if absent.
    pub extver: i64,
    /// EXTLEVEL, 1 if absent.
    pub extlevel: i64,
}

impl Hdu {
    /// Whether EXTNAME matches `name`: case and trailing blanks are ignored, as in CFITSIO.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.extname.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name.trim_end()))
    }

    /// Byte offset after the data and their fill.
    #[must_use]
    pub fn end_offset(&self) -> u64 {
        self.data_offset.saturating_add(padded(self.data_bytes))
    }

    /// Creates the HDU of a header whose data follow it completely: the primary HDU of a file if `index` is 0,
    /// otherwise an extension.
    ///
    /// # Errors
    /// Returns an error if the header does not define the data.
    pub fn of_header(header: Header, index: usize) -> Result<Hdu, FormatError> {
        let header = header.at(Context { hdu: index, offset: 0 });
        Hdu::new(header, &Limits::default(), u64::MAX, &mut Warnings::default())
    }

    /// Creates the HDU of a header that begins at the context's offset in a file of `file_bytes`.
    pub(crate) fn new(
        header: Header,
        limits: &Limits,
        file_bytes: u64,
        warnings: &mut Warnings,
    ) -> Result<Hdu, FormatError> {
        let context = header.context();
        let mut reader = StructureReader { header: &header, limits, warnings };
        let structure = reader.structure()?;
        let extname = reader.reserved(Header::get_text, "EXTNAME").map(str::to_owned);
        let extver = reader.reserved(Header::get_i64, "EXTVER").unwrap_or(1);
        let extlevel = reader.reserved(Header::get_i64, "EXTLEVEL").unwrap_or(1);
        let data_offset = context.offset + header.block_bytes();
        let data_bytes = structure.data_bytes(&header, limits)?;
        let data_bytes_present = file_bytes.saturating_sub(data_offset).min(data_bytes);
        Ok(Hdu {
            index: context.hdu,
            kind: structure.kind,
            header_offset: context.offset,
            data_offset,
            data_bytes,
            data_bytes_present,
            axes: structure.axes,
            stored: structure.stored,
            parameter_count: structure.pcount,
            group_count: structure.gcount,
            extname,
            extver,
            extlevel,
            header,
        })
    }
}

/// Values of the mandatory keywords.
struct Structure {
    kind: HduKind,
    stored: StoredType,
    axes: Vec<u64>,
    pcount: u64,
    gcount: u64,
}

impl Structure {
    /// Evaluates Equations 1, 2 and 4 in 128 bits: |BITPIX|/8 · GCOUNT · (PCOUNT + ∏ NAXISn).
    fn data_bytes(&self, header: &Header, limits: &Limits) -> Result<u64, FormatError> {
        let sizes = match self.kind {
            HduKind::RandomGroups => &self.axes[1..],
            _ => &self.axes[..],
        };
        let elements = if self.axes.is_empty() || sizes.contains(&0) {
            Some(0)
        } else {
            sizes.iter().try_fold(1u128, |size, &axis| size.checked_mul(u128::from(axis)))
        };
        let group = elements
            .and_then(|elements| elements.checked_add(u128::from(self.pcount)))
            .and_then(|numbers| numbers.checked_mul(self.stored.bytes() as u128));
        let bytes = group.and_then(|group| group.checked_mul(u128::from(self.gcount)));
        // GCOUNT = 0 must not hide a group whose size would overflow.
        let largest = bytes.max(group);
        match bytes {
            Some(bytes) if largest <= Some(u128::from(limits.max_data_bytes)) => Ok(bytes as u64),
            _ => {
                let axes: Vec<String> = self.axes.iter().map(u64::to_string).collect();
                let bits = self.stored.bitpix();
                let found = format!("axes {} of BITPIX {bits}", axes.join(" x "));
                let expected = format!("at most {} bytes of data", limits.max_data_bytes);
                Err(FormatError::new(Code::DataTooLarge, header.place("NAXIS"), expected, found))
            }
        }
    }
}

/// Reads the mandatory and reserved keywords of a header, with a warning for each tolerated fault.
struct StructureReader<'a> {
    header: &'a Header,
    limits: &'a Limits,
    warnings: &'a mut Warnings,
}

impl<'a> StructureReader<'a> {
    fn structure(&mut self) -> Result<Structure, FormatError> {
        let header = self.header;
        let primary = header.context().hdu == 0;
        let kind = if primary { self.primary() } else { self.extension()? };
        let bitpix = self.integer("BITPIX")?;
        let Some(stored) = StoredType::from_bitpix(bitpix) else {
            return Err(header.out_of_range("BITPIX", "8, 16, 32, 64, -32 or -64"));
        };
        let axes = self.axes()?;
        let groups = primary && axes.first() == Some(&0) && self.groups();
        let kind = if groups { HduKind::RandomGroups } else { kind };
        // Equation 1 contains neither PCOUNT nor GCOUNT: in a plain primary array they have no meaning.
        let (pcount, gcount) = match kind {
            HduKind::Primary => (0, 1),
            _ => (self.count("PCOUNT", 0)?, self.count("GCOUNT", 1)?),
        };
        self.check_order(axes.len(), !primary);
        Ok(Structure { kind, stored, axes, pcount, gcount })
    }

    fn primary(&mut self) -> HduKind {
        match self.header.get("SIMPLE") {
            Some(Value::Logical(true)) => {}
            other => {
                let found = other.map_or_else(|| "no value".to_owned(), Value::to_string);
                self.warn(Code::SimpleFalse, "SIMPLE", "T", found);
            }
        }
        HduKind::Primary
    }

    fn extension(&mut self) -> Result<HduKind, FormatError> {
        match self.header.get_text("XTENSION")? {
            Some(xtension) => Ok(HduKind::of_extension(xtension)),
            None => Err(self.header.missing("XTENSION", "the name of the extension type")),
        }
    }

    fn axes(&mut self) -> Result<Vec<u64>, FormatError> {
        let naxis = self.integer("NAXIS")?;
        let expected = || format!("0 to {}", self.limits.max_naxis);
        let naxis = usize::try_from(naxis)
            .ok()
            .filter(|naxis| *naxis <= self.limits.max_naxis)
            .ok_or_else(|| self.header.out_of_range("NAXIS", &expected()))?;
        (1..=naxis).map(|axis| self.size(&format!("NAXIS{axis}"))).collect()
    }

    fn groups(&mut self) -> bool {
        self.reserved(Header::get_logical, "GROUPS") == Some(true)
    }

    /// Reads a size: an integer of 0 or more.
    fn size(&mut self, keyword: &str) -> Result<u64, FormatError> {
        let value = self.integer(keyword)?;
        u64::try_from(value).map_err(|_| self.header.out_of_range(keyword, "0 or more"))
    }

    fn count(&mut self, keyword: &str, default: u64) -> Result<u64, FormatError> {
        if self.header.get(keyword).is_none() {
            let expected = format!("{keyword} = {default} at least");
            self.warn(Code::MandatoryDefault, keyword, &expected, "no such card".to_owned());
            return Ok(default);
        }
        self.size(keyword)
    }

    fn integer(&self, keyword: &str) -> Result<i64, FormatError> {
        match self.header.get_i64(keyword)? {
            Some(value) => Ok(value),
            None => Err(self.header.missing(keyword, "an integer")),
        }
    }

    /// Reads a reserved keyword that only describes: with the wrong type it is ignored, with a warning.
    fn reserved<T>(
        &mut self,
        get: impl Fn(&'a Header, &str) -> Result<Option<T>, FormatError>,
        keyword: &str,
    ) -> Option<T> {
        get(self.header, keyword).unwrap_or_else(|error| {
            let problem = error.problem();
            let (expected, found) = (problem.expected.clone(), problem.found.clone());
            self.warn(Code::ReservedType, keyword, &expected, found);
            None
        })
    }

    /// Checks that mandatory keywords come first, in a fixed order (Tables 7 and 10).
    fn check_order(&mut self, naxis: usize, extension: bool) {
        let first = if extension { "XTENSION" } else { "SIMPLE" };
        let axes = (1..=naxis).map(|axis| format!("NAXIS{axis}"));
        let counts = ["PCOUNT", "GCOUNT"].into_iter().filter(|_| extension);
        let order = [first, "BITPIX", "NAXIS"].map(str::to_owned).into_iter();
        let order = order.chain(axes).chain(counts.map(str::to_owned));
        let wrong = order.zip(self.header.cards().iter().enumerate()).find(|(keyword, (at, _))| {
            self.header.position(keyword).is_some_and(|position| position != *at)
        });
        if let Some((keyword, (_, card))) = wrong {
            let found = quoted(card.keyword());
            let expected = format!("{keyword} in its place");
            self.warn(Code::MandatoryOrder, &keyword, &expected, found);
        }
    }

    fn warn(&mut self, code: Code, keyword: &str, expected: &str, found: String) {
        let place: Place = self.header.place(keyword);
        self.warnings.push(Warning::new(code, place, expected, found));
    }
}
