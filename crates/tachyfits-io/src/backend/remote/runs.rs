//! Read-ahead for runs of short reads, which come from storages that decode tiles or compute pixels on demand.
//!
//! The rules are those of kernels for files: read-ahead begins with the third read of a run, and never exceeds the
//! number of bytes that the run has used, except for a short first window.

use std::collections::VecDeque;
use std::ops::Range;
use std::process;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tachyfits_memory as memory;
use tokio::task::AbortHandle;

use super::client::{Client, runtime};
use super::object::RemoteObject;
use crate::error::IoError;
use crate::storage::Request;

/// Reads of at least this many bytes use the full bandwidth by themselves.
const LONG_BYTES: u64 = 1 << 20;

/// Maximum distance between two reads of a run.
const NEAR_BYTES: u64 = 256 << 10;

/// Number of reads that make a run.
const LEAST_READS: u32 = 3;

/// Maximum bytes read ahead of a run: 32 MiB at a latency of 50 ms are 600 MB/s.
const AHEAD_BYTES: u64 = 32 << 20;

/// Limits of a window's size in bytes, and the number of concurrent requests.
const LEAST_WINDOW: u64 = 128 << 10;
const MOST_WINDOW: u64 = 4 << 20;
const IN_FLIGHT: u64 = 8;

/// Maximum number of concurrent runs: an expression may have several operands in a file.
const MOST_RUNS: usize = 4;

/// Bytes of a window; `None` if reading failed: the reader then reads them itself and receives the error.
type Bytes = Option<Arc<Vec<u8>>>;

/// Part of the object that is read ahead.
#[derive(Clone, Debug)]
pub(super) struct Window {
    range: Range<u64>,
    bytes: Shared<BoxFuture<'static, Bytes>>,
    under_way: AbortHandle,
}

/// A sequence of adjacent reads.
#[derive(Debug)]
struct Run {
    start: u64,
    end: u64,
    /// Bytes of all requests.
    wanted: u64,
    reads: u32,
    /// End of the last window.
    ahead: u64,
    windows: VecDeque<Window>,
    visited: u64,
}

impl Drop for Run {
    fn drop(&mut self) {
        self.windows.iter().for_each(|window| window.under_way.abort());
    }
}

/// Runs of an object.
#[derive(Debug, Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    visits: u64,
    /// Process that started the windows: after a fork, windows of the parent never finish.
    process: u32,
}

impl Runs {
    /// Records requests; returns the ranges to read ahead, in order, for the run of the last request.
    pub(super) fn visit(&mut self, requests: &[&mut Request<'_>], bytes: u64) -> Vec<Range<u64>> {
        if self.process != process::id() {
            // Nothing of the parent's runtime may be awaited or dropped here.
            std::mem::forget(std::mem::take(&mut self.runs));
            self.process = process::id();
        }
        let length = |request: &&mut Request<'_>| request.buffer.len() as u64;
        let start = requests.iter().map(|request| request.offset).min().unwrap_or(0);
        let end = requests.iter().map(|each| each.offset + length(each)).max().unwrap_or(0);
        if requests.iter().any(|request| length(request) >= LONG_BYTES) {
            return Vec::new();
        }
        let wanted = requests.iter().map(length).sum();
        let run = self.run_of(start);
        run.go_on(start..end, wanted);
        run.next(bytes)
    }

    /// Returns the run that a read from `start` continues, or a new one.
    fn run_of(&mut self, start: u64) -> &mut Run {
        self.visits += 1;
        let is_near = |run: &Run| (run.start..=run.end.saturating_add(NEAR_BYTES)).contains(&start);
        let index = match self.runs.iter().position(is_near) {
            Some(index) => index,
            None => {
                if self.runs.len() == MOST_RUNS {
                    let oldest = (0..MOST_RUNS).min_by_key(|&index| self.runs[index].visited);
                    self.runs.swap_remove(oldest.unwrap_or(0));
                }
                self.runs.push(Run::from(start));
                self.runs.len() - 1
            }
        };
        let run = &mut self.runs[index];
        run.visited = self.visits;
        run
    }

    /// Adds a window that is being read.
    pub(super) fn add(&mut self, window: Window) {
        let start = window.range.start;
        if let Some(run) = self.runs.iter_mut().find(|run| run.ahead == start) {
            run.ahead = window.range.end;
            run.windows.push_back(window);
        }
    }

    /// Returns the windows that contain bytes of the requests.
    pub(super) fn windows_of(&self, requests: &[&mut Request<'_>]) -> Vec<Window> {
        let has = |window: &&Window, request: &&mut Request<'_>| {
            request.offset < window.range.end
                && request.offset + request.buffer.len() as u64 > window.range.start
        };
        let all = self.runs.iter().flat_map(|run| &run.windows);
        all.filter(|window| requests.iter().any(|request| has(window, request))).cloned().collect()
    }
}

impl Run {
    fn from(start: u64) -> Run {
        let windows = VecDeque::new();
        Run { start, end: start, wanted: 0, reads: 0, ahead: start, windows, visited: 0 }
    }

    fn go_on(&mut self, read: Range<u64>, wanted: u64) {
        // Only bytes beyond the end continue the run.
        if read.end > self.end {
            self.end = read.end;
            self.wanted += wanted;
            self.reads = self.reads.saturating_add(1);
        }
        // Another thread may be slightly behind.
        let passed = self.end.saturating_sub(2 * MOST_WINDOW);
        while self.windows.front().is_some_and(|window| window.range.end <= passed) {
            self.windows.pop_front();
        }
    }

    /// Returns the next windows to read: in total as many bytes as were requested so far, but at least one window.
    fn next(&mut self, bytes: u64) -> Vec<Range<u64>> {
        let is_run = self.reads >= LEAST_READS && 2 * self.wanted >= self.end - self.start;
        if !is_run {
            return Vec::new();
        }
        let ahead = self.wanted.clamp(LEAST_WINDOW, AHEAD_BYTES);
        let window = (ahead / IN_FLIGHT).clamp(LEAST_WINDOW, MOST_WINDOW);
        self.ahead = self.ahead.max(self.end);
        let (mut from, until) = (self.ahead, self.end.saturating_add(ahead).min(bytes));
        let mut next = Vec::new();
        while from < until && (from + window <= until || until == bytes) {
            let to = (from + window).min(until);
            next.push(from..to);
            from = to;
        }
        next
    }
}

/// Starts reading a window.
pub(super) fn read_window(
    object: &Arc<RemoteObject>,
    client: &Client,
    range: Range<u64>,
) -> Result<Window, IoError> {
    let (object, client, of) = (Arc::clone(object), client.clone(), range.clone());
    let reading = runtime()?.spawn(async move {
        let length = usize::try_from(of.end - of.start).ok()?;
        let mut bytes = memory::filled(length, 0, "bytes read ahead").ok()?;
        object.fill(&client, of.start, &mut bytes).await.ok()?;
        Some(Arc::new(bytes))
    });
    let under_way = reading.abort_handle();
    let bytes = reading.map(|outcome| outcome.ok().flatten()).boxed().shared();
    Ok(Window { range, bytes, under_way })
}

/// Waits for windows, in the order of the object, and copies the bytes of a request. Returns whether all were read.
pub(super) async fn copy_from(windows: &[Window], request: &mut Request<'_>) -> bool {
    let (mut at, mut rest) = (request.offset, &mut *request.buffer);
    for window in windows {
        if rest.is_empty() || !window.range.contains(&at) {
            continue;
        }
        let Some(bytes) = window.bytes.clone().await else { return false };
        let from = (at - window.range.start) as usize;
        let count = rest.len().min(bytes.len() - from);
        let (now, later) = rest.split_at_mut(count);
        now.copy_from_slice(&bytes[from..from + count]);
        (at, rest) = (at + count as u64, later);
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(runs: &mut Runs, offset: u64, length: usize) -> Vec<Range<u64>> {
        let mut buffer = vec![0; length];
        runs.visit(&[&mut Request { offset, buffer: &mut buffer }], 1 << 30)
    }

    #[test]
    fn a_run_has_to_show_itself() {
        let mut runs = Runs::default();
        assert_eq!(visit(&mut runs, 1000, 500_000), []);
        assert_eq!(visit(&mut runs, 501_000, 500_000), []);
        // As many bytes ahead as were requested, with at most eight requests.
        let next = visit(&mut runs, 1_001_000, 500_000);
        assert_eq!(next.first().map(|window| window.start), Some(1_501_000));
        let ahead: u64 = next.iter().map(|window| window.end - window.start).sum();
        assert!(next.len() <= 8 && (1_200_000..=1_500_000).contains(&ahead), "{next:?}");
    }

    #[test]
    fn a_run_of_short_reads_gets_one_window() {
        let mut runs = Runs::default();
        let next: Vec<_> = (0..3).map(|step| visit(&mut runs, step * 352, 352)).collect();
        assert_eq!(next[..2], [vec![], vec![]]);
        assert_eq!(next[2], vec![3 * 352..3 * 352 + LEAST_WINDOW]);
    }

    #[test]
    fn reads_apart_long_ones_and_repeated_ones_are_no_run() {
        let mut runs = Runs::default();
        for step in 0..20 {
            assert_eq!(visit(&mut runs, step * 1_000_000, 1000), []);
        }
        for step in 0..20 {
            assert_eq!(visit(&mut runs, (1 << 25) + step * LONG_BYTES, LONG_BYTES as usize), []);
        }
        for _ in 0..20 {
            assert_eq!(visit(&mut runs, 500 << 20, 1000), []);
        }
    }

    #[test]
    fn few_bytes_of_many_are_no_run() {
        let mut runs = Runs::default();
        for step in 0..50 {
            assert_eq!(visit(&mut runs, step * 100_000, 30_000), []);
        }
    }

    #[test]
    fn several_runs_go_on_at_a_time() {
        let mut runs = Runs::default();
        for step in 0..3 {
            for operand in 0..3 {
                let next = visit(&mut runs, (operand << 25) + step * 300_000, 300_000);
                assert_eq!(next.is_empty(), step < 2);
            }
        }
    }
}
