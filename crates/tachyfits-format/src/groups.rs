//! Random groups (Sect. 6): the layout of uv data in old radio files. Each group consists of
//! parameters followed by an array; all are numbers of one stored type. Parameters with the same
//! name are summed (Sect. 6.1.2).

use crate::code::Code;
use crate::error::{FormatError, Place};
use crate::hdu::{Hdu, HduKind};
use crate::image::{ImageLayout, array_layout};

/// PTYPEn has room for three digits (Sect. 4.1.2.1).
const MOST_PARAMETERS: u64 = 999;

/// One parameter as stored: `zero + scale * stored` is one summand of the parameter of this name.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GroupParameter {
    /// PTYPEn; `PTYPEn` itself if absent or blank, so that nameless parameters are not summed.
    pub name: String,
    /// PSCALn.
    pub scale: f64,
    /// PZEROn.
    pub zero: f64,
}

/// The layout of random groups.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RandomGroups {
    /// Parameters in file order.
    pub parameters: Vec<GroupParameter>,
    /// GCOUNT.
    pub group_count: u64,
    /// Complete groups in the file.
    pub group_count_present: u64,
    /// Bytes of one group: its parameters and its array.
    pub group_bytes: u64,
    /// Array of the first group: NAXIS2, NAXIS3, … in FITS order. The arrays of the other groups
    /// follow at steps of `group_bytes`.
    pub array: ImageLayout,
    /// Distinct names in order of first appearance, and for each parameter the index of its name.
    names: Vec<String>,
    sums: Vec<usize>,
}

impl RandomGroups {
    /// Names of the parameters, each once, in order of first appearance.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Byte offset of a group, which begins with its parameters.
    #[must_use]
    pub fn group_offset(&self, group: u64) -> u64 {
        let first = self.array.data_offset - self.parameter_bytes() as u64;
        first.saturating_add(group.saturating_mul(self.group_bytes))
    }

    /// Bytes of the parameters at the start of each group.
    #[must_use]
    pub fn parameter_bytes(&self) -> usize {
        self.parameters.len() * self.array.stored.bytes()
    }

    /// Computes the values of [`RandomGroups::names`] from the bytes of one group: scaled, and
    /// summed over parameters of the same name. NaN if `group_bytes` is too short.
    #[must_use]
    pub fn parameters(&self, group_bytes: &[u8]) -> Vec<(String, f64)> {
        // At most MOST_PARAMETERS.
        let mut values = vec![0.0; self.names.len()];
        self.parameter_values(group_bytes, &mut values);
        self.names.iter().cloned().zip(values).collect()
    }

    /// Computes the values into `values`, one per name; saves allocations for many groups.
    pub fn parameter_values(&self, group_bytes: &[u8], values: &mut [f64]) {
        values.fill(0.0);
        let size = self.array.stored.bytes();
        for (at, (parameter, &name)) in self.parameters.iter().zip(&self.sums).enumerate() {
            let bytes = group_bytes.get(at * size..(at + 1) * size);
            let stored = bytes.and_then(|bytes| self.array.stored.number(bytes));
            let stored = stored.unwrap_or(f64::NAN);
            if let Some(value) = values.get_mut(name) {
                *value += parameter.zero + parameter.scale * stored;
            }
        }
    }
}

impl Hdu {
    /// Returns the layout of random groups.
    ///
    /// # Errors
    /// [`Code::NotRandomGroups`] for every other kind of HDU; [`Code::TooManyParameters`];
    /// [`Code::KeywordType`] and similar codes if a scaling keyword is not a number.
    pub fn random_groups(&self) -> Result<RandomGroups, FormatError> {
        if self.kind != HduKind::RandomGroups {
            let found = self.kind.as_str();
            let place = self.place();
            return Err(FormatError::new(Code::NotRandomGroups, place, "random groups", found));
        }
        if self.parameter_count > MOST_PARAMETERS {
            let place: Place = self.header.place("PCOUNT");
            let expected = format!("at most {MOST_PARAMETERS} parameters");
            let found = self.parameter_count.to_string();
            return Err(FormatError::new(Code::TooManyParameters, place, expected, found));
        }
        let parameters: Vec<GroupParameter> = (1..=self.parameter_count)
            .map(|n| self.group_parameter(n))
            .collect::<Result<_, _>>()?;
        let mut names: Vec<String> = Vec::new();
        // At most MOST_PARAMETERS.
        let mut sums = Vec::with_capacity(parameters.len());
        for parameter in &parameters {
            let index = names.iter().position(|name| *name == parameter.name);
            sums.push(index.unwrap_or(names.len()));
            if index.is_none() {
                names.push(parameter.name.clone());
            }
        }
        let mut array = array_layout(&self.header, self.stored, self.axes[1..].to_vec())?;
        if array.axes.is_empty() {
            // NAXIS = 1: the empty product of Eq. 6 is one element.
            array.pixels = 1;
        }
        let size = self.stored.bytes() as u64;
        let parameter_bytes = self.parameter_count * size;
        let group_bytes = parameter_bytes + array.pixels * size;
        let present = self.data_bytes_present.checked_div(group_bytes).unwrap_or(self.group_count);
        array.data_offset = self.data_offset + parameter_bytes;
        array.pixels_present = if present > 0 { array.pixels } else { 0 };
        Ok(RandomGroups {
            parameters,
            group_count: self.group_count,
            group_count_present: present.min(self.group_count),
            group_bytes,
            array,
            names,
            sums,
        })
    }

    fn group_parameter(&self, n: u64) -> Result<GroupParameter, FormatError> {
        let keyword = format!("PTYPE{n}");
        let name = self.header.get_text(&keyword)?.map(str::trim).unwrap_or_default();
        let name = if name.is_empty() { keyword } else { name.to_owned() };
        let scale = self.header.get_f64(&format!("PSCAL{n}"))?.unwrap_or(1.0);
        let zero = self.header.get_f64(&format!("PZERO{n}"))?.unwrap_or(0.0);
        Ok(GroupParameter { name, scale, zero })
    }
}
