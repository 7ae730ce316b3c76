//! Cutouts: a section written as a FITS file of its own, stored bytes as they are, coordinates kept right.

use std::path::Path;

use tachyfits_format::{AxisSelection, cutout_header, padded};
use tachyfits_io::{OutputFile, Report};

use crate::error::{Error, Reason};
use crate::grid::Grid;
use crate::image::Image;
use crate::lines::{GridLines, LineReads, Lines};
use crate::options::RunOptions;
use crate::section::Section;

impl Image {
    /// Writes a section as a new file, which appears when it is complete. The axes marked in `dropped` (0 is NAXIS1)
    /// have length 1 in the section and are left out.
    ///
    /// # Errors
    /// If the file exists and `overwrite` is not asked for, it cannot be written, an axis cannot be dropped, or as
    /// [`Image::stats`]. A file of that name is then as it was.
    pub fn cutout(
        &self,
        path: &Path,
        section: &Section,
        dropped: &[usize],
        overwrite: bool,
        options: &RunOptions<'_>,
    ) -> Result<Report, Error> {
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
        let header = self.format_error(cutout_header(self.hdu(), &axes))?;
        let grid = Grid::new(self.axes(), section, &vec![false; self.axes().len()]);
        self.check_present(grid.last_pixel())?;
        let mut output = OutputFile::create(path, overwrite)?;
        let pixels = self.pixel_bytes();
        let data_bytes = section.pixels() * pixels.size;
        let begin = header.len() as u64;
        output.reserve(begin + padded(data_bytes))?;
        output.write_all(&header)?;
        let report = self.copy_pixels(&grid, begin, &output, options)?;
        let fill = vec![0; (padded(data_bytes) - data_bytes) as usize];
        output.write_all_at(begin + data_bytes, &fill)?;
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
        let lines = GridLines::new(grid, false, pixels.size);
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
