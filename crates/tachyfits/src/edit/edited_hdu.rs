//! One HDU of the file to be: its header, if that is another than it was, and its data.

use std::sync::Arc;

use tachyfits_format::{Hdu, HduKind, Header, padded};
use tachyfits_io::MemoryStorage;

use super::content::{Rope, Source};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct EditedHdu {
    /// The HDU that it was, in the edited file or another; none if it is new.
    pub(crate) origin: Option<Arc<Hdu>>,
    /// The origin is in the edited file.
    pub(crate) own: bool,
    /// The header, where it is not that of the origin.
    pub(crate) changed: Option<Header>,
    /// The data without fill: of a file that is cut short, what it holds.
    pub(crate) data: Rope,
    /// The data and the fill of the origin, where it is whole.
    pub(crate) stored: Option<Rope>,
    /// The fill up to a whole block, as the origin has it; none where the data are others.
    pub(crate) fill: Option<Rope>,
    has_other_data: bool,
    /// The sums are to be stated even where they are not.
    pub(crate) updates_checksums: bool,
    /// All arrays of a table were seen to lie in its heap, as those that are added do.
    pub(crate) arrays_are_whole: bool,
}

impl EditedHdu {
    /// An HDU as it is in a file; `own`: in the edited one.
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

    /// A new HDU.
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

    /// The header, to be changed.
    pub(crate) fn header_mut(&mut self) -> &mut Header {
        let own = self.header().clone();
        self.changed.get_or_insert(own)
    }

    /// Other data in the place of the present ones; the caller changes the header with them.
    pub(crate) fn set_data(&mut self, data: Rope) {
        if data.bytes() != self.data.bytes() {
            self.fill = None;
        }
        self.data = data;
        self.has_other_data = true;
        self.arrays_are_whole = false;
    }

    /// The fill is to be as the Standard wants it, whatever it was.
    pub(crate) fn forget_fill(&mut self) {
        self.fill = None;
        self.has_other_data = true;
    }

    /// The data are not those of the origin.
    pub(crate) fn has_new_data(&self) -> bool {
        self.origin.is_none() || self.has_other_data
    }

    /// Bytes of data that the header declares and the file does not hold.
    pub(crate) fn missing(&self) -> u64 {
        self.origin.as_ref().map_or(0, |hdu| hdu.data_bytes - hdu.data_bytes_present)
    }

    /// The fill, as it is or as it is to be.
    pub(crate) fn fill(&self) -> Rope {
        self.fill.clone().unwrap_or_else(|| self.new_fill())
    }

    /// The fill as the Standard wants it.
    pub(crate) fn new_fill(&self) -> Rope {
        let count = padded(self.data.bytes()) - self.data.bytes();
        // Of ASCII tables blanks, of all else zeros (Sect. 3.3.2, 7.2.3).
        let byte = if self.is_extension("TABLE") { b' ' } else { 0 };
        // At most the bytes of a block.
        memory(vec![byte; count as usize])
    }

    /// Whether it may be first in a file, perhaps with other mandatory cards.
    pub(crate) fn may_be_first(&self) -> bool {
        // The bytes of all its groups and parameters are data, which those of a primary image are not.
        let of_groups = |hdu: &Hdu| (hdu.parameter_count, hdu.group_count) != (0, 1);
        self.header().begins_with("SIMPLE")
            || (self.is_extension("IMAGE") && !self.origin.as_deref().is_some_and(of_groups))
    }

    fn is_extension(&self, kind: &str) -> bool {
        let header = self.header();
        header.begins_with("XTENSION")
            && header.get_text("XTENSION").is_ok_and(|found| found == Some(kind))
    }

    /// Whether it must be first in a file.
    pub(crate) fn must_be_first(&self) -> bool {
        self.origin.as_ref().is_some_and(|hdu| hdu.kind == HduKind::RandomGroups)
    }
}

/// Bytes in memory as data.
pub(crate) fn memory(bytes: Vec<u8>) -> Rope {
    Rope::of_storage(Arc::new(MemoryStorage::new("new bytes", bytes)))
}
