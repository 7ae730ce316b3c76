//! Cutouts: a section written as a FITS file of its own, stored bytes as they are, coordinates kept right.

use std::path::Path;

use tachyfits_format::{AxisSelection, Card, Fate, ResultAxis, padded};
use tachyfits_io::operation::RunOptions;
use tachyfits_io::{OutputFile, Report};

use crate::error::{Error, Reason};
use crate::grid::Grid;
use crate::image::Image;
use crate::lines::{GridLines, LineReads, Lines};
use crate::section::{AxisRange, Section};
use crate::survival::Change;

impl Image {
    /// The cards of a result of this image, but the mandatory ones: over a section, with the fate of each axis (0 is
    /// NAXIS1), as [`tachyfits_format::result_cards`] gives them. With `same_quantity` values are of the quantity that
    /// BTYPE names; otherwise it is left out.
    ///
    /// ```
    /// # let cards = ["SIMPLE  =                    T", "BITPIX  =                    8",
    /// #     "NAXIS   =                    1", "NAXIS1  =                    4", "CRVAL1  =                  1.0",
    /// #     "CRPIX1  =                  1.0", "CDELT1  =                  3.0", "END"];
    /// # let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    /// # bytes.resize(2880, b' ');
    /// # bytes.resize(5760, 0);
    /// use tachyfits::{Fate, FitsFile, OpenOptions};
    /// let image = FitsFile::from_bytes("example", bytes, &OpenOptions::default())?.image(0)?;
    /// // One pixel of four: its centre is between the second and the third.
    /// let cards = image.result_cards(&image.whole(), &[Fate::Collapsed], true)?;
    /// let values: Vec<f64> = cards.iter().filter_map(|card| card.value()?.as_f64()).collect();
    /// assert_eq!(values, [1.0, 0.625, 12.0]);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the section is not of this image, a fate is missing, or the coordinates are invalid.
    pub fn result_cards(
        &self,
        section: &Section,
        fates: &[Fate],
        same_quantity: bool,
    ) -> Result<Vec<Card>, Error> {
        self.check_section(section)?;
        let ranges = section.ranges().iter().zip(fates);
        let axis = |(range, &fate): (&AxisRange, &Fate)| ResultAxis {
            first: range.first,
            count: range.count,
            step: range.step,
            fate,
        };
        let axes: Vec<ResultAxis> = ranges.map(axis).collect();
        self.surviving_cards(&axes, same_quantity)
    }

    /// Writes a section as a new file, which appears when it is complete. The axes marked in `dropped` (0 is NAXIS1)
    /// have length 1 in the section and are left out.
    ///
    /// # Errors
    /// If the file exists and `overwrite` is not set, it cannot be written, an axis cannot be
    /// dropped, or as [`Image::stats`]. An existing file of that name is then unchanged.
    pub fn cutout(
        &self,
        path: impl AsRef<Path>,
        section: &Section,
        dropped: &[usize],
        overwrite: bool,
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let path = path.as_ref();
        let drops = self.reduced_axes(dropped)?;
        self.check_section(section)?;
        let axes: Vec<_> = section
            .ranges()
            .iter()
            .zip(drops)
            .map(|(range, drop)| AxisSelection {
                first: range.first,
                count: range.count,
                step: range.step,
                keep: !drop,
            })
            .collect();
        if section.pixels() == 0 {
            return Err(self.refused(Reason::Section, "at least one pixel", "an empty section"));
        }
        let survivors = self.survivors(Change::Section(&axes))?;
        let (header, companion) = (survivors.header.to_bytes(), survivors.companion_bytes());
        let grid = Grid::new(self.axes(), section, &vec![false; self.axes().len()]);
        self.check_present(grid.last_pixel())?;
        let mut output = OutputFile::create(path, overwrite)?;
        let pixels = self.pixel_bytes();
        let data_bytes = section.pixels() * pixels.size;
        let begin = header.len() as u64;
        let end = begin + padded(data_bytes);
        output.reserve(end + companion.len() as u64)?;
        output.write_all(&header)?;
        let report = self.copy_pixels(&grid, begin, &output, options)?;
        let fill = vec![0; (padded(data_bytes) - data_bytes) as usize];
        output.write_all_at(begin + data_bytes, &fill)?;
        output.write_all_at(end, &companion)?;
        output.commit()?;
        Ok(report)
    }

    /// Copies the pixels of a grid, one after the other, to `begin` of the output.
    fn copy_pixels(
        &self,
        grid: &Grid,
        begin: u64,
        output: &OutputFile,
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
        let pixels = self.pixel_bytes();
        let lines = GridLines::new(grid, false, pixels);
        self.run(
            &LineReads { lines: &lines, pixels },
            lines.pixels(),
            options,
            || (Vec::new(), Vec::new()),
            |(gathered, written), task, fetched| {
                let (mut piece, mut first) = (0, None);
                written.clear();
                lines.visit(task, &mut |line| {
                    // Every axis is kept: the position of a line is that of its first pixel in the output.
                    first.get_or_insert(line.output + line.position);
                    let bytes = line.stretch.collect(fetched, &mut piece, pixels.size, gathered);
                    written.extend_from_slice(bytes);
                });
                let at = begin + first.unwrap_or(0) * pixels.size;
                Ok(output.write_all_at(at, written)?)
            },
            |_task, ()| Ok(()),
        )
    }
}
