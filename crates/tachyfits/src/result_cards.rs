//! Cards of results: header cards of an image for numbers computed from it.

use tachyfits_format::{Card, Fate, ResultAxis};

use crate::error::Error;
use crate::image::Image;
use crate::section::{AxisRange, Section};

impl Image {
    /// Returns the optional cards of a result of this image over a section, with the fate of each axis (0 is
    /// NAXIS1), as [`tachyfits_format::result_cards`] defines them. BTYPE is omitted unless values are of the
    /// `same_quantity`. With `with_tables`, the HDUs of [`Image::result_tables`] accompany the result;
    /// otherwise coordinates that need them are omitted.
    ///
    /// ```
    /// let cards = ["SIMPLE  =                    T", "BITPIX  =                    8",
    ///     "NAXIS   =                    1", "NAXIS1  =                    4", "CRVAL1  =                  1.0",
    ///     "CRPIX1  =                  1.0", "CDELT1  =                  3.0", "END"];
    /// let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    /// bytes.resize(2880, b' ');
    /// bytes.resize(5760, 0);
    /// use tachyfits::{FitsFile, OpenOptions};
    /// use tachyfits::header::Fate;
    /// let image = FitsFile::from_bytes("example", bytes, &OpenOptions::default())?.image(0)?;
    /// // One pixel of four: its centre is between the second and the third.
    /// let cards = image.result_cards(&image.whole(), &[Fate::Collapsed], true, false)?;
    /// let values: Vec<f64> = cards.iter().filter_map(|card| card.value()?.as_f64()).collect();
    /// assert_eq!(values, [1.0, 0.625, 12.0]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the section does not belong to this image, a fate is missing, or the coordinates are invalid.
    pub fn result_cards(
        &self,
        section: &Section,
        fates: &[Fate],
        same_quantity: bool,
        with_tables: bool,
    ) -> Result<Vec<Card>, Error> {
        self.surviving_cards(&self.result_axes(section, fates)?, same_quantity, with_tables)
    }

    /// Returns the bytes of the HDUs that the coordinates of a result need: tables of -TAB axes, and images
    /// of corrections for the pixels of the section. Empty if none are needed.
    ///
    /// # Errors
    /// As [`Image::result_cards`], and if a table cannot be read.
    pub fn result_tables(&self, section: &Section, fates: &[Fate]) -> Result<Vec<u8>, Error> {
        self.surviving_tables(&self.result_axes(section, fates)?)
    }

    fn result_axes(&self, section: &Section, fates: &[Fate]) -> Result<Vec<ResultAxis>, Error> {
        self.check_section(section)?;
        let ranges = section.ranges().iter().zip(fates);
        let axis = |(range, &fate): (&AxisRange, &Fate)| ResultAxis {
            first: range.first,
            count: range.count,
            step: range.step,
            fate,
        };
        Ok(ranges.map(axis).collect())
    }
}
