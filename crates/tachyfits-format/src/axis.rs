//! One linear world axis of an image, as the header describes it (Sect. 8.1). Excludes projections and spectral
//! conversions: they need more than one axis or more than two numbers.

use crate::code::Code;
use crate::error::{FormatError, Place};
use crate::hdu::Hdu;
use crate::header::Header;
use crate::wcs::{AxisName, Description, PRIMARY, is_celestial, is_spectral};

/// The speed of light in vacuum, m/s.
const LIGHT: f64 = 299_792_458.0;

/// A world axis: `value = crval + cdelt * (pixel - crpix)` in `cunit`, unless it is coupled to others.
///
/// ```
/// use tachyfits_format::{ReadOptions, Step, Walker};
/// let cards = "SIMPLE  =                    T|BITPIX  =                  -32|\
///     NAXIS   =                    1|NAXIS1  =                    3|CTYPE1  = 'FREQ'|\
///     CRPIX1  =                  2.0|CRVAL1  =               1.42E9|\
///     CDELT1  =               1000.0|END";
/// let mut file: Vec<u8> = Vec::new();
/// cards.split('|').for_each(|card| file.extend(format!("{card:<80}").as_bytes()));
/// file.resize(2880, b' ');
/// let mut walker = Walker::new(ReadOptions::default(), 5760);
/// walker.step()?;
/// file.resize(5760, 0);
/// walker.supply(&file);
/// let Step::Hdu(hdu) = walker.step()? else { panic!() };
/// let axis = hdu.linear_axis(1)?;
/// assert_eq!(axis.ctype, "FREQ");
/// assert_eq!(axis.value(3.0), 1.420001e9);
/// # Ok::<(), tachyfits_format::FormatError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LinearAxis {
    /// CTYPEn without trailing blanks; empty for a linear axis without a type.
    pub ctype: String,
    /// CUNITn without trailing blanks; empty if absent, which means the default unit of its type.
    pub cunit: String,
    /// CRVALn: value at `crpix`; 0 if absent.
    pub crval: f64,
    /// CRPIXn: reference pixel, 1 for the centre of the first; 0 if absent.
    pub crpix: f64,
    /// Increment per pixel: CDELTn (1 if absent), PCn_n · CDELTn or CDn_n.
    pub cdelt: f64,
    /// Rest frequency in Hz: RESTFRQ, its older name RESTFREQ, or the speed of light divided by RESTWAV. The value 0,
    /// which programs write for "unknown", is `None`.
    pub restfrq: Option<f64>,
    /// VELREF: AIPS code of the reference frame and the velocity definition.
    pub velref: Option<i64>,
    /// SPECSYS: spectral reference frame.
    pub specsys: Option<String>,
    /// Whether the value also depends on other pixel axes: through PC or CD, or through CROTA of celestial axes. If so,
    /// [`LinearAxis::value`] is right only at the reference pixel of those axes.
    pub coupled: bool,
}

impl LinearAxis {
    /// Returns the value at a pixel in `cunit`; 1 is the centre of the first pixel.
    #[must_use]
    pub fn value(&self, pixel: f64) -> f64 {
        self.crval + self.cdelt * (pixel - self.crpix)
    }
}

/// Returns the axes, 0 for NAXIS1, whose CTYPE, in upper case, has a matching type.
pub(crate) fn axes_of_type(
    header: &Header,
    axes: usize,
    is_of: impl Fn(&str) -> bool,
) -> impl Iterator<Item = usize> {
    (0..axes).filter(move |axis| {
        let ctype = header.get_text(&format!("CTYPE{}", axis + 1)).ok().flatten();
        ctype.is_some_and(|ctype| is_of(&ctype.trim().to_ascii_uppercase()))
    })
}

impl Hdu {
    /// Returns the spectral axis, 0 for NAXIS1: the first whose CTYPE is a spectral coordinate.
    #[must_use]
    pub fn spectral_axis(&self) -> Option<usize> {
        axes_of_type(&self.header, self.axes.len(), is_spectral).next()
    }

    /// Returns the channel axis, 0 for NAXIS1: the spectral axis, or otherwise the non-celestial axis that does not
    /// contain polarisations, parts of complex numbers or faces of a cube; among several the first with more than one
    /// pixel. If no CTYPE is celestial, the first two axes are taken as celestial.
    #[must_use]
    pub fn channel_axis(&self) -> Option<usize> {
        if let Some(axis) = self.spectral_axis() {
            return Some(axis);
        }
        let count = self.axes.len();
        let celestial: Vec<usize> = axes_of_type(&self.header, count, is_celestial).collect();
        let is_none = |ctype: &str| matches!(ctype, "STOKES" | "COMPLEX" | "CUBEFACE");
        let none: Vec<usize> = axes_of_type(&self.header, count, is_none).collect();
        let others: Vec<usize> = (0..count)
            .filter(|axis| !celestial.contains(axis) && !none.contains(axis))
            .skip(2_usize.saturating_sub(celestial.len()))
            .collect();
        let longer = others.iter().find(|axis| self.axes.get(**axis).is_some_and(|n| *n != 1));
        longer.or(others.first()).copied()
    }

    /// Returns the polarisation axis, 0 for NAXIS1.
    #[must_use]
    pub fn stokes_axis(&self) -> Option<usize> {
        axes_of_type(&self.header, self.axes.len(), |ctype| ctype == "STOKES").next()
    }

    /// Returns the world axis of a FITS axis, 1 for NAXIS1, in the primary description. WCSAXES may declare more axes
    /// than the array has.
    ///
    /// # Errors
    /// [`Code::AxisNumber`] for an axis that does not exist; [`Code::NumericText`],
    /// [`Code::KeywordType`] and [`Code::KeywordRange`] for invalid values.
    pub fn linear_axis(&self, axis: usize) -> Result<LinearAxis, FormatError> {
        let header = &self.header;
        let description = Description::primary(header)?;
        let most = self.axes.len().max(description.wcsaxes.unwrap_or(0));
        if axis == 0 || axis > most {
            let place: Place = self.place();
            let expected = format!("an axis from 1 to {most}");
            return Err(FormatError::new(Code::AxisNumber, place, expected, format!("{axis}")));
        }
        let (cdelt, coupled) = increment(header, &description, axis)?;
        Ok(LinearAxis {
            ctype: text(header, "CTYPE", axis)?.to_owned(),
            cunit: text(header, "CUNIT", axis)?.to_owned(),
            crval: number(header, "CRVAL", axis)?.unwrap_or(0.0),
            crpix: number(header, "CRPIX", axis)?.unwrap_or(0.0),
            cdelt,
            restfrq: rest_frequency(header)?,
            velref: header.get_i64("VELREF")?,
            specsys: header.get_text("SPECSYS")?.map(|name| name.trim().to_owned()),
            coupled,
        })
    }
}

/// Returns the diagonal element of the matrix, and whether the axis' row has other elements.
fn increment(
    header: &Header,
    description: &Description,
    axis: usize,
) -> Result<(f64, bool), FormatError> {
    let cdelt = number(header, "CDELT", axis)?.unwrap_or(1.0);
    let (pc, cd) = (&description.pc, &description.cd);
    if !pc.is_empty() {
        return Ok((cdelt * pc.element(axis, axis).unwrap_or(1.0), pc.mixes_into(axis)));
    }
    // If any CDi_j is present, absent ones are 0 (Sect. 8.2). An axis without a CDi_j would have no coordinate, which
    // is certainly not meant: its CDELTn states the increment.
    if cd.touches(axis) {
        return Ok((cd.element(axis, axis).unwrap_or(0.0), cd.mixes_into(axis)));
    }
    Ok((cdelt, cd.is_empty() && is_rotated(header, description, axis)?))
}

/// Whether a CROTAn rotates the celestial axes (Sect. 8.3); on other axes it has no meaning.
fn is_rotated(
    header: &Header,
    description: &Description,
    axis: usize,
) -> Result<bool, FormatError> {
    if !is_celestial(text(header, "CTYPE", axis)?) {
        return Ok(false);
    }
    for &other in &description.axes {
        let has_angle = number(header, "CROTA", other)?.is_some_and(|angle| angle != 0.0);
        if has_angle && is_celestial(text(header, "CTYPE", other)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn text<'a>(header: &'a Header, root: &'static str, axis: usize) -> Result<&'a str, FormatError> {
    let name = AxisName::of(root, axis, PRIMARY).to_string();
    Ok(header.get_text(&name)?.map(str::trim_end).unwrap_or_default())
}

fn number(header: &Header, root: &'static str, axis: usize) -> Result<Option<f64>, FormatError> {
    header.get_f64(&AxisName::of(root, axis, PRIMARY).to_string())
}

fn rest_frequency(header: &Header) -> Result<Option<f64>, FormatError> {
    for keyword in ["RESTFRQ", "RESTFREQ"] {
        if let Some(frequency) = header.get_f64(keyword)?.filter(|&frequency| frequency != 0.0) {
            return Ok(Some(frequency));
        }
    }
    let wavelength = header.get_f64("RESTWAV")?.filter(|&wavelength| wavelength != 0.0);
    Ok(wavelength.map(|wavelength| LIGHT / wavelength).filter(|frequency| frequency.is_finite()))
}
