//! Turns SIGBUS into an I/O error: touching a page of a map raises this signal where the mapped file was cut short or its
//! device fails, and a process without a handler ends.
//!
//! A handler takes the signal. If the address is in one of our maps, it maps a page of zeros there
//! and marks the map as broken; the computation continues with zeros, checks the map afterwards,
//! and discards the result. Any other signal goes to the previous handler, such as Python's
//! `faulthandler`, or ends the process as it would have, also if the previous handler returns
//! without a repair. A handler installed after ours keeps the signal until the next run, which
//! checks each map again. The X server guards its shared memory the same way.
//!
//! The handler only loads and stores atomics and calls `mmap` and `sigaction`, which are system calls: nothing here takes
//! a lock or memory while a signal is handled.

#![expect(unsafe_code, reason = "signals and maps are unsafe by nature; see the head of this file")]

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use libc::{c_int, c_void, siginfo_t};

/// How many maps can be guarded at the same time.
const WATCHES: usize = 4096;

/// The maps that are guarded.
static GUARDED: [MapGuard; WATCHES] = [const { MapGuard::new() }; WATCHES];

/// Whether files are mapped at all.
static ALLOWED: AtomicBool = AtomicBool::new(true);

/// Says whether files are mapped from now on. A map needs a handler of the signal SIGBUS, which is one for the whole
/// process: without maps none is installed, and cached files are copied.
///
/// Called before the first file is opened, `false` leaves the signals of a process alone. A handler that is there stays,
/// and so do the maps that it guards.
///
/// ```
/// tachyfits_io::allow_maps(false);
/// # tachyfits_io::allow_maps(true);
/// ```
pub fn allow_maps(allowed: bool) {
    ALLOWED.store(allowed, SeqCst);
}

/// Whether files may be mapped.
pub(crate) fn maps_are_allowed() -> bool {
    ALLOWED.load(SeqCst)
}

/// The previous handler, from `sigaction`: its address and flags.
static PREVIOUS: (AtomicUsize, AtomicI32) = (AtomicUsize::new(libc::SIG_DFL), AtomicI32::new(0));

/// Faults that were handed on: the address, and how often in succession (of the addresses that share a place).
static HANDED_ON: [(AtomicUsize, AtomicUsize); PLACES] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; PLACES];

const PLACES: usize = 64;

/// A fault that returns this often at one address was not repaired by the handler it was passed to.
const MOST_RETURNS: usize = 8;

/// The size of a page, known before the first signal.
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(4096);

/// One map that is guarded, or room for one.
#[derive(Debug)]
pub(super) struct MapGuard {
    taken: AtomicBool,
    start: AtomicUsize,
    /// 0 while nothing is guarded, so that no address lies within.
    end: AtomicUsize,
    broken: AtomicBool,
}

impl MapGuard {
    const fn new() -> MapGuard {
        MapGuard {
            taken: AtomicBool::new(false),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Guards a map from now on; `None` where as many are guarded as can be, or the handler cannot be set.
    pub(super) fn over(map: &[u8]) -> Option<&'static MapGuard> {
        if !maps_are_allowed() {
            return None;
        }
        take_signal().ok()?;
        let free = |watch: &&MapGuard| {
            !watch.taken.load(SeqCst)
                && watch.taken.compare_exchange(false, true, SeqCst, SeqCst).is_ok()
        };
        let watch = GUARDED.iter().find(free)?;
        let start = map.as_ptr().addr();
        watch.broken.store(false, SeqCst);
        watch.start.store(start, SeqCst);
        watch.end.store(start + map.len(), SeqCst);
        Some(watch)
    }

    /// Ends the guard; the map must still be there.
    pub(super) fn end(&self) {
        self.end.store(0, SeqCst);
        self.taken.store(false, SeqCst);
    }

    /// Whether a page was not there when it was touched: what was read of the map since is of no use.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(SeqCst)
    }

    /// In the handler: puts zeros where the address is, if that is in this map.
    fn repair(&self, address: usize) -> bool {
        if address < self.start.load(SeqCst) || address >= self.end.load(SeqCst) {
            return false;
        }
        // Set before the zeros are visible: a thread that reads zeros and asks must learn of it.
        self.broken.store(true, SeqCst);
        let bytes = PAGE_BYTES.load(SeqCst);
        let page = ptr::without_provenance_mut::<c_void>(address & !(bytes - 1));
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the page belongs to a map of ours, which its owner holds while any thread touches it, and which ends
        // at the end of a page; so no memory of anyone else is replaced. The memory stays readable, as it was.
        let put = unsafe { libc::mmap(page, bytes, libc::PROT_READ, flags, -1, 0) };
        put == page
    }
}

/// The signature of a handler that receives the address.
type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// Installs our handler in front of the current one for SIGBUS.
pub(super) fn take_signal() -> io::Result<()> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let ours = on_bus_error as Handler as usize;
    let current = action(None)?;
    if current.sa_sigaction == ours {
        return Ok(());
    }
    // SAFETY: a query of a constant of the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    PAGE_BYTES.store(usize::try_from(page).unwrap_or(4096), SeqCst);
    PREVIOUS.1.store(current.sa_flags, SeqCst);
    PREVIOUS.0.store(current.sa_sigaction, SeqCst);
    let mut taken = current;
    taken.sa_sigaction = ours;
    taken.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    action(Some(&taken))?;
    Ok(())
}

/// The action on SIGBUS, or the one before `new` was set.
fn action(new: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: a structure of integers, addresses and a set of bits, all of which may be zero.
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: both point to structures that live over the call, or `new` to none, which asks only. Where a handler of
    // ours is set it is `on_bus_error`, with the flag that its signature needs.
    let done = unsafe { libc::sigaction(libc::SIGBUS, new, &raw mut old) };
    if done == 0 { Ok(old) } else { Err(io::Error::last_os_error()) }
}

/// The handler.
extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the system passes a structure that lives while the handler runs.
    let told = unsafe { &*info };
    // Above 0, the system reports a fault; otherwise some process sent the signal.
    let is_fault = told.si_code > 0;
    // SAFETY: the system provides the address with every SIGBUS, and it is used only then.
    let address = unsafe { told.si_addr() }.addr();
    if is_fault && GUARDED.iter().any(|watch| watch.repair(address)) {
        return;
    }
    hand_on(signal, info, context, is_fault, address);
}

/// Does with a signal what would have been done without us.
fn hand_on(
    signal: c_int,
    info: *mut siginfo_t,
    context: *mut c_void,
    is_fault: bool,
    address: usize,
) {
    let (handler, flags) = (PREVIOUS.0.load(SeqCst), PREVIOUS.1.load(SeqCst));
    if handler == libc::SIG_IGN && !is_fault {
        return;
    }
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN || (is_fault && keeps_coming(address)) {
        // A fault comes again when the handler returns, and ends the process then; another signal is sent once more.
        end_on_signal();
        if !is_fault {
            // SAFETY: sends this thread a signal; it is held back until the handler returns.
            unsafe { libc::raise(signal) };
        }
        return;
    }
    let handler = ptr::with_exposed_provenance::<()>(handler);
    if flags & libc::SA_SIGINFO != 0 {
        // SAFETY: `sigaction` gave the address as that of a handler of this signature, which the flag says.
        let handler = unsafe { std::mem::transmute::<*const (), Handler>(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: as above; without the flag a handler takes the number alone.
        let handler = unsafe { std::mem::transmute::<*const (), extern "C" fn(c_int)>(handler) };
        handler(signal);
    }
    // A handler that has said its piece (`faulthandler`) raises the signal again for the one before it, which may be us.
    if is_pending() {
        end_on_signal();
    }
}

/// Counts a fault that is passed on; true if it returned so often that no handler seems to repair
/// it, such as a disabled handler of Python, which returns at once.
fn keeps_coming(address: usize) -> bool {
    let (last, count) = &HANDED_ON[(address >> 12) % PLACES];
    if last.swap(address, SeqCst) != address {
        count.store(0, SeqCst);
    }
    count.fetch_add(1, SeqCst) >= MOST_RETURNS
}

/// Whether another SIGBUS waits until this one is handled.
fn is_pending() -> bool {
    // SAFETY: a set of bits, all of which may be zero.
    let mut waiting: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: fills the set, which lives over the call; may be called while a signal is handled.
    let known = unsafe { libc::sigpending(&raw mut waiting) } == 0;
    // SAFETY: looks at the set, which is filled; may be called while a signal is handled.
    known && unsafe { libc::sigismember(&raw const waiting, libc::SIGBUS) } == 1
}

/// Lets the next SIGBUS end the process.
fn end_on_signal() {
    // SAFETY: a structure of integers, addresses and a set of bits, all of which may be zero.
    let mut default: libc::sigaction = unsafe { std::mem::zeroed() };
    default.sa_sigaction = libc::SIG_DFL;
    // Should it fail, the fault comes again, and so do we.
    let _ = action(Some(&default));
}

#[cfg(test)]
mod tests {
    use super::MapGuard;

    #[test]
    fn an_address_within_is_known_and_one_beyond_is_not() {
        let bytes = [0; 8];
        let watch = MapGuard::over(&bytes).unwrap();
        let start = bytes.as_ptr().addr();
        assert_eq!(
            (watch.start.load(super::SeqCst), watch.end.load(super::SeqCst)),
            (start, start + 8)
        );
        assert!(!watch.repair(start + 8) && !watch.repair(start - 1) && !watch.is_broken());
        watch.end();
        assert!(!watch.repair(start));
    }
}
