//! Cards and companions of an image after an operation.

use std::sync::Arc;

use tachyfits_format::{
    AxisSelection, Card, Context, FormatError, Header, ResultAxis, coordinate_tables,
    cutout_header, lookup_tables, path_header, rebinned_header, reordered_header, result_cards,
};
use tachyfits_memory as memory;

use super::{
    ANNOUNCED, BEAM, Beams, Change, ChannelBeam, CoordinateTable, Survivors, corner, hdu_bytes,
    is_announced, keep_comments, kept,
};
use crate::error::Error;
use crate::image::Image;

impl Image {
    /// Returns the cards and companions of the image after an operation.
    pub(crate) fn survivors(&self, change: Change<'_>) -> Result<Survivors, Error> {
        let mut header = self.format_error(self.changed_header(change))?;
        self.format_error(keep_comments(&self.hdu().header, &mut header))?;
        let tables = self.coordinate_tables(&header, corner(change))?;
        let survivors = Survivors { header, beams: self.beams()?, tables };
        let channels = kept(self.hdu(), self.axes(), change);
        let beams = match (&survivors.beams, channels) {
            (None, Some(_)) => return Ok(survivors),
            (Some(_), Some(_)) if matches!(change, Change::Values) => return Ok(survivors),
            (Some(beams), Some(channels)) => {
                Some(Arc::new(self.format_error(beams.keep(&channels))?))
            }
            (_, None) => None,
        };
        let Survivors { mut header, beams: before, tables } = survivors;
        if beams.is_none() && (before.is_some() || is_announced(&header)) {
            header.remove(ANNOUNCED);
            let text =
                "tachyfits: channels of different beams are combined: the table BEAMS is left out";
            self.format_error(header.push_commentary("HISTORY", text))?;
        }
        Ok(Survivors { header, beams, tables })
    }

    fn changed_header(&self, change: Change<'_>) -> Result<Header, FormatError> {
        match change {
            Change::Values | Change::Along { every: 1, .. } => Ok(self.carried_header()),
            Change::Along { axis, every } => {
                let selection = |(number, &length): (usize, &u64)| match number == axis {
                    true => (length.div_ceil(every), every as i64),
                    false => (length, 1),
                };
                let selection = |axis| {
                    let (count, step) = selection(axis);
                    AxisSelection { count, step, keep: true, ..AxisSelection::default() }
                };
                let selections: Vec<_> = self.axes().iter().enumerate().map(selection).collect();
                self.changed_header(Change::Section(&selections))
            }
            Change::Section(selections) => {
                let blocks = cutout_header(self.hdu(), selections)?;
                Ok(Header::parse(&blocks, Context::default())?.0)
            }
            Change::Blocks(blocks, what) => rebinned_header(self.hdu(), blocks, what),
            Change::Order(order) => {
                let numbers: Vec<usize> = order.iter().map(|axis| axis + 1).collect();
                reordered_header(self.hdu(), &numbers)
            }
            Change::Path(offsets) => path_header(self.hdu(), offsets),
        }
    }

    /// Returns the companion HDUs of a result over a section, as the next HDUs of its file; see
    /// [`Image::surviving_cards`].
    pub(crate) fn surviving_tables(&self, axes: &[ResultAxis]) -> Result<Vec<u8>, Error> {
        let cards = self.format_error(result_cards(self.hdu(), axes, true))?;
        let corner = [0, 1].map(|axis: usize| axes.get(axis).map_or(0.0, |axis| axis.first as f64));
        let tables = self.coordinate_tables(&Header::from_cards(cards), corner)?;
        let mut all = Vec::new();
        for table in &tables {
            let bytes = hdu_bytes(&table.header, &table.data)?;
            memory::extend(&mut all, &bytes, "the tables of a result")?;
        }
        Ok(all)
    }

    /// Returns the cards of a result over a section, from [`tachyfits_format::result_cards`]. A
    /// result from the pixels of one channel has the beam of that channel; a result of another
    /// quantity has no BTYPE.
    pub(crate) fn surviving_cards(
        &self,
        axes: &[ResultAxis],
        same_quantity: bool,
        with_tables: bool,
    ) -> Result<Vec<Card>, Error> {
        let cards = self.format_error(result_cards(self.hdu(), axes, with_tables))?;
        let mut header = Header::from_cards(cards);
        self.format_error(keep_comments(&self.hdu().header, &mut header))?;
        if !same_quantity {
            header.remove("BTYPE");
        }
        let beams = self.beams()?;
        if beams.is_some() || is_announced(&header) {
            self.format_error(self.beam_of_result(&mut header, beams.as_deref(), axes))?;
        }
        Ok(header.cards().to_vec())
    }

    /// Replaces the cards about a table of beams, which a result does not have, by its single beam.
    fn beam_of_result(
        &self,
        header: &mut Header,
        beams: Option<&Beams>,
        axes: &[ResultAxis],
    ) -> Result<(), FormatError> {
        let single_index = |axis: Option<usize>| match axis.and_then(|axis| axes.get(axis)) {
            Some(axis) if axis.count == 1 => Some(axis.first),
            _ => None,
        };
        let spectral = self.hdu().channel_axis();
        let stokes = self.hdu().stokes_axis();
        // Without a channel axis, there is one channel.
        let channel = spectral.map_or(Some(0), |axis| single_index(Some(axis)));
        let polarisation = single_index(stokes).unwrap_or(0);
        let beam = channel.and_then(|channel| beams?.beam(channel, polarisation));
        header.remove(ANNOUNCED);
        let Some(beam) = beam else {
            let text = "tachyfits: channels have beams of their own: the table BEAMS is left out";
            return header.push_commentary("HISTORY", text);
        };
        for (keyword, value) in BEAM.into_iter().zip(beam) {
            let comment = "[deg] beam of the channel";
            let real = tachyfits_format::Real::from_f64(value);
            if let Some(real) = real {
                header.set(keyword, tachyfits_format::Value::Real(real), comment)?;
            }
        }
        Ok(())
    }

    /// Returns the beam of each channel, in the order of the table BEAMS; `None` without that
    /// table. Rows with unusable numbers are omitted.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub fn channel_beams(&self) -> Result<Option<Vec<ChannelBeam>>, Error> {
        Ok(self.beams()?.map(|beams| beams.channels()))
    }

    /// Returns the table of beams of the image.
    fn beams(&self) -> Result<Option<Arc<Beams>>, Error> {
        if let Some(computed) = self.computed() {
            return Ok(computed.survivors().beams.clone());
        }
        match &self.companions().beams {
            None => Ok(None),
            Some(companion) => Ok(Beams::read(&*companion.storage, &companion.hdu)?.map(Arc::new)),
        }
    }

    /// Returns the tables of coordinates and of corrections that a header refers to, for pixels
    /// from a corner on. A table missing from the file of the image is omitted: the header refers
    /// to no more than before.
    fn coordinate_tables(
        &self,
        header: &Header,
        corner: [f64; 2],
    ) -> Result<Vec<Arc<CoordinateTable>>, Error> {
        let references = [coordinate_tables(header), lookup_tables(header)].concat();
        let is_needed = |name: &str, version: i64| {
            references.iter().any(|(n, v)| n.eq_ignore_ascii_case(name) && *v == version)
        };
        if let Some(computed) = self.computed() {
            let tables = computed.survivors().tables.iter();
            let tables = tables.filter(|t| is_needed(&t.name.0, t.name.1));
            return tables
                .map(|table| Ok(Arc::new(self.format_error(table.moved(corner))?)))
                .collect();
        }
        let companions = self.companions().tables.iter().filter(|companion| {
            is_needed(companion.hdu.extname.as_deref().unwrap_or_default(), companion.hdu.extver)
        });
        let read = |companion| {
            let table = CoordinateTable::read(self.file_name(), companion)?;
            Ok(Arc::new(self.format_error(table.moved(corner))?))
        };
        companions.map(read).collect()
    }

    /// Returns the bytes of a file whose HDU 1 is the table of coordinates or corrections with this
    /// name and version, a companion of a computed image; `None` if it has none. The tables of
    /// stored images are in their file.
    ///
    /// # Errors
    /// [`Reason::Memory`](crate::Reason::Memory).
    pub fn coordinate_table(&self, name: &str, version: i64) -> Result<Option<Vec<u8>>, Error> {
        let Some(computed) = self.computed() else { return Ok(None) };
        let mut tables = computed.survivors().tables.iter();
        let is_it = |table: &&Arc<CoordinateTable>| {
            table.name.0.eq_ignore_ascii_case(name) && table.name.1 == version
        };
        Ok(tables.find(is_it).map(|table| table.file_bytes()).transpose()?)
    }
}
