//! Clients of servers, and the threads of this process that wait for responses.

use std::env;
use std::fmt;
use std::io;
use std::mem;
use std::path::PathBuf;
use std::pin::pin;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore};
use tokio::runtime::{Builder, Runtime};

use crate::error::IoError;
use crate::operation::check_wait;
use crate::remote_url::{RemoteUrl, without_secrets};

/// Environment variables that name another server for the buckets of a URL.
pub(super) const ENDPOINTS: [&str; 3] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];

/// Interval at which a wait checks for cancellation.
const POLL: Duration = Duration::from_millis(50);

/// Number of threads that wait for sockets.
const WORKERS: usize = 2;

/// Store of an object, and the object's path in it.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) store: Arc<dyn ObjectStore>,
    /// The same store, if it can list its objects.
    pub(super) lists: Option<Arc<dyn PaginatedListStore>>,
    pub(super) path: Path,
    /// Process whose runtime owns the connections.
    pub(super) process: u32,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({}/{})", self.store, self.path)
    }
}

impl Client {
    /// Returns a client with the credentials of the environment.
    pub(super) fn of(url: &RemoteUrl) -> Result<Client, IoError> {
        let (bucket, key) = url.bucket_and_key();
        let failed = |error| failed(url, error);
        let key_path = || Path::parse(key).map_err(|error| failed(error.into()));
        // The provider of this library's own copy of rustls; a second call has no effect.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(match url.scheme().as_str() {
            "http" | "https" => {
                let options = ClientOptions::new().with_allow_http(true);
                // The whole URL: as a path of the store, a signed URL would lose its query.
                let builder = HttpBuilder::new().with_url(url.with_secrets());
                let store = builder.with_client_options(options).build().map_err(failed)?;
                let (lists, path) = (None, Path::default());
                Client { store: Arc::new(store), lists, path, process: process::id() }
            }
            "gs" => {
                let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
                Client::with_lists(builder.build().map_err(failed)?, key_path()?)
            }
            "az" => {
                let builder = MicrosoftAzureBuilder::from_env().with_container_name(bucket);
                Client::with_lists(builder.build().map_err(failed)?, key_path()?)
            }
            "abfs" | "abfss" => {
                let builder = MicrosoftAzureBuilder::from_env().with_url(url.with_secrets());
                Client::with_lists(builder.build().map_err(failed)?, key_path()?)
            }
            _ => {
                let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
                let builder = match env::var_os(ENDPOINTS[0]) {
                    Some(endpoint) => builder.with_endpoint(endpoint.to_string_lossy()),
                    None => builder,
                };
                Client::with_lists(builder.build().map_err(failed)?, key_path()?)
            }
        })
    }

    /// Returns a client of a store that can list its objects.
    fn with_lists(store: impl ObjectStore + PaginatedListStore, path: Path) -> Client {
        let store = Arc::new(store);
        let lists: Arc<dyn PaginatedListStore> = store.clone();
        Client { store, lists: Some(lists), path, process: process::id() }
    }
}

pub(super) fn remote(url: &RemoteUrl, kind: io::ErrorKind, detail: &str) -> IoError {
    IoError::Remote { name: url.to_string(), source: io::Error::new(kind, detail.to_owned()) }
}

/// Converts an error of the client to an [`IoError`] without secrets.
pub(super) fn failed(url: &RemoteUrl, error: object_store::Error) -> IoError {
    let kind = match &error {
        object_store::Error::NotFound { .. } => {
            return IoError::NotFound { path: PathBuf::from(url.to_string()) };
        }
        object_store::Error::PermissionDenied { .. }
        | object_store::Error::Unauthenticated { .. } => io::ErrorKind::PermissionDenied,
        object_store::Error::NotSupported { .. } => io::ErrorKind::Unsupported,
        object_store::Error::InvalidPath { .. } => io::ErrorKind::InvalidInput,
        _ => io::ErrorKind::Other,
    };
    let words = without_secrets(&error.to_string());
    let line: Vec<&str> = words.split_whitespace().collect();
    remote(url, kind, &line.join(" "))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the runtime of this process.
pub(super) fn runtime() -> Result<Arc<Runtime>, IoError> {
    static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);
    let mut runtime = lock(&RUNTIME);
    match &*runtime {
        Some((process, runtime)) if *process == process::id() => Ok(Arc::clone(runtime)),
        _ => {
            let made = Builder::new_multi_thread()
                .worker_threads(WORKERS)
                .thread_name("tachyfits-net")
                .enable_all()
                .build()
                .map_err(|source| IoError::Threads { source })?;
            let made = Arc::new(made);
            // A runtime of the parent has no threads here, and dropping it would wait for them.
            mem::forget(runtime.replace((process::id(), Arc::clone(&made))));
            Ok(made)
        }
    }
}

/// Waits for a response, checking regularly for cancellation.
pub(super) fn wait<T>(answer: impl Future<Output = Result<T, IoError>>) -> Result<T, IoError> {
    runtime()?.block_on(async {
        let mut answer = pin!(answer);
        loop {
            match tokio::time::timeout(POLL, &mut answer).await {
                Ok(result) => return result,
                Err(_) => check_wait()?,
            }
        }
    })
}
