//! The parts that fuzz targets share: the check of a codec, and the walk over a file.

use tachyfits_format::{
    CodecError, CodecScratch, Hdu, Pixels, PixelsMut, PlainTile, ReadOptions, Step, Tile,
    TileCodec, Walker,
};

/// The tile that bytes stand for: its shape, a number that chooses among forms of the codec, and its stream.
pub struct FuzzTile<'a> {
    pub shape: [u64; 2],
    pub form: u8,
    pub stream: &'a [u8],
}

impl<'a> FuzzTile<'a> {
    /// The first three bytes say columns, rows and form; `None` if there are fewer.
    pub fn of(bytes: &'a [u8]) -> Option<FuzzTile<'a>> {
        let (&[columns, rows, form], stream) = bytes.split_first_chunk()?;
        Some(FuzzTile { shape: [u64::from(columns) + 1, u64::from(rows % 16) + 1], form, stream })
    }

    /// Pixels of the tile.
    pub fn pixels(&self) -> usize {
        (self.shape[0] * self.shape[1]) as usize
    }
}

/// Decodes a stream as pixels of every type of BITPIX: an error whose offset is in the stream, or pixels that can be
/// encoded again. The other types hold the same numbers as i32, where they hold them.
pub fn check_codec(codec: &dyn TileCodec, tile: &FuzzTile<'_>) {
    let scratch = &mut CodecScratch::new();
    let count = tile.pixels();
    let (mut bytes, mut shorts, mut ints) =
        (vec![0u8; count], vec![0i16; count], vec![0i32; count]);
    let (mut longs, mut floats, mut doubles) =
        (vec![0i64; count], vec![0f32; count], vec![0f64; count]);
    let mut decode = |pixels| decode(codec, tile, pixels, scratch).is_ok();
    let found = [
        decode(PixelsMut::U8(&mut bytes)),
        decode(PixelsMut::I16(&mut shorts)),
        decode(PixelsMut::I32(&mut ints)),
        decode(PixelsMut::I64(&mut longs)),
        decode(PixelsMut::F32(&mut floats)),
        decode(PixelsMut::F64(&mut doubles)),
    ];
    let all = [
        Pixels::U8(&bytes),
        Pixels::I16(&shorts),
        Pixels::I32(&ints),
        Pixels::I64(&longs),
        Pixels::F32(&floats),
        Pixels::F64(&doubles),
    ];
    for (pixels, _) in all.into_iter().zip(found).filter(|&(_, is_decoded)| is_decoded) {
        encode_again(codec, tile, pixels, scratch);
    }
}

fn decode(
    codec: &dyn TileCodec,
    tile: &FuzzTile<'_>,
    pixels: PixelsMut<'_>,
    scratch: &mut CodecScratch,
) -> Result<(), CodecError> {
    let mut room = Tile { stream: tile.stream, shape: &tile.shape, pixels };
    let decoded = codec.decode(&mut room, scratch);
    if let Err(error) = &decoded {
        assert!(error.offset.is_none_or(|offset| offset <= tile.stream.len() as u64));
    }
    decoded
}

/// Pixels that a codec encodes are decoded to the same.
fn encode_again(
    codec: &dyn TileCodec,
    tile: &FuzzTile<'_>,
    pixels: Pixels<'_>,
    scratch: &mut CodecScratch,
) {
    let mut stream = Vec::new();
    let plain = PlainTile { shape: &tile.shape, pixels };
    if codec.encode(&plain, scratch, &mut stream).is_err() {
        return;
    }
    let again = FuzzTile { shape: tile.shape, form: tile.form, stream: &stream };
    macro_rules! same {
        ($($kind:ident $bits:expr;)+) => {
            match pixels {
                $(Pixels::$kind(pixels) => {
                    let mut back = vec![Default::default(); pixels.len()];
                    decode(codec, &again, PixelsMut::$kind(&mut back), scratch)
                        .expect("it was just encoded");
                    let is_same = pixels.iter().zip(&back).all(|(a, b)| $bits(*a) == $bits(*b));
                    assert!(is_same, "{pixels:?} became {back:?}");
                })+
            }
        };
    }
    same! {
        U8 u64::from;
        I16 i64::from;
        I32 i64::from;
        I64 i64::from;
        F32 f32::to_bits;
        F64 f64::to_bits;
    }
}

/// A file whose primary HDU is empty, so that the fuzzer begins at the extension.
pub fn file_of_extension(bytes: &[u8]) -> Vec<u8> {
    let cards = ["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0", "END"];
    let mut file: Vec<u8> =
        cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    file.resize(2880, b' ');
    file.extend_from_slice(bytes);
    file
}

/// The HDUs of a file, up to the first error.
pub fn walk(file: &[u8]) -> Vec<Hdu> {
    walk_as(file, ReadOptions::default())
}

/// As [`walk`]; no byte is read twice.
pub fn walk_as(file: &[u8], options: ReadOptions) -> Vec<Hdu> {
    let mut walker = Walker::new(options, file.len() as u64);
    let mut hdus = Vec::new();
    let mut read = 0;
    loop {
        match walker.step() {
            Ok(Step::Read { offset, bytes }) => {
                read += bytes;
                assert!(bytes > 0 && read <= file.len(), "bytes are read twice");
                walker.supply(&file[offset as usize..][..bytes]);
            }
            Ok(Step::Hdu(hdu)) => hdus.push(*hdu),
            Ok(Step::Done) | Err(_) => return hdus,
        }
    }
}
