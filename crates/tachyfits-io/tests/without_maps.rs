//! A process that must keep its signals reads cached files all the same. Alone in its program: the setting is one for the
//! whole process.

use std::io::Write;

use tachyfits_io::{CachedStorage, FileStorage, Lend, Storage, allow_maps};

#[test]
fn without_maps_cached_files_are_copied_and_no_handler_is_set() {
    allow_maps(false);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&[7; 1 << 20]).unwrap();
    let open = || FileStorage::open(file.path()).unwrap();
    for storage in [CachedStorage::new(open()), CachedStorage::mapped(file.path(), open()).unwrap()]
    {
        assert_eq!(storage.cached(0..1000), None);
        let mut bytes = [0; 1000];
        storage.read_exact_at(5, &mut bytes).unwrap();
        assert_eq!(bytes, [7; 1000]);
    }
    assert!(!CachedStorage::new(open()).lends_cached(true, 1));
    assert!(!catches_bus_errors());

    allow_maps(true);
    let storage = CachedStorage::new(open());
    if storage.lends_cached(true, 1) {
        assert_eq!(storage.cached(0..1000), Some(&[7; 1000][..]));
        assert!(catches_bus_errors());
    }
}

/// Whether a handler of SIGBUS is installed, as Linux tells.
fn catches_bus_errors() -> bool {
    const SIGBUS: u32 = 7;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    u64::from_str_radix(caught.trim(), 16).unwrap() >> (SIGBUS - 1) & 1 == 1
}
