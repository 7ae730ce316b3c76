//! Any bytes as an unformatted Fortran file: markers are detected or refused, walks end, with
//! recovery too, and records are within the file, in order; any text as the form of a record.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachyfits_records::{MarkerDetector, RecordForm, RecordLimits, RecordMarkers, RecordStep, RecordWalker};

fuzz_target!(|bytes: &[u8]| {
    let mut detector = MarkerDetector::new(None, None, bytes.len() as u64);
    while let RecordStep::Read { offset, bytes: count } = detector.step() {
        detector.supply(&bytes[offset as usize..][..count]);
    }
    let _ = detector.finish();
    for markers in RecordMarkers::ALL {
        walk(bytes, markers, false);
        walk(bytes, markers, true);
    }
    if let Ok(form) = std::str::from_utf8(bytes).map_err(drop).and_then(|text| RecordForm::parse(text).map_err(drop)) {
        let _ = form.items(bytes.len() as u64);
    }
});

fn walk(bytes: &[u8], markers: RecordMarkers, recover: bool) {
    let limits = RecordLimits::default().max_runs(1 << 16);
    let mut walker = RecordWalker::new(markers, bytes.len() as u64, limits, recover);
    let mut reads = 0;
    while let RecordStep::Read { offset, bytes: count } = walker.step() {
        reads += 1;
        assert!(count > 0 && reads < 1000 + 20 * bytes.len(), "the walk does not end");
        walker.supply(&bytes[offset as usize..][..count]);
    }
    let index = walker.finish();
    let mut end = 0;
    for record in 0..index.len() {
        for piece in index.payload(record) {
            assert!(end < piece.start && piece.end <= bytes.len() as u64, "a record outside");
            end = piece.end;
        }
    }
}
