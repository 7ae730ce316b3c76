//! A process that must keep its signal handlers can still read cached files. In a separate program, because the setting
//! applies to the whole process. The tests of Python check that no handler is installed; Rust has its own.

use std::io::Write;

use tachyfits_io::{CachedStorage, FileStorage, Lend, Storage, allow_maps};

#[test]
fn without_maps_cached_files_are_copied() {
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

    allow_maps(true);
    let storage = CachedStorage::new(open());
    if storage.lends_cached(true, 1) {
        assert_eq!(storage.cached(0..1000), Some(&[7; 1000][..]));
    }
}
