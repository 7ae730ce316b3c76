//! Any bytes as a file: verification ends in findings, the same for any number of threads, and a
//! repaired header has none of the repairable findings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachyfits::{RunOptions, Source, verify};
use tachyfits::io::SpoolOptions;
use tachyfits::verify::VerifyOptions;
use tachyfits_format::{Context, Header, fixed_header, verify_header};

fuzz_target!(|bytes: &[u8]| {
    let verified = |threads| {
        let run = RunOptions::default().threads(threads);
        let spool = SpoolOptions::default().total_bytes(1 << 22);
        let options = VerifyOptions::default().spool(spool);
        verify(Source::bytes("fuzzed", bytes.to_vec()), &options, &run)
    };
    let one = match verified(1) {
        Ok(one) => one,
        // Bytes in memory can be read, but compressed content may be damaged or a bomb.
        Err(error) => {
            assert!(["io-gzip", "io-compressed", "io-limit"].contains(&error.code()), "{error}");
            return;
        }
    };
    assert!(one.findings.iter().all(|finding| !finding.advice.is_empty()));
    let two = verified(2).expect("bytes in memory can be read");
    assert_eq!(one.findings, two.findings);
    if let Ok((header, warnings)) = Header::parse(bytes, Context::default()) {
        let _ = verify_header(&header, None, &warnings);
        let (repaired, _) = fixed_header(&header, None);
        assert_eq!(repaired.cards().len(), header.cards().len());
        let (_, again) = fixed_header(&repaired, None);
        assert!(again.is_empty(), "not all faults were repaired at once: {again:?}");
    }
});
