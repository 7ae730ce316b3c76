//! Reshaped images written to files: the bytes are the same for any options, and equal to those of direct
//! reads.
#![allow(clippy::disallowed_methods, reason = "the test looks at files as they are")]

use std::fs;

use tachyfits::io::Buffering;
use tachyfits::path_cut::PathCut;
use tachyfits::rebin::{BlockStatistic, Rebinning};
use tachyfits::smooth::Smoothing;
use tachyfits::{FitsFile, OpenOptions, RunOptions, WriteOptions};

use crate::made::{first, raw, sample_image};

#[test]
fn files_are_the_same_for_any_threads_and_buffering() {
    let directory = tempfile::tempdir().unwrap();
    let image = sample_image(3, &[130, 90, 70], 11);
    let path = PathCut::new(vec![[3.0, 2.0], [120.5, 80.25]]).width(3).spacing(1.0);
    let blocks = Rebinning::new(vec![3, 2, 4]).statistic(BlockStatistic::Median).keep_partial(true);
    let smoothed = first(&image.smooth(&Smoothing::new(2, vec![0.25, 0.5, 0.25])).unwrap());
    let reordered = first(&smoothed.reorder(&[2, 0, 1]).unwrap());
    let files = [
        image.reorder(&[2, 1, 0]).unwrap(),
        image.rebin(&blocks).unwrap(),
        image.cut_along(&path).unwrap(),
        // Combined operations.
        reordered.rebin(&blocks).unwrap(),
        reordered.cut_along(&path).unwrap(),
        first(&image.rebin(&blocks).unwrap()).reorder(&[1, 2, 0]).unwrap(),
        first(&image.rebin(&blocks).unwrap())
            .smooth(&Smoothing::new(0, vec![0.25, 0.5, 0.25]))
            .unwrap(),
    ];
    for (number, file) in files.iter().enumerate() {
        let reshaped = first(file);
        let mut first_bytes: Option<Vec<u8>> = None;
        for (threads, buffering) in
            [(1, Buffering::Single), (3, Buffering::Single), (2, Buffering::Double)]
        {
            let path = directory.path().join("out.fits");
            let run = RunOptions::default().threads(threads).buffering(buffering);
            let options = WriteOptions::default().overwrite(true);
            reshaped.write(&path, &options, &run).unwrap();
            let bytes = fs::read(&path).unwrap();
            assert!(
                first_bytes.is_none_or(|before| before == bytes),
                "{number}: {threads} {buffering:?}"
            );
            first_bytes = Some(bytes);
            let again = FitsFile::open(&path, &OpenOptions::default()).unwrap();
            assert!(again.warnings().is_empty());
            assert_eq!(raw(&first(&again)), raw(&reshaped), "{number}");
        }
    }
}
