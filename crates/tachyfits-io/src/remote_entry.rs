//! Objects and folders of servers.

#[cfg(not(feature = "remote"))]
use crate::{CancelToken, error::IoError, remote_url::RemoteUrl, source::no_client};

/// Object of a server, or folder of objects.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteEntry {
    /// Last part of its key.
    pub name: String,
    /// Whether this is a folder, which has no size, time or version.
    pub is_folder: bool,
    /// Size of the object.
    pub bytes: u64,
    /// Modification time in seconds since 1970; 0 if the server does not report it.
    pub modified: i64,
    /// Text that changes with the content; `None` if the server reports neither ETag nor time.
    pub version: Option<String>,
}

#[cfg(not(feature = "remote"))]
impl RemoteEntry {
    /// Returns the current state of the object.
    ///
    /// # Errors
    /// [`IoError::Remote`]: this build has no client.
    pub fn at(url: &RemoteUrl, _: &CancelToken) -> Result<RemoteEntry, IoError> {
        Err(no_client(url))
    }

    /// Returns the folders and objects in a folder.
    ///
    /// # Errors
    /// [`IoError::Remote`]: this build has no client.
    pub fn list(url: &RemoteUrl, _: usize, _: &CancelToken) -> Result<Vec<RemoteEntry>, IoError> {
        Err(no_client(url))
    }
}
