//! Several storages as one: an operation on many inputs uses the same pipeline as one on a single file.

use std::ops::Range;
use std::sync::Arc;

use crate::error::IoError;
use crate::lend::Lend;
use crate::profile::Profile;
use crate::storage::{Id, Request, Storage};

/// Concatenation of storages, each beginning at a multiple of the largest alignment among them; the gaps read as zeros.
///
/// ```
/// use std::sync::Arc;
/// use tachyfits_io::{JoinedStorage, MemoryStorage, Storage};
///
/// let part = |name: &str, bytes: &[u8]| -> Arc<dyn Storage> {
///     Arc::new(MemoryStorage::new(name, bytes.to_vec()))
/// };
/// let joined = JoinedStorage::new(vec![part("first", b"FI"), part("second", b"TS")]);
/// assert_eq!((joined.base(1), joined.bytes(), joined.name()), (2, 4, "first, second"));
/// let mut bytes = [0; 4];
/// joined.read_exact_at(0, &mut bytes)?;
/// assert_eq!(&bytes, b"FITS");
/// # Ok::<(), tachyfits_io::IoError>(())
/// ```
#[derive(Debug)]
pub struct JoinedStorage {
    id: Id,
    profile: Profile,
    members: Vec<(u64, Arc<dyn Storage>)>,
    bytes: u64,
}

impl JoinedStorage {
    /// Concatenates storages in order.
    pub fn new(members: Vec<Arc<dyn Storage>>) -> JoinedStorage {
        let names: Vec<&str> = members.iter().map(|member| member.name()).collect();
        let version = |member: &Arc<dyn Storage>| Some(member.id().version()?.to_owned());
        let versions: Option<Vec<String>> = members.iter().map(version).collect();
        let id = Id::new(names.join(", "), versions.map(|versions| versions.join(", ")));
        let profiles = members.iter().map(|member| member.profile());
        let profile = profiles.reduce(Profile::and).unwrap_or(Profile::MEMORY);
        let mut bytes = 0u64;
        let place = |member: Arc<dyn Storage>| {
            let base = bytes.next_multiple_of(profile.alignment as u64);
            bytes = base + member.bytes();
            (base, member)
        };
        let members = members.into_iter().map(place).collect();
        JoinedStorage { id, profile, members, bytes }
    }

    /// Returns the offset of a member.
    ///
    /// # Panics
    /// If the member does not exist.
    pub fn base(&self, member: usize) -> u64 {
        self.members[member].0
    }

    /// Returns the offset and the storage of the member that contains a whole range; `None` if no single member does.
    fn member_of(&self, range: &Range<u64>) -> Option<(u64, &dyn Storage)> {
        let is_within = |base: u64, bytes: u64| range.start >= base && range.end <= base + bytes;
        let mut members = self.members.iter();
        let (base, member) = members.find(|(base, member)| is_within(*base, member.bytes()))?;
        Some((*base, &**member))
    }

    /// Splits a range at members: yields the offset of each member, the member, and the range within it.
    fn parts(&self, range: Range<u64>) -> impl Iterator<Item = (u64, &dyn Storage, Range<u64>)> {
        self.members.iter().filter_map(move |(base, member)| {
            let start = range.start.max(*base);
            let end = range.end.min(base + member.bytes());
            (start < end).then(|| (start, &**member, start - base..end - base))
        })
    }
}

impl Storage for JoinedStorage {
    fn id(&self) -> &Id {
        &self.id
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let length = buffer.len() as u64;
        self.check_within(offset, length)?;
        let mut filled = 0;
        for (start, member, range) in self.parts(offset..offset + length) {
            let (from, count) = ((start - offset) as usize, (range.end - range.start) as usize);
            buffer[filled..from].fill(0);
            member.read_exact_at(range.start, &mut buffer[from..from + count])?;
            filled = from + count;
        }
        buffer[filled..].fill(0);
        Ok(())
    }

    fn read_ranges(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        let mut rest = requests;
        while let Some(request) = rest.first_mut() {
            let range = request.offset..request.offset.saturating_add(request.buffer.len() as u64);
            let Some((base, member)) = self.member_of(&range) else {
                self.read_exact_at(request.offset, request.buffer)?;
                rest = &mut rest[1..];
                continue;
            };
            // Consecutive requests to one member are one call.
            let end = base + member.bytes();
            let is_within = |request: &Request<'_>| {
                request.offset >= base && request.offset + request.buffer.len() as u64 <= end
            };
            let count = rest.iter().take_while(|request| is_within(request)).count();
            let (now, later) = rest.split_at_mut(count);
            now.iter_mut().for_each(|request| request.offset -= base);
            let outcome = member.read_ranges(now);
            now.iter_mut().for_each(|request| request.offset += base);
            outcome?;
            rest = later;
        }
        Ok(())
    }

    fn profile(&self) -> Profile {
        self.profile
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.members.iter().try_for_each(|(_, member)| member.check_unchanged())
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        self.parts(range).all(|(_, member, range)| member.is_resident(range))
    }

    fn computes(&self) -> bool {
        self.members.iter().any(|(_, member)| member.computes())
    }

    fn lend(&self) -> Option<&dyn Lend> {
        Some(self)
    }

    fn kind(&self) -> &'static str {
        let mut kinds = self.members.iter().map(|(_, member)| member.kind());
        let first = kinds.next().unwrap_or("memory");
        if kinds.all(|kind| kind == first) { first } else { "mixed" }
    }
}

impl Lend for JoinedStorage {
    fn slice(&self, range: Range<u64>) -> Option<&[u8]> {
        let (base, member) = self.member_of(&range)?;
        member.slice(range.start - base..range.end.checked_sub(base)?)
    }

    fn lends_cached(&self, is_free: bool, through: u64) -> bool {
        self.members.iter().all(|(_, member)| member.lends_cached(is_free, through))
    }

    fn prepare_to_lend(&self) {
        self.members.iter().for_each(|(_, member)| member.prepare_to_lend());
    }

    fn all_mapped(&self) -> Option<&[u8]> {
        match &self.members[..] {
            [(0, member)] => member.all_mapped(),
            _ => None,
        }
    }

    fn cached(&self, range: Range<u64>) -> Option<&[u8]> {
        let (base, member) = self.member_of(&range)?;
        member.cached(range.start - base..range.end.checked_sub(base)?)
    }

    fn intact(&self, range: Range<u64>) -> Result<(), IoError> {
        self.parts(range).try_for_each(|(_, member, range)| member.intact(range))
    }

    fn reads_far_ahead(&self) -> bool {
        self.members.iter().all(|(_, member)| member.reads_far_ahead())
    }

    fn will_need(&self, range: Range<u64>) {
        self.parts(range).for_each(|(_, member, range)| member.will_need(range));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{storage_suite, temporary_file};
    use crate::{DirectStorage, FileStorage, MemoryStorage};

    fn halves(content: &[u8], at: usize) -> [Vec<u8>; 2] {
        [content[..at].to_vec(), content[at..].to_vec()]
    }

    #[test]
    fn joined_storages_are_a_storage() {
        for divisor in [1, 2, 3] {
            storage_suite(|content| {
                let [first, second] = halves(content, content.len() / divisor);
                let first: Arc<dyn Storage> = Arc::new(MemoryStorage::new("first", first));
                let second: Arc<dyn Storage> = Arc::new(MemoryStorage::new("second", second));
                Arc::new(JoinedStorage::new(vec![first, second]))
            });
        }
    }

    #[test]
    fn a_member_begins_at_the_alignment_of_all() {
        let (_directory, path) = temporary_file(&[7; 10_000]);
        let Ok(direct) = DirectStorage::open(&path) else {
            eprintln!("DIRECT I/O NOT TESTED: this file system has none");
            return;
        };
        let file = FileStorage::open(&path).unwrap();
        let members: Vec<Arc<dyn Storage>> = vec![Arc::new(file), Arc::new(direct)];
        let alignment = members[1].profile().alignment as u64;
        let storage = JoinedStorage::new(members);
        assert_eq!(storage.base(1), 10_000u64.next_multiple_of(alignment));
        let mut across = vec![1; (storage.base(1) + 5 - 9_995) as usize];
        storage.read_exact_at(9_995, &mut across).unwrap();
        assert!(across[..5].iter().chain(&across[across.len() - 5..]).all(|&byte| byte == 7));
        assert!(across[5..across.len() - 5].iter().all(|&byte| byte == 0));
    }
}
