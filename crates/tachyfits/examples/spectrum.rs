//! Prints the mean spectrum of a circle in a cube as CSV: `cargo run --example spectrum -- cube.fits X Y
//! RADIUS`, in 0-based pixels.
//!
//! Without arguments it first creates a small cube with a line that is brightest in the second of three
//! channels.

use std::error::Error;

use tachyfits::{Array, FitsFile, Header, Image, OpenOptions, Region, RunOptions, Statistic};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (image, [x, y, radius]) = match &arguments[..] {
        [] => (line_cube()?, [1.0, 1.0, 1.0]),
        [path, numbers @ ..] if numbers.len() == 3 => {
            let numbers: Vec<f64> =
                numbers.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
            let file = FitsFile::open(path.as_str(), &OpenOptions::default())?;
            (file.image(0)?, [numbers[0], numbers[1], numbers[2]])
        }
        _ => return Err("expected CUBE X Y RADIUS, or no argument".into()),
    };
    print!("{}", csv(&image, &Region::circle(x, y, radius)?)?);
    Ok(())
}

/// Returns a row for each channel: its coordinate according to the header, and the mean of the region.
fn csv(cube: &Image, region: &Region) -> Result<String, tachyfits::Error> {
    let axis = cube.linear_axis(2)?;
    let (means, _report) = cube.spectrum(region, Statistic::MEAN, &RunOptions::default())?;
    let rows = means
        .iter()
        .zip(1..)
        .map(|(mean, channel)| format!("{},{mean}\n", axis.value(f64::from(channel))));
    Ok(format!("{},mean\n", axis.ctype) + &rows.collect::<String>())
}

/// Creates a cube of 3 by 3 pixels and three channels from 1.42 GHz on.
fn line_cube() -> Result<Image, Box<dyn Error>> {
    let mut header = Header::new();
    header.set("CTYPE3", "FREQ", "")?;
    header.set("CRVAL3", 1420, "Hz")?;
    header.set("CRPIX3", 1, "")?;
    header.set("CDELT3", 10, "Hz")?;
    let pixels: Vec<f32> = [1.0, 5.0, 2.0].iter().flat_map(|&level| [level; 9]).collect();
    Ok(Array::new(&pixels, &[3, 3, 3]).to_file("line", &header)?.image(0)?)
}

#[test]
fn the_spectrum_of_a_line() {
    let text = csv(&line_cube().unwrap(), &Region::circle(1.0, 1.0, 1.0).unwrap()).unwrap();
    assert_eq!(text, "FREQ,mean\n1420,1\n1430,5\n1440,2\n");
}
