//! Prints the statistics of every image in a file: `cargo run --example statistics -- image.fits`.
//!
//! Without a name it first creates a small image.

use std::error::Error;
use std::path::Path;

use tachyfits::{Array, FitsFile, Header, OpenOptions, RunOptions, WriteOptions};

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args_os().nth(1) {
        Some(path) => print!("{}", report(Path::new(&path))?),
        None => {
            let folder = tempfile::tempdir()?;
            print!("{}", report(&ramp(folder.path())?)?);
        }
    }
    Ok(())
}

/// Returns one line for each image: its axes, and count, mean, standard deviation and extremes of its pixels.
fn report(path: &Path) -> Result<String, tachyfits::Error> {
    let file = FitsFile::open(path, &OpenOptions::default())?;
    let mut lines = String::new();
    for hdu in file.hdus() {
        let Ok(image) = file.image(hdu.index) else { continue };
        let (stats, _report) = image.stats(&image.whole(), None, &RunOptions::default())?;
        let [stats] = stats[..] else { continue };
        let (low, high) = (stats.min.map(|least| least.value), stats.max.map(|most| most.value));
        lines += &format!(
            "HDU {}: {:?}, {} pixels, mean {}, std {:.3}, from {low:?} to {high:?}\n",
            hdu.index,
            image.axes(),
            stats.count,
            stats.mean(),
            stats.std(0),
        );
    }
    Ok(lines)
}

/// Writes an image with pixels 0, 1, 2 and so on.
fn ramp(folder: &Path) -> Result<std::path::PathBuf, tachyfits::Error> {
    let path = folder.join("ramp.fits");
    let pixels: Vec<f32> = (0..12).map(|pixel| pixel as f32).collect();
    let (options, run) = (WriteOptions::default(), RunOptions::default());
    Array::new(&pixels, &[4, 3]).write(&path, &Header::new(), &options, &run)?;
    Ok(path)
}

#[test]
fn the_statistics_of_a_ramp() {
    let folder = tempfile::tempdir().unwrap();
    let text = report(&ramp(folder.path()).unwrap()).unwrap();
    assert_eq!(
        text,
        "HDU 0: [4, 3], 12 pixels, mean 5.5, std 3.452, from Some(0.0) to Some(11.0)\n"
    );
}
