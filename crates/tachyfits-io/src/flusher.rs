//! Flushing of written bytes to the device while more are written, so that the device does not wait
//! for the last byte.
//!
//! A separate thread flushes after each fixed number of bytes; the writer never waits for it.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Bytes between flush requests: some tens of milliseconds of the device's work.
const STEP_BYTES: u64 = 32 << 20;

/// Thread that flushes a file while it is written.
#[derive(Debug)]
pub(crate) struct Flusher {
    written: AtomicU64,
    wake: SyncSender<()>,
    /// `None` if no thread could be started: the bytes are then flushed at the end.
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Flusher {
    /// Starts flushing the bytes written to `file`.
    pub(crate) fn new(file: File) -> Flusher {
        let (wake, woken) = sync_channel(1);
        let flush = move || flush(&file, &woken);
        let thread = thread::Builder::new().name("tachyfits-flush".to_owned()).spawn(flush).ok();
        Flusher { written: AtomicU64::new(0), wake, thread }
    }

    /// Counts `bytes` further written bytes.
    pub(crate) fn wrote(&self, bytes: u64) {
        let before = self.written.fetch_add(bytes, Ordering::Relaxed);
        if before / STEP_BYTES != (before + bytes) / STEP_BYTES {
            // A busy thread is awake already. The error of a thread that ended is reported at the end.
            let _ = self.wake.try_send(());
        }
    }

    /// Ends the thread; returns its error, which is the file's.
    pub(crate) fn finish(self) -> io::Result<()> {
        drop(self.wake);
        let outcome = self.thread.map_or(Ok(Ok(())), JoinHandle::join);
        outcome.unwrap_or_else(|_| Err(io::Error::other("the thread that flushes panicked")))
    }
}

fn flush(file: &File, woken: &Receiver<()>) -> io::Result<()> {
    woken.iter().try_for_each(|()| file.sync_data())
}

#[cfg(test)]
mod tests {
    use super::{Flusher, STEP_BYTES};

    #[test]
    fn a_file_is_flushed_while_it_is_written_and_errors_are_reported() {
        let flusher = Flusher::new(tempfile::tempfile().unwrap());
        (0..10).for_each(|_| flusher.wrote(STEP_BYTES / 3));
        flusher.finish().unwrap();
        // A pipe cannot be flushed.
        let (_reader, writer) = std::io::pipe().unwrap();
        let file = std::fs::File::from(std::os::fd::OwnedFd::from(writer));
        let flusher = Flusher::new(file);
        flusher.wrote(STEP_BYTES);
        flusher.finish().unwrap_err();
    }
}
