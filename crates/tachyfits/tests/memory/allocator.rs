//! An allocator that refuses one large request, and a check that the operation then fails cleanly: it must
//! return an error of kind Limit or the right result, and never end the process.
//!
//! `SHOW_LARGE=1 cargo test --test memory` prints the stack of each large request whose refusal would end the
//! process.

#![allow(unsafe_code, reason = "an allocator has unsafe functions only")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Smaller requests are never refused: vectors of a constant size may have this number of bytes.
const LARGE: usize = 1 << 20;

/// Number of first refusals that are all tested; later ones are tested at growing steps.
const ALL_UP_TO: usize = 2;

/// Environment variable that marks the child process whose requests are refused.
const CHILD: &str = "TACHYFITS_TEST_MEMORY";

static ARMED: AtomicBool = AtomicBool::new(false);
static SHOWN: AtomicBool = AtomicBool::new(false);
static SEEN: AtomicUsize = AtomicUsize::new(0);
static REFUSED: AtomicUsize = AtomicUsize::new(0);
static STACKS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

thread_local! {
    static SHOWING: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, except that it refuses one large request.
pub struct Refusing;

impl Refusing {
    fn refuses(&self, bytes: usize) -> bool {
        if bytes <= LARGE || !ARMED.load(Ordering::Relaxed) || SHOWING.get() {
            return false;
        }
        if SHOWN.load(Ordering::Relaxed) {
            SHOWING.set(true);
            keep_stack(bytes);
            SHOWING.set(false);
        }
        SEEN.fetch_add(1, Ordering::Relaxed) + 1 == REFUSED.load(Ordering::Relaxed)
    }
}

// SAFETY: each method calls the system's, or returns null to report insufficient memory.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if self.refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller guarantees what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if self.refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // Shrinking a block always succeeds.
        if bytes > layout.size() && self.refuses(bytes) {
            return std::ptr::null_mut();
        }
        // SAFETY: as in `alloc`.
        unsafe { System.realloc(block, layout, bytes) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`; the system allocated every block.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Keeps the stack of a request that ends the process if it is refused.
fn keep_stack(bytes: usize) {
    let stack = Backtrace::force_capture().to_string();
    if stack.contains("try_reserve") {
        return;
    }
    let lines: Vec<&str> = stack.lines().map(str::trim).collect();
    let calls =
        lines.windows(2).filter(|pair| pair[1].starts_with("at ") && pair[1].contains("crates/"));
    let calls = calls.filter(|pair| !pair[1].contains("tests/memory"));
    let calls: Vec<String> = calls.take(6).map(|pair| pair[1].to_owned()).collect();
    let text = calls.join("\n    ");
    if STACKS.lock().unwrap().insert(text.clone()) {
        eprintln!("{bytes} bytes:\n    {text}");
    }
}

/// Runs the operation with the request of this number refused (0: none); returns its result and the number of
/// large requests.
fn armed<T>(number: usize, operation: &impl Fn() -> T) -> (T, usize) {
    REFUSED.store(number, Ordering::Relaxed);
    SEEN.store(0, Ordering::Relaxed);
    ARMED.store(true, Ordering::Relaxed);
    let result = operation();
    ARMED.store(false, Ordering::Relaxed);
    (result, SEEN.load(Ordering::Relaxed))
}

/// Runs a part of an operation without refusals.
pub fn granted<T>(part: impl FnOnce() -> T) -> T {
    let before = ARMED.swap(false, Ordering::Relaxed);
    let result = part();
    ARMED.store(before, Ordering::Relaxed);
    result
}

/// Runs an operation repeatedly, with a different large request refused each time.
pub fn check<T: PartialEq + Debug, E: Debug>(
    name: &str,
    is_limit: impl Fn(&E) -> bool,
    operation: impl Fn() -> Result<T, E>,
) {
    eprintln!("{name}");
    let (expected, all) = armed(0, &operation);
    let expected = expected.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    eprintln!("{name}: {all} large requests");
    if SHOWN.load(Ordering::Relaxed) {
        return;
    }
    let mut number = 1;
    loop {
        eprintln!("{name}: refusal {number}");
        let (result, requests) = armed(number, &operation);
        match result {
            Ok(actual) => assert_eq!(actual, expected, "{name}: refusal {number}"),
            Err(error) => assert!(is_limit(&error), "{name}: refusal {number}: {error:?}"),
        }
        if requests < number {
            return;
        }
        number += 1 + number.saturating_sub(ALL_UP_TO);
    }
}

/// Runs the body of a test in a child process, so that the end of the process is reported as a failed test.
pub fn in_child(test: &str, body: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some() {
        SHOWN.store(std::env::var_os("SHOW_LARGE").is_some(), Ordering::Relaxed);
        return body();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let child = child.args(["--exact", test, "--nocapture"]).env(CHILD, "1").output().unwrap();
    let output = String::from_utf8_lossy(&child.stderr);
    if std::env::var_os("SHOW_LARGE").is_some() {
        eprintln!("{output}");
    }
    let last: Vec<&str> = output.lines().rev().take(30).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    assert!(child.status.success(), "{:?}:\n{}", child.status, last.join("\n"));
}
