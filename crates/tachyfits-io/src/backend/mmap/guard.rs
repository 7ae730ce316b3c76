//! Turns SIGBUS into an I/O error. Touching a mapped page raises this signal if the file was truncated or its device
//! fails, and ends a process without a handler.
//!
//! If the address is in one of our maps, the handler maps a page of zeros there and marks the map as broken; the
//! computation continues with zeros, checks the map afterwards, and discards the result. Any other signal goes to the
//! previous handler, such as Python's `faulthandler`, or ends the process as it would have, also if the previous
//! handler returns without a repair. A handler installed after ours keeps the signal until the next run, which checks
//! each map again. The X server guards its shared memory the same way.
//!
//! The handler only loads and stores atomics and calls `mmap` and `sigaction`, which are system calls: it takes no lock
//! and allocates no memory.

#![expect(unsafe_code, reason = "signals and maps are unsafe by nature; see the head of this file")]

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use libc::{c_int, c_void, siginfo_t};

/// Maximum number of maps guarded at the same time.
const WATCHES: usize = 4096;

/// Slots of the guarded maps.
static GUARDED: [MapGuard; WATCHES] = [const { MapGuard::new() }; WATCHES];

/// Whether files may be mapped.
static ALLOWED: AtomicBool = AtomicBool::new(true);

/// Sets whether files may be mapped from now on. A map needs a handler of SIGBUS for the whole process: without maps no
/// handler is installed, and cached files are copied.
///
/// Call it with `false` before opening the first file to leave the signals of the process alone. An installed handler
/// stays, and so do the maps that it guards.
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

/// Faults passed to the previous handler: the address, and the number of times in succession. Addresses share the
/// slots.
static HANDED_ON: [(AtomicUsize, AtomicUsize); PLACES] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; PLACES];

const PLACES: usize = 64;

/// Number of times that a fault may return at one address before it counts as not repaired by the previous handler.
const MOST_RETURNS: usize = 8;

/// Page size, determined before the first signal.
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(4096);

/// Slot of one guarded map.
#[derive(Debug)]
pub(super) struct MapGuard {
    taken: AtomicBool,
    start: AtomicUsize,
    /// 0 while no map is guarded, so that no address is within.
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

    /// Guards a map from now on; `None` if all slots are in use, or the handler cannot be installed.
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

    /// Ends the guard; the map must still exist.
    pub(super) fn end(&self) {
        self.end.store(0, SeqCst);
        self.taken.store(false, SeqCst);
    }

    /// Whether a touched page was missing: bytes read from the map since then are invalid.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(SeqCst)
    }

    /// Maps zeros at the address if it is in this map. Called in the handler.
    fn repair(&self, address: usize) -> bool {
        if address < self.start.load(SeqCst) || address >= self.end.load(SeqCst) {
            return false;
        }
        // Set before the zeros are visible: a thread that reads zeros and then checks must see the flag.
        self.broken.store(true, SeqCst);
        let bytes = PAGE_BYTES.load(SeqCst);
        let page = ptr::without_provenance_mut::<c_void>(address & !(bytes - 1));
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the page belongs to our map, whose owner keeps it while any thread touches it and which ends at a
        // page boundary; so no other memory is replaced. The memory stays readable.
        let address_of_zeros = unsafe { libc::mmap(page, bytes, libc::PROT_READ, flags, -1, 0) };
        address_of_zeros == page
    }
}

/// Signature of a handler that receives the address.
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
    // SAFETY: queries a constant of the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    PAGE_BYTES.store(usize::try_from(page).unwrap_or(4096), SeqCst);
    PREVIOUS.1.store(current.sa_flags, SeqCst);
    PREVIOUS.0.store(current.sa_sigaction, SeqCst);
    let mut new = current;
    new.sa_sigaction = ours;
    new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    action(Some(&new))?;
    Ok(())
}

/// Sets the action on SIGBUS to `new`, if any; returns the previous action.
fn action(new: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: a structure of integers, addresses and a set of bits, for all of which zero is valid.
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: both point to structures that live over the call, or `new` is null, which only queries. If it sets our
    // handler, that is `on_bus_error`, with the flag that its signature needs.
    let result = unsafe { libc::sigaction(libc::SIGBUS, new, &raw mut old) };
    if result == 0 { Ok(old) } else { Err(io::Error::last_os_error()) }
}

/// Handles SIGBUS.
extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the system passes a structure that lives while the handler runs.
    let signal_info = unsafe { &*info };
    // A positive code is a fault reported by the system; otherwise a process sent the signal.
    let is_fault = signal_info.si_code > 0;
    // SAFETY: the system provides the address with every SIGBUS; it is used only for faults.
    let address = unsafe { signal_info.si_addr() }.addr();
    if is_fault && GUARDED.iter().any(|watch| watch.repair(address)) {
        return;
    }
    hand_on(signal, info, context, is_fault, address);
}

/// Handles a signal as if our handler did not exist.
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
        // When the handler returns, a fault is raised again and then ends the process; a sent signal is sent again.
        end_on_signal();
        if !is_fault {
            // SAFETY: sends a signal to this thread, which is blocked until the handler returns.
            unsafe { libc::raise(signal) };
        }
        return;
    }
    let handler = ptr::with_exposed_provenance::<()>(handler);
    if flags & libc::SA_SIGINFO != 0 {
        // SAFETY: `sigaction` returned the address as a handler of this signature, according to the flag.
        let handler = unsafe { std::mem::transmute::<*const (), Handler>(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: as above; without the flag a handler only receives the number.
        let handler = unsafe { std::mem::transmute::<*const (), extern "C" fn(c_int)>(handler) };
        handler(signal);
    }
    // After printing, `faulthandler` raises the signal again for the handler before it, which may be ours.
    if is_pending() {
        end_on_signal();
    }
}

/// Counts a fault that is passed on. Returns true if it returned so often that no handler seems to repair it, such as a
/// disabled handler of Python, which returns at once.
fn keeps_coming(address: usize) -> bool {
    let (last, count) = &HANDED_ON[(address >> 12) % PLACES];
    if last.swap(address, SeqCst) != address {
        count.store(0, SeqCst);
    }
    count.fetch_add(1, SeqCst) >= MOST_RETURNS
}

/// Whether another SIGBUS is pending until this one is handled.
fn is_pending() -> bool {
    // SAFETY: a set of bits, for all of which zero is valid.
    let mut waiting: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: fills the set, which lives over the call; allowed in a signal handler.
    let is_filled = unsafe { libc::sigpending(&raw mut waiting) } == 0;
    // SAFETY: reads the set, which is initialised; allowed in a signal handler.
    is_filled && unsafe { libc::sigismember(&raw const waiting, libc::SIGBUS) } == 1
}

/// Lets the next SIGBUS end the process.
fn end_on_signal() {
    // SAFETY: a structure of integers, addresses and a set of bits, for all of which zero is valid.
    let mut default: libc::sigaction = unsafe { std::mem::zeroed() };
    default.sa_sigaction = libc::SIG_DFL;
    // If this fails, the fault is raised again and reaches this handler again.
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
