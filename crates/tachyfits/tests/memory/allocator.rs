//! An allocator that refuses one large request, and a check that an operation then fails in order: by an error of kind Limit,
//! or with the right result, and never by an end of the process.
//!
//! `SHOW_LARGE=1 cargo test --test memory` prints the stack of each large request that could not have failed in order.

#![allow(unsafe_code, reason = "an allocator has unsafe functions only")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Smaller requests are never refused: vectors of a constant size may have this many bytes.
const LARGE: usize = 1 << 20;

/// The first refusals of an operation are all tried, later ones at growing steps.
const ALL_UP_TO: usize = 2;

/// The variable by which the program tells itself that it is the one whose requests are refused.
const CHILD: &str = "TACHYFITS_TEST_MEMORY";

static ARMED: AtomicBool = AtomicBool::new(false);
static SHOWN: AtomicBool = AtomicBool::new(false);
static SEEN: AtomicUsize = AtomicUsize::new(0);
static REFUSED: AtomicUsize = AtomicUsize::new(0);
static STACKS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

thread_local! {
    static SHOWING: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator without one large request.
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

// SAFETY: each method is the system's, except that it may return null, which says that there is too little memory.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if self.refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises are those that the system's allocator asks for.
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
        // Giving memory back succeeds.
        if bytes > layout.size() && self.refuses(bytes) {
            return std::ptr::null_mut();
        }
        // SAFETY: as in `alloc`.
        unsafe { System.realloc(block, layout, bytes) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`; every block is one of the system's.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Keep the stack of a request that ends the process if it is refused.
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

/// The operation's result if the request of this number is refused (0: none), and the number of large requests.
fn armed<T>(number: usize, operation: &impl Fn() -> T) -> (T, usize) {
    REFUSED.store(number, Ordering::Relaxed);
    SEEN.store(0, Ordering::Relaxed);
    ARMED.store(true, Ordering::Relaxed);
    let result = operation();
    ARMED.store(false, Ordering::Relaxed);
    (result, SEEN.load(Ordering::Relaxed))
}

/// Let a part of an operation have all the memory that it asks for.
pub fn granted<T>(part: impl FnOnce() -> T) -> T {
    let before = ARMED.swap(false, Ordering::Relaxed);
    let result = part();
    ARMED.store(before, Ordering::Relaxed);
    result
}

/// Run an operation with each of its large requests refused in turn.
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
        let (result, seen) = armed(number, &operation);
        match result {
            Ok(found) => assert_eq!(found, expected, "{name}: refusal {number}"),
            Err(error) => assert!(is_limit(&error), "{name}: refusal {number}: {error:?}"),
        }
        if seen < number {
            return;
        }
        number += 1 + number.saturating_sub(ALL_UP_TO);
    }
}

/// Run the body of a test in a process of its own, so that its end is a failure with a name.
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
