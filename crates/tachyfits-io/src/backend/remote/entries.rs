//! Entries of a server: the state of one object, and the objects in a folder.

use std::io;

use object_store::list::PaginatedListOptions;
use object_store::{GetOptions, GetRange, ObjectMeta};

use super::client::{Client, failed, remote, wait};
use super::gives_no_parts;
use super::object::Version;
use crate::error::IoError;
use crate::executor::CancelToken;
use crate::operation::opening;
use crate::remote_entry::RemoteEntry;
use crate::remote_url::RemoteUrl;

/// Entries per request.
const PAGE: usize = 1000;

impl RemoteEntry {
    fn of(meta: &ObjectMeta) -> RemoteEntry {
        RemoteEntry {
            name: meta.location.filename().unwrap_or_default().to_owned(),
            is_folder: false,
            bytes: meta.size,
            modified: meta.last_modified.timestamp().max(0),
            version: Version::of(meta).text(meta.size),
        }
    }

    /// Returns the current state of the object, with one request.
    ///
    /// # Errors
    /// [`IoError::NotFound`] for a missing object, [`IoError::Remote`] if the server rejects the request or fails.
    pub fn at(url: &RemoteUrl, token: &CancelToken) -> Result<RemoteEntry, IoError> {
        let client = Client::of(url)?;
        // A signed URL is signed for GET, not for HEAD.
        let first = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
        let state = async {
            let result = match client.store.get_opts(&client.path, first).await {
                Err(error) if gives_no_parts(&error) => {
                    client.store.get_opts(&client.path, GetOptions::default()).await
                }
                result => result,
            };
            result.map(|result| RemoteEntry::of(&result.meta)).map_err(|error| failed(url, error))
        };
        opening(token, || wait(state))
    }

    /// Returns at most `most` folders and objects in a folder, in the order of the server.
    ///
    /// # Errors
    /// [`IoError::Remote`] if the server rejects the request, fails, or has no listings, as with HTTP.
    pub fn list(
        url: &RemoteUrl,
        most: usize,
        token: &CancelToken,
    ) -> Result<Vec<RemoteEntry>, IoError> {
        let client = Client::of(url)?;
        let Some(lists) = &client.lists else {
            let detail = "HTTP has no lists of files: give the URLs of the files";
            return Err(remote(url, io::ErrorKind::Unsupported, detail));
        };
        let folder = client.path.as_ref();
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut entries = Vec::new();
        let mut page_token = None;
        while entries.len() < most {
            let options = PaginatedListOptions {
                delimiter: Some("/".into()),
                max_keys: Some(PAGE.min(most - entries.len())),
                page_token: page_token.take(),
                ..PaginatedListOptions::default()
            };
            let page = opening(token, || {
                wait(async {
                    let listed = lists.list_paginated(Some(&prefix), options).await;
                    listed.map_err(|error| failed(url, error))
                })
            })?;
            let folders = page.result.common_prefixes.iter().map(|path| RemoteEntry {
                name: path.filename().unwrap_or_default().to_owned(),
                is_folder: true,
                bytes: 0,
                modified: 0,
                version: None,
            });
            let objects = page.result.objects.iter().map(RemoteEntry::of);
            // The marker object of the folder itself has the folder's name with nothing after it.
            let inside = |entry: &RemoteEntry| !entry.name.is_empty();
            entries.extend(folders.chain(objects).filter(inside).take(most - entries.len()));
            page_token = page.page_token;
            if page_token.is_none() {
                break;
            }
        }
        Ok(entries)
    }
}
