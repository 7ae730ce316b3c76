//! The parameters of random groups, of every group: scaled, and those of one name added up.

use std::ops::Range;

use tachyfits_format::RandomGroups;
use tachyfits_io::Tasks;

use crate::error::Error;
use crate::file::FitsFile;
use crate::image::filled;

/// Groups of a task.
const GROUPS_PER_TASK: u64 = 256;

/// The parameters of random groups.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupParameters {
    /// PTYPEn, each name once, in order of first appearance.
    pub names: Vec<String>,
    /// For each name, one value per group.
    pub values: Vec<Vec<f64>>,
}

impl FitsFile {
    /// Reads the parameters of the random groups of an HDU: of the groups that the file holds whole.
    ///
    /// # Errors
    /// If there is no such HDU, it holds no random groups, or reading fails.
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
            &tachyfits_io::RunOptions::default(),
            || (),
            |(), _task, fetched| {
                let mut rows = vec![0.0; fetched.pieces() * names.len()];
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
