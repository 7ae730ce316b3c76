//! Objects of servers, through `object_store`: HTTP, S3, Google Cloud Storage, Azure.
//!
//! The planner coalesces and splits ranges by [`Profile::NETWORK`]; here each range is one request, and all requests of
//! a call are concurrent. Every request names the version of the object, so that bytes of two versions never mix.

mod client;
pub(crate) mod entries;
mod object;
mod runs;

use std::env;
use std::io;
use std::mem;
use std::ops::Range;
use std::process;
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{GetOptions, GetRange};

use super::memory::MemoryStorage;
use crate::error::IoError;
use crate::index_cache::entry::{CacheEntry, Object, Part};
use crate::index_cache::index_cache;
use crate::patch::Notice;
use crate::profile::Profile;
use crate::remote_url::{RemoteUrl, without_secrets};
use crate::storage::{Id, Request, Storage};
use client::{Client, ENDPOINTS, failed, lock, remote, wait};
use object::{RemoteObject, Version, check_encoding};
use runs::{Runs, Window, copy_from, read_window};
use tachyfits_memory as memory;

/// Bytes of the first request: they contain the header of most files, and the response gives size and version.
const HEAD_BYTES: u64 = 64 << 10;

/// Maximum size of a file that is downloaded as a whole because its server does not support range requests.
const WHOLE_BYTES: u64 = 64 << 20;

/// Maximum read-ahead of sequential reads: as many bytes as were read before, up to this.
const AHEAD_BYTES: u64 = 8 << 20;

/// Request size up to which twice as many requests are concurrent.
const SHORT_BYTES: usize = 64 << 10;

/// An object of a server, read on demand.
#[derive(Debug)]
pub struct RemoteStorage {
    object: Arc<RemoteObject>,
    client: Mutex<Client>,
    ahead: Mutex<Ahead>,
    runs: Mutex<Runs>,
    /// Bytes read while opening.
    kept: Mutex<Kept>,
}

/// Bytes read while opening, and the index cache file that stores them too.
#[derive(Debug, Default)]
struct Kept {
    /// Ascending, not overlapping.
    parts: Vec<Part>,
    entry: Option<CacheEntry>,
}

impl Kept {
    /// Adds bytes, skipping those that are already present.
    fn add(&mut self, parts: Vec<(u64, Vec<u8>)>) {
        self.parts.extend(parts.into_iter().map(|(offset, bytes)| Part { offset, bytes }));
        self.parts.sort_by_key(|part| part.offset);
        let mut end = 0;
        for part in &mut self.parts {
            let overlap = (end.max(part.offset) - part.offset).min(part.bytes.len() as u64);
            part.bytes.drain(..overlap as usize);
            part.offset += overlap;
            end = end.max(part.offset + part.bytes.len() as u64);
        }
        self.parts.retain(|part| !part.bytes.is_empty());
    }

    /// Returns the bytes of a range, if all of them are present.
    fn part(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let after = self.parts.partition_point(|part| part.offset <= offset);
        let part = self.parts.get(after.checked_sub(1)?)?;
        let start = usize::try_from(offset - part.offset).ok()?;
        part.bytes.get(start..start.checked_add(length)?)
    }
}

/// Bytes of the last read, and the number of bytes to read ahead next.
#[derive(Debug, Default)]
struct Ahead {
    offset: u64,
    bytes: Vec<u8>,
    next: u64,
}

impl Ahead {
    /// Returns the bytes of a range, if all of them are present.
    fn part(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        self.bytes.get(start..start.checked_add(length)?)
    }

    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

impl RemoteStorage {
    /// Requests the first bytes; the response gives the size and the version.
    ///
    /// If the server does not support range requests, downloads the whole file if it is small, and adds a notice to
    /// `notices`.
    ///
    /// # Errors
    /// [`IoError::NotFound`] for a missing object, [`IoError::Remote`] if the server rejects the request or fails.
    pub fn open(url: &RemoteUrl, notices: &mut Vec<Notice>) -> Result<Arc<dyn Storage>, IoError> {
        let client = Client::of(url)?;
        let entry =
            index_cache().zip(cache_key(url)).map(|(folder, key)| CacheEntry::of(&folder, key));
        // Every response has the size and the version.
        let is_cached = entry.as_ref().is_some_and(CacheEntry::exists);
        let head = if is_cached { 1 } else { HEAD_BYTES };
        let first = GetOptions { range: Some(GetRange::Bounded(0..head)), ..GetOptions::default() };
        let opened = wait(async {
            let result = match client.store.get_opts(&client.path, first).await {
                Ok(result) => result,
                Err(error) if gives_no_parts(&error) => {
                    return whole(url, &client, &error).await.map(Opened::Whole);
                }
                Err(error) => return Err(failed(url, error)),
            };
            check_encoding(url, &result)?;
            let (bytes, version) = (result.meta.size, Version::of(&result.meta));
            let head = result.bytes().await.map_err(|error| failed(url, error))?;
            Ok(Opened::Head { bytes, version, head: head.to_vec() })
        })?;
        match opened {
            Opened::Whole(content) => {
                if !content.is_empty() {
                    notices.push(Notice::Downloaded { bytes: content.len() as u64 });
                }
                Ok(Arc::new(MemoryStorage::new(url.to_string(), content)))
            }
            Opened::Head { bytes, version, head } => {
                let next = head.len() as u64;
                let id = Id::new(url.to_string(), version.text(bytes));
                let object = id.version().map(|version| Object { version, bytes });
                let parts = entry.as_ref().zip(object).and_then(|(entry, of)| entry.load(of));
                let kept = Kept { parts: parts.unwrap_or_default(), entry };
                Ok(Arc::new(RemoteStorage {
                    object: Arc::new(RemoteObject { id, url: url.clone(), bytes, version }),
                    client: Mutex::new(client),
                    ahead: Mutex::new(Ahead { offset: 0, bytes: head, next }),
                    runs: Mutex::default(),
                    kept: Mutex::new(kept),
                }))
            }
        }
    }

    /// Copies bytes that are present; returns whether all of them were.
    fn copy(&self, offset: u64, buffer: &mut [u8]) -> bool {
        let (ahead, kept) = (lock(&self.ahead), lock(&self.kept));
        let part = ahead.part(offset, buffer.len()).or_else(|| kept.part(offset, buffer.len()));
        part.inspect(|part| buffer.copy_from_slice(part)).is_some()
    }

    /// Returns a client of this process: connections of the parent do not work after a fork.
    fn client(&self) -> Result<Client, IoError> {
        let mut client = lock(&self.client);
        if client.process != process::id() {
            // Dropping the old client would wait for threads that this process does not have.
            mem::forget(mem::replace(&mut *client, Client::of(&self.object.url)?));
        }
        Ok(client.clone())
    }
}

impl RemoteStorage {
    /// Returns the read-ahead windows that contain bytes of the requests, and starts reading the next ones.
    fn windows(
        &self,
        requests: &[&mut Request<'_>],
        client: &Client,
    ) -> Result<Vec<Window>, IoError> {
        let mut runs = lock(&self.runs);
        let next = runs.visit(requests, self.object.bytes);
        for range in next {
            runs.add(read_window(&self.object, client, range)?);
        }
        Ok(runs.windows_of(requests))
    }
}

impl Storage for RemoteStorage {
    fn id(&self) -> &Id {
        &self.object.id
    }

    fn bytes(&self) -> u64 {
        self.object.bytes
    }

    /// Sequential reads are read ahead, as of a stream.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let length = buffer.len() as u64;
        self.check_within(offset, length)?;
        if self.copy(offset, buffer) {
            return Ok(());
        }
        let mut ahead = lock(&self.ahead);
        let client = self.client()?;
        let follows = (ahead.offset..=ahead.end()).contains(&offset);
        if !follows || length >= AHEAD_BYTES {
            drop(ahead);
            return wait(self.object.fill(&client, offset, buffer));
        }
        let next = (2 * ahead.next.max(HEAD_BYTES)).min(AHEAD_BYTES).max(length);
        let count = next.min(self.object.bytes - offset);
        let no_memory = |_| IoError::Memory { name: self.name().to_owned(), bytes: count };
        let mut bytes = memory::filled(count as usize, 0, "bytes read ahead").map_err(no_memory)?;
        wait(self.object.fill(&client, offset, &mut bytes))?;
        buffer.copy_from_slice(&bytes[..buffer.len()]);
        *ahead = Ahead { offset, bytes, next };
        Ok(())
    }

    fn read_ranges(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        for request in &*requests {
            self.check_within(request.offset, request.buffer.len() as u64)?;
        }
        // Bytes that are present need no request.
        let missing: Vec<_> = requests
            .iter_mut()
            .filter_map(|each| (!self.copy(each.offset, each.buffer)).then_some(each))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let client = self.client()?;
        let windows = self.windows(&missing, &client)?;
        // Short responses use little bandwidth; most of their time is latency.
        let are_short = missing.iter().all(|request| request.buffer.len() <= SHORT_BYTES);
        let in_flight = if are_short { 2 } else { 1 } * Profile::NETWORK.in_flight;
        let filled = missing.into_iter().map(async |request| {
            if copy_from(&windows, request).await {
                return Ok(());
            }
            self.object.fill(&client, request.offset, &mut *request.buffer).await
        });
        let under_way = stream::iter(filled).buffer_unordered(in_flight);
        wait(under_way.try_collect::<()>())
    }

    fn profile(&self) -> Profile {
        Profile::NETWORK
    }

    fn kind(&self) -> &'static str {
        "remote"
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        let Ok(length) = usize::try_from(range.end.saturating_sub(range.start)) else {
            return false;
        };
        let is_here = lock(&self.ahead).part(range.start, length).is_some();
        is_here || lock(&self.kept).part(range.start, length).is_some()
    }

    fn keep(&self, parts: Vec<(u64, Vec<u8>)>) {
        let head = {
            let ahead = lock(&self.ahead);
            (ahead.offset == 0).then(|| (0, ahead.bytes.clone()))
        };
        let mut kept = lock(&self.kept);
        kept.add(parts);
        kept.add(head.into_iter().collect());
        if let (Some(entry), Some(version)) = (&kept.entry, self.object.id.version()) {
            entry.store(Object { version, bytes: self.object.bytes }, &kept.parts);
        }
    }
}

/// Response to the first request.
enum Opened {
    Head { bytes: u64, version: Version, head: Vec<u8> },
    Whole(Vec<u8>),
}

/// Returns the name of an object in the index cache: its URL, and the server if environment variables name one.
fn cache_key(url: &RemoteUrl) -> Option<String> {
    let key = url.cache_key()?;
    let endpoint = ENDPOINTS.iter().find_map(|name| env::var(name).ok());
    Some(match endpoint.filter(|_| !url.scheme().starts_with("http")) {
        Some(endpoint) => format!("{key} of {}", without_secrets(&endpoint)),
        None => key,
    })
}

/// Downloads a file whose server does not support range requests.
async fn whole(
    url: &RemoteUrl,
    client: &Client,
    problem: &object_store::Error,
) -> Result<Vec<u8>, IoError> {
    let result = client.store.get_opts(&client.path, GetOptions::default()).await;
    let result = result.map_err(|error| failed(url, error))?;
    check_encoding(url, &result)?;
    let bytes = result.meta.size;
    if bytes > WHOLE_BYTES {
        let detail = format!(
            "the server gives no parts of files, and {bytes} bytes are more than the {WHOLE_BYTES} that are \
             downloaded whole ({})",
            without_secrets(&problem.to_string())
        );
        return Err(remote(url, io::ErrorKind::Unsupported, &detail));
    }
    let content = result.bytes().await.map_err(|error| failed(url, error))?;
    if content.len() as u64 != bytes {
        return Err(remote(url, io::ErrorKind::UnexpectedEof, "the answer is cut short"));
    }
    Ok(content.to_vec())
}

/// Whether the server ignored or rejected the range: it sent the whole object, or the object is empty.
fn gives_no_parts(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::NotSupported { .. })
        || error.to_string().contains("416 Range Not Satisfiable")
}

#[cfg(test)]
mod tests {
    use super::Kept;

    #[test]
    fn bytes_are_kept_once() {
        let mut kept = Kept::default();
        kept.add(vec![(10, vec![1, 2, 3]), (20, vec![4])]);
        kept.add(vec![(0, vec![8, 9]), (11, vec![2, 3, 5, 6]), (20, vec![4])]);
        let parts: Vec<_> =
            kept.parts.iter().map(|part| (part.offset, part.bytes.as_slice())).collect();
        let expected: [(u64, &[u8]); 4] =
            [(0, &[8, 9]), (10, &[1, 2, 3]), (13, &[5, 6]), (20, &[4])];
        assert_eq!(parts, expected);
        assert_eq!(kept.part(11, 2), Some(&[2, 3][..]));
        for missing in [(11, 3), (2, 1), (21, 1), (9, 2)] {
            assert_eq!(kept.part(missing.0, missing.1), None);
        }
    }
}
