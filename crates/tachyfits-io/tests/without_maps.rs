//! A process that must keep its signals reads cached files all the same. Alone in its program: the setting is one for the
//! whole process. The tests of Python see that no handler is installed; here Rust has one of its own.

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
