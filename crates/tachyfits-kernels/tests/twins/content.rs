//! Inputs of the twin tests: every encoding, and pixels of many kinds at any alignment.

use proptest::prelude::*;
use tachyfits_kernels::{ByteOrder, Encoding, LANES, LEAF_PIXELS, PixelType, Tier};

/// Stored value that is BLANK, if there is one; it fits every integer type, and as a byte it is -99 + 256.
const BLANKS: [i64; 2] = [-99, 157];

/// Scalings that occur in FITS files, followed by unusual ones that must work too.
const SCALINGS: [(f64, f64); 9] = [
    (0.25, 100.0),
    (-3.7e-4, 1e5),
    (1.0, -0.0),
    (7.5e300, 0.0),
    (0.0, 5.0),
    (0.0, -0.0),
    (f64::INFINITY, 1.0),
    (1.0, f64::NEG_INFINITY),
    (f64::NAN, 0.0),
];

/// Returns every pixel type in both byte orders: plain, with BLANK, scaled, and both. `scaling` indexes [`SCALINGS`].
pub fn encodings(scaling: usize) -> Vec<Encoding> {
    let mut result = Vec::new();
    for pixel in PixelType::ALL {
        let signed = !matches!(pixel, PixelType::U8 | PixelType::I8);
        let blank = BLANKS[usize::from(!signed)];
        for order in [ByteOrder::BigEndian, ByteOrder::Native] {
            for scaling in [None, Some(SCALINGS[scaling])] {
                for blank in [None, Some(blank)] {
                    result.push(Encoding { pixel, order, scaling, blank });
                }
            }
        }
    }
    result.retain(Encoding::is_supported);
    result
}

/// Generates the index of a scaling; half of them are usual ones.
pub fn any_scaling() -> impl Strategy<Value = usize> {
    prop_oneof![0..2usize, 2..SCALINGS.len()]
}

/// Returns every tier of this machine, or the one that the environment forces.
pub fn tiers() -> Vec<Tier> {
    match std::env::var_os("TACHYFITS_TIER") {
        Some(_) => vec![Tier::current()],
        None => Tier::available(),
    }
}

/// Kind of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mix {
    /// All pixels are defined and of similar size.
    Tame,
    /// Like `Tame`, but a few pixels are undefined.
    Holes,
    /// Nearly all pixels are undefined.
    Sparse,
    /// No pixel is defined.
    Undefined,
    /// Any bits: NaN payloads, infinities, subnormals, extremes.
    Wild,
    /// Zeros of both signs, some undefined pixels, few other numbers.
    Zeros,
    /// Like `Tame` with one infinity, or one extreme integer.
    OneExtreme,
}

/// Description of pixels, independent of the encoding, so that one description serves all encodings.
#[derive(Clone, Debug)]
pub struct Content {
    pub pixels: usize,
    pub mix: Mix,
    pub seed: u64,
    /// Offset of the first byte from vector alignment.
    pub shift: usize,
}

/// Returns a configuration with `count` cases per property; one case under Miri, which is slow.
pub fn cases(count: u32) -> ProptestConfig {
    ProptestConfig::with_cases(if cfg!(miri) { 1 } else { count })
}

/// Generates lengths near the boundaries of chunks, runs and leaves, or any length.
fn lengths(leaves: usize) -> impl Strategy<Value = usize> {
    let edges = [0, 1, 2, LANES - 1, LANES, LANES + 1, 255, 256, 257];
    let leaf = [LEAF_PIXELS - 1, LEAF_PIXELS, LEAF_PIXELS + 1];
    prop_oneof![
        prop::sample::select(edges.to_vec()),
        prop::sample::select(leaf.to_vec()),
        0..LEAF_PIXELS,
        (0..=leaves * LEAF_PIXELS),
    ]
    .prop_map(|length| if cfg!(miri) { length % 300 } else { length })
}

fn mixes() -> impl Strategy<Value = Mix> {
    use Mix::*;
    prop::sample::select(vec![Tame, Holes, Sparse, Undefined, Wild, Zeros, OneExtreme])
}

/// Generates any content of at most `leaves` leaves.
pub fn contents(leaves: usize) -> impl Strategy<Value = Content> {
    let parts = (lengths(leaves), mixes(), any::<u64>(), 0..9usize);
    parts.prop_map(|(pixels, mix, seed, shift)| Content { pixels, mix, seed, shift })
}

/// Bytes that begin `shift` bytes into an allocation.
pub struct Shifted {
    bytes: Vec<u8>,
    shift: usize,
}

impl std::ops::Deref for Shifted {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[self.shift..]
    }
}

impl Content {
    /// Returns the bytes of these pixels in an encoding.
    pub fn bytes(&self, encoding: &Encoding) -> Shifted {
        let mut random = Random(self.seed | 1);
        let extreme_at = random.below(self.pixels.max(1) as u64) as usize;
        let mut bytes = vec![0; self.shift];
        for index in 0..self.pixels {
            let mut pixel = self.pixel(&mut random, encoding, index == extreme_at);
            if encoding.order == ByteOrder::Native && cfg!(target_endian = "little") {
                pixel.reverse();
            }
            bytes.extend(pixel);
        }
        Shifted { bytes, shift: self.shift }
    }

    /// Returns one pixel, most significant byte first.
    fn pixel(&self, random: &mut Random, encoding: &Encoding, extreme: bool) -> Vec<u8> {
        let class = random.below(16);
        let undefined = match self.mix {
            Mix::Undefined => true,
            Mix::Sparse => class != 0,
            Mix::Holes | Mix::Zeros => class == 0,
            _ => false,
        };
        let extreme =
            (extreme && self.mix == Mix::OneExtreme) || (self.mix == Mix::Wild && class == 1);
        if encoding.pixel.is_float() {
            let x = self.float(random, undefined, extreme);
            return match encoding.pixel {
                PixelType::F32 if self.mix == Mix::Wild => {
                    (random.next() as u32).to_be_bytes().to_vec()
                }
                PixelType::F32 => (x as f32).to_be_bytes().to_vec(),
                _ => x.to_be_bytes().to_vec(),
            };
        }
        let bytes = encoding.pixel_bytes();
        let integer = match self.mix {
            _ if undefined => encoding.blank.unwrap_or(-99),
            _ if extreme => [i64::MIN, i64::MAX][random.below(2) as usize] >> (64 - 8 * bytes),
            Mix::Wild => random.next() as i64,
            Mix::Zeros => random.below(2) as i64,
            _ => random.below(60) as i64,
        };
        integer.to_be_bytes()[8 - bytes..].to_vec()
    }

    fn float(&self, random: &mut Random, undefined: bool, extreme: bool) -> f64 {
        const EXTREMES: [f64; 6] =
            [f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324];
        let sign = [1.0, -1.0][random.below(2) as usize];
        match self.mix {
            _ if undefined => f64::NAN.copysign(sign),
            _ if extreme => EXTREMES[random.below(6) as usize],
            Mix::Wild => f64::from_bits(random.next()),
            Mix::Zeros => 0.0 * sign,
            _ => sign * random.below(1 << 40) as f64 / 1e9,
        }
    }
}

/// A small generator (xorshift64*, Vigna 2016), so that proptest only shrinks the few numbers of a description.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }
}

/// Returns the bits of a float, with one pattern for all NaN, because the payload of a NaN is unspecified.
pub fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

/// Returns [`bits`] of many floats.
pub fn all_bits<'a>(x: impl IntoIterator<Item = &'a f64>) -> Vec<u64> {
    x.into_iter().map(|&x| bits(x)).collect()
}
