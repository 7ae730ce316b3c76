//! Memory of images: plain, scaled and compressed, read, reduced, computed and written.

use std::path::Path;

use tachyfits::cut::Margin;
use tachyfits::expression::{ExpressionInput, ExpressionPixels, InputValue};
use tachyfits::path_cut::PathCut;
use tachyfits::rebin::{BlockStatistic, Rebinning};
use tachyfits::smooth::{BeamSmoothing, PlaneKernel, PlaneSmoothing, Smoothing, SmoothingKernel};
use tachyfits::statistics::{Coordinates, OrderStatistic, Reduced};
use tachyfits::tiled::TileCompression;
use tachyfits::{
    AxisRange, Error, FileWriter, FitsFile, Image, NewPixels, OpenOptions, OutputPixels, PixelType,
    ReadAs, Region, RunOptions, Section, Statistic, StorageKind, Values, WriteOptions, evaluate,
};
use tempfile::TempDir;

use crate::allocator::{granted, in_child};
use crate::common::{Numbers, fits};
use crate::{RUN, check, digest};

/// Shapes with one long axis each, and one with two.
const SHAPES: [[u64; 3]; 4] = [[150_000, 2, 2], [2, 150_000, 2], [2, 2, 150_000], [750, 400, 2]];

/// Writes an image with these axes to a file.
fn file(directory: &Path, bitpix: i64, axes: &[u64], cards: &[&str]) -> std::path::PathBuf {
    let mut numbers = Numbers(bitpix as u64);
    let mut data = Vec::new();
    for _ in 0..axes.iter().product::<u64>() {
        let number = numbers.below(30_000) as f64;
        match bitpix {
            8 => data.push(number as u8),
            16 => data.extend((number as i16).to_be_bytes()),
            32 => data.extend((number as i32).to_be_bytes()),
            -32 => data.extend((number as f32 * 1.5).to_be_bytes()),
            _ => data.extend((number * 1.5).to_be_bytes()),
        }
    }
    let path = directory.join("image.fits");
    let cards: Vec<String> = cards.iter().map(|card| (*card).to_owned()).collect();
    std::fs::write(&path, fits(bitpix, axes, &cards, &data)).unwrap();
    path
}

fn open(path: &Path, index: usize) -> Result<Image, Error> {
    let options = OpenOptions::default().storage(StorageKind::Positioned);
    FitsFile::open(path, &options)?.image(index)
}

/// Returns the digest of a section's pixels, read as f64.
fn pixels(image: &Image, section: &Section) -> Result<u64, Error> {
    let mut values = granted(|| vec![0.0; section.pixels() as usize]);
    image.read(section, ReadAs::Float64, OutputPixels::Float64(&mut values), &RUN)?;
    Ok(digest(bytemuck::cast_slice(&values)))
}

/// Returns the digest of a computed image.
fn computed(file: Result<FitsFile, Error>) -> Result<u64, Error> {
    let image = file?.image(0)?;
    pixels(&image, &image.whole())
}

fn of_reduced(reduced: &Reduced) -> Vec<u64> {
    let bytes = |values: &Values| match values {
        Values::Integers(values) => digest(bytemuck::cast_slice(values)),
        Values::Floats(values) => digest(bytemuck::cast_slice(values)),
    };
    reduced.values.iter().map(bytes).collect()
}

fn sections(image: &Image) -> [Section; 2] {
    let part = |&length: &u64| AxisRange {
        first: 0,
        count: length.div_ceil(2),
        step: 2.min(length as i64),
    };
    let part: Vec<AxisRange> = image.axes().iter().map(part).collect();
    [image.whole(), image.section(&part).unwrap()]
}

fn reductions(image: &Image) {
    for section in sections(image) {
        check("pixels", || pixels(image, &section));
        check("exact pixels", || {
            if image.layout().scaled || image.layout().stored.bytes() != 2 {
                return Ok(0);
            }
            let mut bytes = granted(|| vec![0u8; section.pixels() as usize * 2]);
            image.read(&section, ReadAs::Exact, OutputPixels::Bytes(&mut bytes), &RUN)?;
            Ok(digest(&bytes))
        });
        check("a vector", || {
            let (values, _) = image.read_vec::<f64>(&section, &RUN)?;
            Ok(digest(bytemuck::cast_slice(&values)))
        });
        check("statistics", || Ok(image.stats(&section, None, &RUN)?.0));
        check("total", || Ok(image.total(&section, &RUN)?.0));
        let (x, y) = (image.axes()[0] as f64, image.axes()[1] as f64);
        let regions = [
            Region::ellipse(x / 2.0, y / 2.0, x / 3.0, y / 4.0, 20.0).unwrap(),
            Region::polygon(&[(0.0, 0.0), (x, y / 3.0), (x / 4.0, y)]).unwrap(),
            Region::everything(),
        ];
        check("regions", || Ok(image.stats(&section, Some(&regions), &RUN)?.0));
        for axes in [&[0][..], &[1], &[2], &[0, 1], &[1, 2], &[0, 2], &[0, 1, 2]] {
            check(&format!("reduction along {axes:?}"), || {
                let reduced = image.reduce(Statistic::ALL, axes, &section, None, 1, &RUN)?.0;
                Ok(of_reduced(&reduced))
            });
            let order = [OrderStatistic::Median, OrderStatistic::Percentile(10.0)];
            check(&format!("order statistics along {axes:?}"), || {
                let reduced = image.order(&order, axes, &section, None, &RUN)?.0;
                Ok(of_reduced(&reduced))
            });
        }
        check("spectra of regions", || {
            let reduced =
                image.reduce(Statistic::ALL, &[0, 1], &section, Some(&regions), 1, &RUN)?.0;
            Ok(of_reduced(&reduced))
        });
        check("medians of regions", || {
            let order = [OrderStatistic::Median, OrderStatistic::Mad];
            Ok(of_reduced(&image.order(&order, &[0, 1], &section, Some(&regions), &RUN)?.0))
        });
        for per_plane in [false, true] {
            check("robust rms", || {
                let values = image.robust_rms(per_plane, &section, 1, &RUN)?.0;
                Ok(digest(bytemuck::cast_slice(&values)))
            });
        }
        check("histogram", || {
            let histogram = image.histogram((-1e3, 5e4), 1 << 17, &section, None, &RUN)?.0;
            Ok(granted(|| digest(bytemuck::cast_slice(&histogram.counts().collect::<Vec<_>>()))))
        });
        for axis in 0..3 {
            let count = section.ranges()[axis].count;
            let values: Vec<f64> = (0..count).map(|i| 1.42e9 - 1e4 * i as f64).collect();
            let widths: Vec<f64> = values.iter().map(|value| value * 1e-5).collect();
            check(&format!("moments along {axis}"), || {
                let coordinates = Coordinates { values: &values, widths: &widths };
                let moments = image.moments(&[0, 1, 2], axis, coordinates, &section, &RUN)?.0;
                Ok(moments.iter().map(|m| digest(bytemuck::cast_slice(m))).collect::<Vec<_>>())
            });
        }
        check("cut", || {
            let margin = Margin { before: 3, after: 2 };
            computed(image.cut(&section, &[margin; 3]))
        });
    }
}

fn computations(image: &Image) {
    for axis in 0..3 {
        for kernel in [SmoothingKernel::Hanning, SmoothingKernel::Boxcar(501)] {
            check(&format!("{kernel:?} along {axis}"), || {
                computed(image.smooth(&Smoothing::new(axis, kernel.weights()?)))
            });
        }
    }
    check("smoothing of planes", || {
        let weights = SmoothingKernel::Gaussian(3.0).weights()?;
        computed(image.smooth_planes(&PlaneSmoothing::new(weights.clone(), weights)))
    });
    check("beams", || {
        let kernels = [[40.0, 3.0, 20.0], [900.0, 100.0, 500.0]];
        let kernel = |widths| PlaneKernel { widths, scale: 1.0 };
        let count = image.axes()[2] as usize;
        let kernels = granted(|| (0..count).map(|n| kernel(kernels[n % 2])).collect());
        computed(image.smooth_beams(&BeamSmoothing::new(vec![2], kernels)))
    });
    for statistic in [BlockStatistic::Mean, BlockStatistic::Median, BlockStatistic::Sum] {
        for block in [vec![2, 2, 2], image.axes().to_vec(), vec![1, 1, 1]] {
            check(&format!("{statistic:?} of blocks {block:?}"), || {
                let how = Rebinning::new(block.clone()).statistic(statistic).keep_partial(true);
                computed(image.rebin(&how))
            });
        }
    }
    for order in [[2, 1, 0], [1, 0, 2], [0, 2, 1]] {
        check(&format!("order {order:?}"), || computed(image.reorder(&order)));
    }
    check("path", || {
        let corner = [image.axes()[0] as f64 - 1.0, image.axes()[1] as f64 - 1.0];
        computed(image.cut_along(&PathCut::new(vec![[0.0, 0.0], corner]).width(3)))
    });
    check("expression", || {
        let input = |value| ExpressionInput { name: "a".to_owned(), value };
        let text = "where(a > 3, sqrt(a), a * a)";
        let inputs = [input(InputValue::Image(image.clone()))];
        computed(evaluate(text, &inputs, ExpressionPixels::Automatic, None))
    });
}

fn compressions() -> Vec<TileCompression> {
    let how = |codec: &str, level, tile| {
        TileCompression::default().codec(codec.to_owned()).level(level).tile(tile)
    };
    let wide = Some(vec![750, 400, 1]);
    vec![
        how("RICE_1", Some(4.0), None),
        how("RICE_1", Some(4.0), wide.clone()),
        how("GZIP_1", None, wide.clone()),
        how("GZIP_2", None, wide.clone()),
        how("HCOMPRESS_1", Some(4.0), wide.clone()),
        how("NOCOMPRESS", None, wide.clone()),
        how("PLIO_1", None, wide),
    ]
}

/// Writes an image and returns the digest of the file.
fn write(
    image: &Image,
    directory: &Path,
    pixel: Option<NewPixels>,
    how: Option<&TileCompression>,
    run: &RunOptions<'_>,
) -> Result<u64, Error> {
    let path = directory.join("out.fits");
    let mut file =
        FileWriter::create(&path, &WriteOptions::default().overwrite(true).checksum(true))?;
    image.write_into(&mut file, pixel, how, run)?;
    file.commit()?;
    Ok(granted(|| digest(&std::fs::read(&path).unwrap())))
}

#[test]
fn plain_images() {
    in_child("images::plain_images", || {
        let directory = TempDir::new().unwrap();
        for shape in SHAPES {
            eprintln!("shape {shape:?}");
            let path = file(directory.path(), -32, &shape, &[]);
            check("opening", || Ok(open(&path, 0)?.axes().to_vec()));
            reductions(&open(&path, 0).unwrap());
        }
    });
}

#[test]
fn scaled_images() {
    in_child("images::scaled_images", || {
        let directory = TempDir::new().unwrap();
        let scaled = [
            "BSCALE  =                  0.5",
            "BZERO   =                 -7.0",
            "BLANK   =                    3",
        ];
        let path = file(directory.path(), 16, &SHAPES[3], &scaled);
        reductions(&open(&path, 0).unwrap());
    });
}

#[test]
fn integers() {
    in_child("images::integers", || {
        let directory = TempDir::new().unwrap();
        for shape in SHAPES {
            let path = file(directory.path(), 16, &shape, &[]);
            reductions(&open(&path, 0).unwrap());
        }
    });
}

#[test]
fn computed_images() {
    in_child("images::computed_images", || {
        let directory = TempDir::new().unwrap();
        for shape in SHAPES {
            for bitpix in [16, -32] {
                eprintln!("shape {shape:?} of {bitpix}");
                let path = file(directory.path(), bitpix, &shape, &[]);
                computations(&open(&path, 0).unwrap());
            }
        }
    });
}

#[test]
fn compressed_images() {
    in_child("images::compressed_images", || {
        let directory = TempDir::new().unwrap();
        for bitpix in [16, -32] {
            let path = file(directory.path(), bitpix, &SHAPES[3], &[]);
            let image = open(&path, 0).unwrap();
            for how in compressions() {
                let codec = how.codec.as_str();
                if bitpix == -32 && codec == "PLIO_1" {
                    continue;
                }
                check(&format!("compression by {codec}"), || {
                    write(&image, directory.path(), None, Some(&how), &RUN)
                });
                write(&image, directory.path(), None, Some(&how), &RUN).unwrap();
                let path = directory.path().join("out.fits");
                check(&format!("opening {codec}"), || Ok(open(&path, 1)?.axes().to_vec()));
                for section in sections(&image) {
                    // Opened each time, because tiles are cached.
                    check(&format!("pixels of {codec}"), || pixels(&open(&path, 1)?, &section));
                    check(&format!("statistics of {codec}"), || {
                        Ok(open(&path, 1)?.stats(&section, None, &RUN)?.0)
                    });
                    check(&format!("spectra of {codec}"), || {
                        let reduced = open(&path, 1)?.reduce(
                            Statistic::ALL,
                            &[0, 1],
                            &section,
                            None,
                            1,
                            &RUN,
                        )?;
                        Ok(of_reduced(&reduced.0))
                    });
                }
            }
        }
    });
}

#[test]
fn written_images() {
    in_child("images::written_images", || {
        let directory = TempDir::new().unwrap();
        for shape in SHAPES {
            let path = file(directory.path(), -32, &shape, &[]);
            let image = open(&path, 0).unwrap();
            check("writing", || write(&image, directory.path(), None, None, &RUN));
            let pixel = NewPixels::new(PixelType::I32);
            check("writing integers", || write(&image, directory.path(), Some(pixel), None, &RUN));
            let (x, y) = (image.axes()[0] as i64 - 1, image.axes()[1] as i64 - 1);
            let part = [(0, x as u64 + 1), (0, y as u64 + 1), (0, 1)];
            let part = part.map(|(first, count)| AxisRange { first, count, step: 1 });
            let section = image.section(&part).unwrap();
            check("cutout", || {
                let path = directory.path().join("out.fits");
                image.cutout(&path, &section, &[2], true, &RUN)?;
                Ok(granted(|| digest(&std::fs::read(&path).unwrap())))
            });
        }
    });
}
