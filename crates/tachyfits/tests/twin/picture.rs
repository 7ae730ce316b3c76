//! Random small images of every kind, and a twin of the decoder.

use proptest::prelude::*;
use tachyfits::{AxisRange, Image, Section};

use crate::common::{Numbers, fits, image};

/// BITPIX, offset of the unsigned and signed-byte conventions, and text of BZERO.
const KINDS: [(i64, i128, &str); 10] = [
    (8, 0, ""),
    (8, -128, "-128"),
    (16, 0, ""),
    (16, 1 << 15, "32768"),
    (32, 0, ""),
    (32, 1 << 31, "2147483648"),
    (64, 0, ""),
    (64, 1 << 63, "9.223372036854775808E18"),
    (-32, 0, ""),
    (-64, 0, ""),
];

/// A stored number.
#[derive(Clone, Copy, Debug)]
pub enum Stored {
    Integer(i128),
    Single(f32),
    Double(f64),
}

/// An image and its properties for the twin.
#[derive(Clone, Debug)]
pub struct Picture {
    pub axes: Vec<u64>,
    pub bitpix: i64,
    /// Offset of the unsigned and signed-byte conventions.
    pub offset: i128,
    pub scaling: Option<(f64, f64)>,
    pub blank: Option<i64>,
    pub data: Vec<u8>,
    pub seed: u64,
}

impl Picture {
    pub fn new(kind: usize, axes: &[u64], scaled: bool, infinite: bool, seed: u64) -> Picture {
        let (bitpix, offset, _) = KINDS[kind];
        let mut numbers = Numbers(seed);
        let blank = (bitpix > 0 && numbers.one_in(2)).then_some(match bitpix {
            8 => 200,
            16 => -32768,
            32 => 7,
            _ => -1,
        });
        let scaling = (scaled && offset == 0).then_some((0.1, 3.25));
        let count = axes.iter().product::<u64>() as usize;
        let mut picture =
            Picture { axes: axes.to_vec(), bitpix, offset, scaling, blank, data: Vec::new(), seed };
        for _ in 0..count {
            picture.push_pixel(&mut numbers, infinite);
        }
        picture
    }

    fn push_pixel(&mut self, numbers: &mut Numbers, infinite: bool) {
        let size = self.bitpix.unsigned_abs() as usize / 8;
        if self.bitpix > 0 {
            let integer = match self.blank {
                Some(blank) if numbers.one_in(5) => blank,
                // Few distinct numbers, so that extremes occur several times; many, so that their bits
                // matter.
                _ if numbers.one_in(2) => numbers.below(4) as i64,
                _ => numbers.next() as i64,
            };
            self.data.extend_from_slice(&integer.to_be_bytes()[8 - size..]);
            return;
        }
        let number = match numbers.below(12) {
            0 => -0.0,
            1 => 0.0,
            2 if infinite => f64::INFINITY,
            3 if infinite && numbers.one_in(3) => f64::NEG_INFINITY,
            4 => 1e20,
            _ => numbers.next() as i32 as f64 / 1048576.0,
        };
        // NaN with payloads, quiet and signalling, of either sign.
        let nan = numbers.one_in(6).then(|| numbers.next() | 1);
        match (self.bitpix, nan) {
            (-32, None) => self.data.extend((number as f32).to_be_bytes()),
            (-32, Some(nan)) => self.data.extend((nan as u32 | 0x7f80_0000).to_be_bytes()),
            (_, None) => self.data.extend(number.to_be_bytes()),
            (_, Some(nan)) => self.data.extend((nan | 0x7ff0_0000_0000_0000).to_be_bytes()),
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let kind = KINDS.iter().find(|kind| (kind.0, kind.1) == (self.bitpix, self.offset));
        let mut cards = Vec::new();
        if let Some((scale, zero)) = self.scaling {
            cards.extend([format!("BSCALE  = {scale:>20}"), format!("BZERO   = {zero:>20}")]);
        } else if let Some((_, _, zero)) = kind.filter(|kind| !kind.2.is_empty()) {
            cards.push(format!("BZERO   = {zero:>30}"));
        }
        cards.extend(self.blank.map(|blank| format!("BLANK   = {blank:>20}")));
        fits(self.bitpix, &self.axes, &cards, &self.data)
    }

    pub fn image(&self) -> Image {
        image(self.bytes())
    }

    pub fn pixel_bytes(&self, pixel: u64) -> &[u8] {
        let size = self.bitpix.unsigned_abs() as usize / 8;
        &self.data[pixel as usize * size..][..size]
    }

    /// Returns the stored number of a pixel, without conventions.
    pub fn stored(&self, pixel: u64) -> Stored {
        let bytes = self.pixel_bytes(pixel);
        match self.bitpix {
            8 => Stored::Integer(bytes[0].into()),
            16 => Stored::Integer(i16::from_be_bytes(bytes.try_into().unwrap()).into()),
            32 => Stored::Integer(i32::from_be_bytes(bytes.try_into().unwrap()).into()),
            64 => Stored::Integer(i64::from_be_bytes(bytes.try_into().unwrap()).into()),
            -32 => Stored::Single(f32::from_be_bytes(bytes.try_into().unwrap())),
            _ => Stored::Double(f64::from_be_bytes(bytes.try_into().unwrap())),
        }
    }

    /// Returns the physical value of a pixel; `None` if it is undefined.
    pub fn value(&self, pixel: u64) -> Option<f64> {
        let plain = match self.stored(pixel) {
            Stored::Integer(x) if self.blank.is_some_and(|blank| x == blank.into()) => return None,
            Stored::Integer(x) => (x + self.offset) as f64,
            Stored::Single(x) => f64::from(x),
            Stored::Double(x) => x,
        };
        let value = self.scaling.map_or(plain, |(scale, zero)| zero + scale * plain);
        (!value.is_nan()).then_some(value)
    }

    /// Returns a random section: the whole image, or a part with steps, single pixels, backward axes, and
    /// rarely empty.
    pub fn section(&self, image: &Image) -> Section {
        let mut numbers = Numbers(!self.seed);
        if numbers.one_in(4) {
            return image.whole();
        }
        let ranges: Vec<_> = self.axes.iter().map(|&axis| any_range(axis, &mut numbers)).collect();
        image.section(&ranges).expect("the section lies within the image")
    }
}

fn any_range(length: u64, numbers: &mut Numbers) -> AxisRange {
    match numbers.below(24) {
        0 => return AxisRange { first: numbers.below(length + 1), count: 0, step: -1 },
        1..8 => return AxisRange { first: 0, count: length, step: 1 },
        8..10 => return AxisRange { first: length - 1, count: length, step: -1 },
        // The step of a single pixel may be any number.
        10 => return AxisRange { first: numbers.below(length), count: 1, step: i64::MIN },
        _ => {}
    }
    let first = numbers.below(length);
    let step: i64 = [-3, -2, -1, 1, 1, 1, 2, 4][numbers.below(8) as usize];
    let ahead = if step < 0 { first } else { length - 1 - first };
    AxisRange { first, count: 1 + numbers.below(ahead / step.unsigned_abs() + 1), step }
}

/// Returns the pixels of a section in the file, first axis fastest, with the step along each axis.
pub fn walk(axes: &[u64], section: &Section) -> Vec<(Vec<u64>, u64)> {
    let mut pixels = vec![(Vec::new(), 0)];
    let mut stride: u64 = axes.iter().product();
    for (range, length) in section.ranges().iter().zip(axes).rev() {
        stride /= (*length).max(1);
        let outer = std::mem::take(&mut pixels);
        for (steps, pixel) in outer {
            for step in 0..range.count {
                let index = i128::from(range.first) + i128::from(range.step) * i128::from(step);
                let steps = [vec![step], steps.clone()].concat();
                pixels.push((steps, pixel + stride * index as u64));
            }
        }
    }
    pixels
}

/// Returns a random small picture, with infinite pixels only if `infinite`.
pub fn pictures(infinite: bool) -> impl Strategy<Value = Picture> {
    let axes = prop::collection::vec(prop_oneof![Just(1u64), 1u64..6, 1u64..30], 1..=5);
    let axes = axes.prop_map(|mut axes| {
        // An axis is long only if the others are short.
        while axes.iter().product::<u64>() > 3000 {
            let longest = axes.iter().position(|axis| Some(axis) == axes.iter().max()).unwrap();
            axes[longest] /= 2;
        }
        axes
    });
    (0..KINDS.len(), axes, any::<bool>(), any::<bool>(), any::<u64>()).prop_map(
        move |(kind, axes, scaled, infinities, seed)| {
            Picture::new(kind, &axes, scaled, infinite && infinities, seed)
        },
    )
}
