//! Objects and folders of servers.

#[cfg(not(feature = "remote"))]
use crate::{CancelToken, error::IoError, remote_url::RemoteUrl, source::no_client};

/// An object of a server, or a folder of objects.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteEntry {
    /// The last part of its key.
    pub name: String,
    /// A folder has no bytes, time or version.
    pub is_folder: bool,
    /// The size of the object.
    pub bytes: u64,
    /// Seconds since 1970; 0 where the server does not say.
    pub modified: i64,
    /// A text that changes with the content; none where the server says neither ETag nor time.
    pub version: Option<String>,
}

#[cfg(not(feature = "remote"))]
impl RemoteEntry {
    /// The state of the object now.
    ///
    /// # Errors
    /// [`IoError::Remote`]: this build has no client.
    pub fn at(url: &RemoteUrl, _: &CancelToken) -> Result<RemoteEntry, IoError> {
        Err(no_client(url))
    }

    /// The folders and objects in a folder.
    ///
    /// # Errors
    /// [`IoError::Remote`]: this build has no client.
    pub fn list(url: &RemoteUrl, _: usize, _: &CancelToken) -> Result<Vec<RemoteEntry>, IoError> {
        Err(no_client(url))
    }
}
