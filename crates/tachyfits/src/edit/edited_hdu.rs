//! An HDU of the edited file: its header, if changed, and its data.

use std::sync::Arc;

use tachyfits_format::{Hdu, HduKind, Header, padded};
use tachyfits_io::MemoryStorage;

use super::content::{Rope, Source};

/// An HDU of the edited file.
#[derive(Clone, Debug)]
pub(crate) struct EditedHdu {
    /// The original HDU, in the edited file or another; `None` if the HDU is new.
    pub(crate) origin: Option<Arc<Hdu>>,
    /// Whether the origin is in the edited file.
    pub(crate) own: bool,
    /// The header, if it differs from the header of the origin.
    pub(crate) changed: Option<Header>,
    /// The data without fill; for a truncated file, the bytes present.
    pub(crate) data: Rope,
    /// The data and fill of the origin, if complete.
    pub(crate) stored: Option<Rope>,
    /// The fill of the origin up to a whole block; `None` if the data changed.
    pub(crate) fill: Option<Rope>,
    has_other_data: bool,
    /// Whether to write checksums even if the HDU has none.
    pub(crate) updates_checksums: bool,
    /// Whether all arrays of a table are known to lie in its heap, as added arrays do.
    pub(crate) arrays_are_whole: bool,
}

impl EditedHdu {
    /// Creates an HDU from a file; `own` if that is the edited file.
    pub(crate) fn of(hdu: &Arc<Hdu>, source: &Arc<dyn Source>, own: bool) -> EditedHdu {
        let begin = hdu.data_offset.min(source.bytes());
        let end = begin + hdu.data_bytes_present.min(source.bytes() - begin);
        let fill = (hdu.end_offset() <= source.bytes())
            .then(|| Rope::of(Arc::clone(source), end..hdu.end_offset()));
        let stored = (hdu.data_bytes_present == hdu.data_bytes)
            .then(|| Rope::of(Arc::clone(source), begin..hdu.end_offset().min(source.bytes())));
        EditedHdu {
            origin: Some(Arc::clone(hdu)),
            own,
            changed: None,
            stored,
            data: Rope::of(Arc::clone(source), begin..end),
            fill,
            has_other_data: false,
            updates_checksums: false,
            arrays_are_whole: false,
        }
    }

    /// Creates a new HDU.
    pub(crate) fn new(header: Header, data: Rope) -> EditedHdu {
        EditedHdu {
            origin: None,
            own: false,
            changed: Some(header),
            stored: None,
            data,
            fill: None,
            has_other_data: true,
            updates_checksums: false,
            arrays_are_whole: false,
        }
    }

    pub(crate) fn header(&self) -> &Header {
        match (&self.changed, &self.origin) {
            (Some(header), _) => header,
            (None, Some(hdu)) => &hdu.header,
            (None, None) => unreachable!("a new HDU has a header of its own"),
        }
    }

    /// Returns the header for changes.
    pub(crate) fn header_mut(&mut self) -> &mut Header {
        let own = self.header().clone();
        self.changed.get_or_insert(own)
    }

    /// Replaces the data; the caller updates the header.
    pub(crate) fn set_data(&mut self, data: Rope) {
        if data.bytes() != self.data.bytes() {
            self.fill = None;
        }
        self.data = data;
        self.has_other_data = true;
        self.arrays_are_whole = false;
    }

    /// Restores the fill that the Standard requires.
    pub(crate) fn forget_fill(&mut self) {
        self.fill = None;
        self.has_other_data = true;
    }

    /// Whether the data differ from those of the origin.
    pub(crate) fn has_new_data(&self) -> bool {
        self.origin.is_none() || self.has_other_data
    }

    /// Bytes of data that the header declares but the file lacks.
    pub(crate) fn missing(&self) -> u64 {
        self.origin.as_ref().map_or(0, |hdu| hdu.data_bytes - hdu.data_bytes_present)
    }

    /// Returns the fill, original or new.
    pub(crate) fn fill(&self) -> Rope {
        self.fill.clone().unwrap_or_else(|| self.new_fill())
    }

    /// Returns the fill that the Standard requires.
    pub(crate) fn new_fill(&self) -> Rope {
        let count = padded(self.data.bytes()) - self.data.bytes();
        // Blanks for ASCII tables, else zeros (Sect. 3.3.2, 7.2.3).
        let byte = if self.is_extension("TABLE") { b' ' } else { 0 };
        // At most the bytes of a block.
        memory(vec![byte; count as usize])
    }

    /// Whether it may be the first HDU of a file, possibly with other mandatory cards.
    pub(crate) fn may_be_first(&self) -> bool {
        // Random groups and parameters are part of the data, but not of a primary image's data.
        let of_groups = |hdu: &Hdu| (hdu.parameter_count, hdu.group_count) != (0, 1);
        self.header().begins_with("SIMPLE")
            || (self.is_extension("IMAGE") && !self.origin.as_deref().is_some_and(of_groups))
    }

    fn is_extension(&self, kind: &str) -> bool {
        let header = self.header();
        header.begins_with("XTENSION")
            && header.get_text("XTENSION").is_ok_and(|value| value == Some(kind))
    }

    /// Whether it must be the first HDU of a file.
    pub(crate) fn must_be_first(&self) -> bool {
        self.origin.as_ref().is_some_and(|hdu| hdu.kind == HduKind::RandomGroups)
    }
}

/// Creates a rope from bytes in memory.
pub(crate) fn memory(bytes: Vec<u8>) -> Rope {
    Rope::of_storage(Arc::new(MemoryStorage::new("new bytes", bytes)))
}
