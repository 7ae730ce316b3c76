//! An object of a server: requests for its bytes, each for the version that was opened.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use futures_util::StreamExt;
use object_store::{Attribute, GetOptions, GetRange, GetResult, ObjectMeta};

use super::client::{Client, failed, remote};
use crate::error::IoError;
use crate::remote_url::RemoteUrl;
use crate::storage::Id;

/// Maximum number of requests for a body that ends early.
const ATTEMPTS: usize = 3;

/// Object and the version that was opened.
#[derive(Debug)]
pub(super) struct RemoteObject {
    pub(super) id: Id,
    pub(super) url: RemoteUrl,
    pub(super) bytes: u64,
    pub(super) version: Version,
}

/// Version of an object: its ETag or modification time.
#[derive(Debug, Default)]
pub(super) struct Version {
    e_tag: Option<String>,
    changed: Option<i64>,
}

impl Version {
    pub(super) fn of(meta: &ObjectMeta) -> Version {
        // A weak ETag compares unequal to itself in If-Match (RFC 9110, section 13.1.1).
        let strong = |tag: &&String| !tag.starts_with("W/");
        let changed = meta.last_modified.timestamp();
        Version {
            e_tag: meta.e_tag.as_ref().filter(strong).cloned(),
            changed: (changed > 0).then_some(changed),
        }
    }

    /// Returns the version as text for caches; without it, nothing is cached.
    pub(super) fn text(&self, bytes: u64) -> Option<String> {
        match (&self.e_tag, self.changed) {
            (Some(tag), _) => Some(format!("{tag} {bytes}")),
            (None, Some(changed)) => Some(format!("{changed} {bytes}")),
            (None, None) => None,
        }
    }
}

impl RemoteObject {
    /// Fills a buffer with one request, or with several if bodies end early.
    pub(super) async fn fill(
        &self,
        client: &Client,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<(), IoError> {
        let mut done = 0;
        let mut attempts = 1;
        while done < buffer.len() {
            let range = offset + done as u64..offset + buffer.len() as u64;
            let result = client.store.get_opts(&client.path, self.options(range)).await;
            let result = result.map_err(|error| self.failure(error))?;
            check_encoding(&self.url, &result)?;
            if result.meta.size != self.bytes || !self.is_same(&result.meta) {
                return Err(self.changed(result.meta.size));
            }
            let mut body = result.into_stream();
            let problem = loop {
                match body.next().await {
                    Some(Ok(chunk)) => {
                        let length = chunk.len().min(buffer.len() - done);
                        buffer[done..done + length].copy_from_slice(&chunk[..length]);
                        done += length;
                    }
                    Some(Err(error)) => break Some(self.failure(error)),
                    None => break None,
                }
            };
            if done < buffer.len() {
                attempts += 1;
                if attempts > ATTEMPTS {
                    let short = || {
                        remote(&self.url, io::ErrorKind::UnexpectedEof, "the answer is cut short")
                    };
                    return Err(problem.unwrap_or_else(short));
                }
            }
        }
        Ok(())
    }

    fn options(&self, range: Range<u64>) -> GetOptions {
        GetOptions {
            range: Some(GetRange::Bounded(range)),
            if_match: self.version.e_tag.clone(),
            ..GetOptions::default()
        }
    }

    /// Whether a response has the version that was opened. Servers that ignore If-Match may return another version.
    fn is_same(&self, meta: &ObjectMeta) -> bool {
        let now = Version::of(meta);
        match (&self.version.e_tag, &now.e_tag) {
            (Some(then), Some(now)) => then == now,
            _ => self.version.changed.is_none() || self.version.changed == now.changed,
        }
    }

    fn changed(&self, found: u64) -> IoError {
        IoError::Changed { path: PathBuf::from(self.id.name()), expected: self.bytes, found }
    }

    fn failure(&self, error: object_store::Error) -> IoError {
        match error {
            object_store::Error::Precondition { .. } => self.changed(self.bytes),
            error => failed(&self.url, error),
        }
    }
}

/// Rejects content with a transfer encoding: offsets would be those of the encoded bytes.
pub(super) fn check_encoding(url: &RemoteUrl, result: &GetResult) -> Result<(), IoError> {
    match result.attributes.get(&Attribute::ContentEncoding).map(AsRef::as_ref) {
        None | Some("" | "identity") => Ok(()),
        Some(coding) => {
            let detail =
                format!("expected the bytes of the file, found Content-Encoding: {coding}");
            Err(remote(url, io::ErrorKind::Unsupported, &detail))
        }
    }
}
