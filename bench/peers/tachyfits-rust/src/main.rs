//! This project from Rust, with one thread: the same words and replies as common/calls.h.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tachyfits::table::{
    ColumnInput, ColumnOutput, Field, NewColumn, NewTable, TableKind, TableWriter,
};
use tachyfits::{Array, FileWriter, FitsFile, Header, Image, OpenOptions, OutputPixels, PixelType};
use tachyfits::{ReadAs, Rows, RunOptions, StorageKind, Table, WriteOptions};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A type of numbers by its name.
fn pixel_of(name: &str) -> Outcome<PixelType> {
    Ok(match name {
        "i2" => PixelType::I16,
        "u2" => PixelType::U16,
        "i4" => PixelType::I32,
        "i8" => PixelType::I64,
        "f4" => PixelType::F32,
        "f8" => PixelType::F64,
        _ => return Err(format!("no type {name}").into()),
    })
}

/// Numbers of any type in memory that is aligned for each.
struct Numbers {
    words: Vec<u64>,
    bytes: usize,
}

impl Numbers {
    /// Memory that was touched.
    fn new(count: u64, pixel: PixelType) -> Numbers {
        let bytes = count as usize * pixel.bytes();
        Numbers { words: vec![0x0101_0101_0101_0101; bytes.div_ceil(8)], bytes }
    }

    fn get(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }

    fn get_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }
}

fn read_image(
    image: &Image,
    pixel: PixelType,
    out: &mut [u8],
    run: &RunOptions<'_>,
) -> Outcome<()> {
    let (how, out) = match pixel {
        PixelType::F32 => (ReadAs::Float32, OutputPixels::Float32(bytemuck::cast_slice_mut(out))),
        PixelType::F64 => (ReadAs::Float64, OutputPixels::Float64(bytemuck::cast_slice_mut(out))),
        _ => (ReadAs::Exact, OutputPixels::Bytes(out)),
    };
    image.read(&image.whole(), how, out, run)?;
    Ok(())
}

fn read_columns(
    table: &Table,
    names: &[String],
    arrays: &mut [Numbers],
    run: &RunOptions<'_>,
) -> Outcome<()> {
    let mut columns = Vec::new();
    for (name, numbers) in names.iter().zip(arrays) {
        columns.push(ColumnOutput::new(table.column(name)?, numbers.get_mut()));
    }
    table.read(&mut columns, &Rows::Range(0..table.layout().rows), run)?;
    Ok(())
}

fn write_image(path: &Path, image: &Image, pixel: PixelType, bytes: &[u8]) -> Outcome<()> {
    let array = Array { bytes, pixel, axes: image.axes() };
    let mut writer = FileWriter::create(path, &WriteOptions::default())?;
    array.write_into(&mut writer, &Header::new(), None, None, &RunOptions::default().threads(1))?;
    Ok(writer.commit()?)
}

fn write_table(
    path: &Path,
    names: &[String],
    forms: &[&str],
    arrays: &[Numbers],
    rows: u64,
) -> Outcome<()> {
    let columns = names.iter().zip(forms).map(|(name, form)| {
        let field = Field::of_binary_form(form).ok_or("no such form")?;
        Ok(NewColumn::new(name.as_str(), field))
    });
    let new = NewTable::new(TableKind::Binary, columns.collect::<Outcome<Vec<_>>>()?);
    let writer = FileWriter::create(path, &WriteOptions::default())?;
    let mut table = TableWriter::new(writer, new, &Header::new())?;
    let inputs: Vec<_> = arrays.iter().map(|numbers| ColumnInput::new(numbers.get())).collect();
    table.write_rows(&inputs, rows, &RunOptions::default().threads(1))?;
    Ok(table.finish()?.commit()?)
}

/// The sum of the numbers without NaN, and of their bits.
fn sums(pixel: PixelType, bytes: &[u8]) -> (f64, u64) {
    macro_rules! of {
        ($number:ty) => {
            bytemuck::cast_slice::<u8, $number>(bytes)
                .iter()
                .map(|&v| f64::from(v))
                .filter(|v| !v.is_nan())
                .sum()
        };
    }
    let sum = match pixel {
        PixelType::I16 => of!(i16),
        PixelType::U16 => of!(u16),
        PixelType::I32 => of!(i32),
        PixelType::F32 => of!(f32),
        PixelType::F64 => of!(f64),
        _ => f64::NAN,
    };
    let bits = bytes.chunks_exact(pixel.bytes()).map(|cell| {
        let mut word = [0; 8];
        word[..cell.len()].copy_from_slice(cell);
        u64::from_le_bytes(word)
    });
    (sum, bits.fold(0, u64::wrapping_add))
}

fn processor() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The medians of the seconds, on the clock and of the processor, of calls after a first one.
fn timed(
    times: usize,
    mut prepare: impl FnMut(),
    mut call: impl FnMut() -> Outcome<()>,
) -> Outcome<[f64; 2]> {
    let mut samples = [Vec::new(), Vec::new()];
    for time in 0..=times {
        prepare();
        let (start, worked) = (Instant::now(), processor());
        call()?;
        if time > 0 {
            samples[0].push(start.elapsed().as_secs_f64());
            samples[1].push((processor() - worked).as_secs_f64());
        }
    }
    Ok(samples.map(|mut values| {
        values.sort_by(f64::total_cmp);
        values[times / 2]
    }))
}

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "--version") {
        println!("tachyfits {} from Rust", env!("CARGO_PKG_VERSION"));
        return Ok(());
    }
    let [model, path, hdu, types, _, times, output, names @ ..] = &words[..] else {
        return Err("words as in common/calls.h are missing".into());
    };
    let file = FitsFile::open(path, &OpenOptions::default().storage(StorageKind::Positioned))?;
    let (hdu, times) = (hdu.parse()?, times.parse()?);
    let pixels = types.split(',').map(pixel_of).collect::<Outcome<Vec<_>>>()?;
    let run = RunOptions::default().threads(1);
    let output = Path::new(output);
    // The first call has no file to remove.
    let new_file = || drop(std::fs::remove_file(output));
    if model.ends_with("image") {
        let image = file.image(hdu)?;
        let mut out = Numbers::new(image.axes().iter().product(), pixels[0]);
        read_image(&image, pixels[0], out.get_mut(), &run)?;
        if model == "write-image" {
            let [seconds, processor] =
                timed(times, new_file, || write_image(output, &image, pixels[0], out.get()))?;
            println!("{seconds:.9} {processor:.9}");
            return Ok(());
        }
        let [seconds, processor] =
            timed(times, || (), || read_image(&image, pixels[0], out.get_mut(), &run))?;
        let (sum, bits) = sums(pixels[0], out.get());
        println!("{seconds:.9} {processor:.9} {sum:.17e} {bits}");
        return Ok(());
    }
    let table = file.table(hdu)?;
    let rows = table.layout().rows;
    let mut arrays: Vec<_> = pixels.iter().map(|pixel| Numbers::new(rows, *pixel)).collect();
    read_columns(&table, names, &mut arrays, &run)?;
    let [seconds, processor] = if model == "write-table" {
        let forms: Vec<_> = pixels.iter().map(|pixel| form_of(*pixel)).collect();
        timed(times, new_file, || write_table(output, names, &forms, &arrays, rows))?
    } else {
        let seconds = timed(times, || (), || read_columns(&table, names, &mut arrays, &run))?;
        let values: Vec<u8> = arrays.iter().flat_map(|numbers| numbers.get().to_vec()).collect();
        std::fs::write(output, values)?;
        seconds
    };
    println!("{seconds:.9} {processor:.9}");
    Ok(())
}

fn form_of(pixel: PixelType) -> &'static str {
    match pixel {
        PixelType::I16 => "1I",
        PixelType::U16 => "1U",
        PixelType::I32 => "1J",
        PixelType::I64 => "1K",
        PixelType::F32 => "1E",
        _ => "1D",
    }
}
