//! Random groups: the scaled parameters of every group, those of equal name added up; and their arrays as one image.

use std::ops::Range;
use std::sync::Arc;

use tachyfits_format::{RandomGroups, arrays_header};
use tachyfits_io::Tasks;
use tachyfits_memory as memory;

use crate::computed::{Computed, Leaf};
use crate::error::Error;
use crate::file::FitsFile;
use crate::image::{Image, filled};
use crate::lines::PixelBytes;
use crate::survival::Survivors;

/// Groups per task.
const GROUPS_PER_TASK: u64 = 256;

/// The parameters of random groups.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GroupParameters {
    /// PTYPEn, each name once, in order of first appearance.
    pub names: Vec<String>,
    /// For each name, one value per group.
    pub values: Vec<Vec<f64>>,
}

impl FitsFile {
    /// Reads the parameters of the random groups of an HDU, for the groups that the file has completely.
    ///
    /// # Errors
    /// If the HDU does not exist, has no random groups, or reading fails.
    pub fn group_parameters(&self, index: usize) -> Result<GroupParameters, Error> {
        let groups = self
            .hdu(index)?
            .random_groups()
            .map_err(|error| Error::Format { file: self.name().to_owned(), error })?;
        let names = groups.names().to_vec();
        if names.is_empty() {
            return Ok(GroupParameters { names, values: Vec::new() });
        }
        let count = groups.group_count_present;
        let what = "the parameters of the groups";
        let mut values: Vec<Vec<f64>> =
            names.iter().map(|_| filled(count, 0.0, what)).collect::<Result<_, _>>()?;
        tachyfits_io::run(
            self.bytes_of(),
            &GroupTasks(&groups),
            &tachyfits_io::PipelineOptions::default(),
            || (),
            |(), _task, fetched| {
                let length = fetched.pieces() * names.len();
                let mut rows = memory::filled(length, 0.0, "the parameters of groups")?;
                for (group, row) in rows.chunks_exact_mut(names.len()).enumerate() {
                    groups.parameter_values(fetched.piece(group), row);
                }
                Ok::<_, Error>(rows)
            },
            |task, rows| {
                let first = (task * GROUPS_PER_TASK) as usize;
                for (group, row) in rows.chunks_exact(names.len()).enumerate() {
                    for (values, &value) in values.iter_mut().zip(row) {
                        values[first + group] = value;
                    }
                }
                Ok(())
            },
        )?;
        Ok(GroupParameters { names, values })
    }
}

impl FitsFile {
    /// Returns the arrays of random groups as one image, whose last axis counts the groups.
    pub(crate) fn group_arrays(&self, index: usize) -> Result<Image, Error> {
        let hdu = self.hdu(index)?;
        let format = |error| Error::Format { file: self.name().to_owned(), error };
        let groups = hdu.random_groups().map_err(format)?;
        let header = arrays_header(hdu).map_err(format)?;
        let size = groups.array.stored.bytes() as u64;
        let (pixels, pitch) = (groups.array.pixels, groups.group_bytes / size);
        let mut axes = groups.array.axes.clone();
        axes.push(groups.group_count);
        let offset = groups.array.data_offset;
        let storage = Arc::clone(self.shared_bytes());
        let array = Image::new(Arc::clone(&storage), Arc::clone(hdu), groups.array, None);
        let leaf = Leaf {
            storage,
            axes,
            pixels: PixelBytes { offset, size, unit: 1 },
            encoding: array.encoding(),
            groups: Some((pixels.max(1), pitch)),
        };
        let survivors = Survivors::of_header(header);
        let computed = Computed::new(self.name().to_owned(), Arc::new(leaf), survivors)?;
        FitsFile::computed(computed)?.image(0)
    }
}

struct GroupTasks<'a>(&'a RandomGroups);

impl Tasks for GroupTasks<'_> {
    fn len(&self) -> u64 {
        self.0.group_count_present.div_ceil(GROUPS_PER_TASK)
    }

    fn ranges(&self, index: u64, ranges: &mut Vec<Range<u64>>) {
        let first = index * GROUPS_PER_TASK;
        let end = self.0.group_count_present.min(first + GROUPS_PER_TASK);
        ranges.extend((first..end).map(|group| {
            let offset = self.0.group_offset(group);
            offset..offset + self.0.parameter_bytes() as u64
        }));
    }
}
