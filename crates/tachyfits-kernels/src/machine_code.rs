//! Addresses of the machine code of each kernel, for each encoding and tier: `tests/vectorised` disassembles them to
//! prove that the kernels are vector code. The table is part of the crate and the test is separate, so that the
//! inspected code is the code that other crates link, compiled once for both. A program that does not use the table
//! does not contain it.

use crate::PixelType;
use crate::checksum;
use crate::decode::{self, FloatKernel};
use crate::elementwise::functions::{self, Reversed};
use crate::elementwise::{self, Map, Zip};
use crate::encode;
use crate::fold::{DecodedKernel, FoldKernel};
use crate::histogram::HistogramKernel;
use crate::integers;
use crate::isa::{self, Tier};
use crate::noise;
use crate::order_statistics::{CellKernel, DeviateKernel, SplitKernel};
use crate::quantised;
use crate::rows::{extrema_rows, moment_rows, slab, spectral_rows, sum_rows};
use crate::source::{ByteOrder, Encoding, Source, Visitor};
use crate::spectral::LineKernel;
use crate::stats;
use crate::stencil;
use crate::sum::{AllLanes, DefinedLanes, ExactKernel};

/// Required form of the arithmetic of a kernel's loops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoopShape {
    /// Accumulators in lanes: no loop has scalar floating-point arithmetic.
    Lanes,
    /// Accumulators in lanes, some of them in vectors of half the width.
    HalfLanes,
    /// Integer accumulators in lanes, for types that add up exactly.
    Integers,
    /// A flat loop over elements: besides the vector loop, the compiler adds one for the last few elements.
    Flat,
}

/// Input of a kernel, which determines the number of copies of its code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// Decoded pixels of any encoding.
    Source,
    /// Numbers to be stored as pixels of more than one byte: one copy per stored type.
    Stored,
    /// Native numbers: a single copy.
    Numbers,
}

/// A kernel to inspect: its name, its required form, and the address of its code for an encoding
/// and a tier.
pub struct Subject {
    /// Computed quantity.
    pub name: &'static str,
    /// Required form of its loops.
    pub shape: LoopShape,
    /// Encodings that have their own copy of the code.
    pub takes: Takes,
    /// Returns the address of the code; `None` without separate code, as on the scalar tier.
    pub address: fn(&Encoding, Tier) -> Option<usize>,
}

impl Subject {
    /// Whether the kernel has its own code for an encoding.
    pub fn concerns(&self, encoding: &Encoding) -> bool {
        let adds_exactly =
            matches!(encoding.pixel, PixelType::U8 | PixelType::I16 | PixelType::I32);
        let plain = encoding.scaling.is_none() && encoding.blank.is_none();
        match self.takes {
            Takes::Source => self.shape != LoopShape::Integers || (adds_exactly && plain),
            // The saturating conversion to 64-bit integers is scalar on every tier.
            Takes::Stored => {
                let wide = matches!(encoding.pixel, PixelType::I64 | PixelType::U64);
                *encoding == Encoding::plain(encoding.pixel) && encoding.pixel_bytes() > 1 && !wide
            }
            Takes::Numbers => *encoding == Encoding::plain(PixelType::F64),
        }
    }

    /// Whether the kernel only copies the bytes.
    pub fn has_no_arithmetic(&self, encoding: &Encoding) -> bool {
        let to = match self.name {
            "decoding to f64" => PixelType::F64,
            "decoding to f32" => PixelType::F32,
            _ => return false,
        };
        let scales = encoding.scaling.is_some();
        encoding.pixel == to && encoding.order == ByteOrder::Native && !scales
    }
}

/// Defines a table of subjects: each line has a kernel's name and its type for the source `S`.
macro_rules! subjects {
    ($($name:literal $shape:ident $Kernel:ty;)+) => {
        &[$(Subject {
            name: $name,
            shape: LoopShape::$shape,
            takes: Takes::Source,
            address: |encoding, tier| {
                struct Address(Tier);
                impl Visitor for Address {
                    type Output = Option<usize>;
                    fn visit<S: Source>(self, _: S) -> Option<usize> {
                        isa::address::<$Kernel>(self.0)
                    }
                }
                encoding.visit(Address(tier))
            },
        }),+]
    };
}

/// All kernels with hot loops that read a source.
pub const SUBJECTS: &[Subject] = subjects! {
    "sum of integers" Integers ExactKernel<'static, S>;
    "sum, all defined" Lanes FoldKernel<'static, S, AllLanes>;
    "sum" Lanes FoldKernel<'static, S, DefinedLanes>;
    "stats, first pass, all defined" Lanes stats::DecodeKernel<'static, S, AllLanes>;
    "stats, first pass" Lanes stats::DecodeKernel<'static, S, DefinedLanes>;
    "stats, second pass, all defined" Lanes DecodedKernel<'static, stats::SecondPass>;
    "stats, second pass" Lanes DecodedKernel<'static, stats::DefinedSecondPass>;
    "moments of rows" Lanes slab::SlabKernel<'static, S, moment_rows::MomentStep<'static>>;
    "sums of rows" Lanes slab::SlabKernel<'static, S, sum_rows::SumStep<'static>>;
    "extrema of rows" Lanes slab::SlabKernel<'static, S, extrema_rows::ExtremaStep<'static>>;
    "spectral sums of rows" Lanes slab::SlabKernel<'static, S, spectral_rows::SpectralStep<'static>>;
    "spectral sum of a line" Flat LineKernel<'static, S>;
    "histogram" Flat HistogramKernel<'static, S>;
    "counting about a range" Flat SplitKernel<'static>;
    "deviations" Flat DeviateKernel<'static>;
    "counting in cells" Flat CellKernel<'static>;
    "decoding to f64" Flat FloatKernel<'static, S, f64>;
    "decoding to f32" Flat FloatKernel<'static, S, f32>;
};

/// Defines the table of kernels without a source: each line has a kernel's name and its type, or one type per stored
/// type.
macro_rules! unsourced {
    ($($name:literal $shape:ident $takes:ident $address:expr;)+) => {
        &[$(Subject {
            name: $name,
            shape: LoopShape::$shape,
            takes: Takes::$takes,
            address: $address,
        }),+]
    };
}

/// All kernels that read native numbers or encode them as pixels.
pub const UNSOURCED: &[Subject] = unsourced! {
    "encoding" Flat Stored |encoding, tier| encode::address(encoding.pixel, tier);
    "encoding of native pixels" Flat Stored |encoding, tier| encode::native_address(encoding.pixel, tier);
    "moments of short integers" Integers Numbers |_, tier| integers::address(tier);
    "stats of f32, first pass" HalfLanes Numbers |_, tier| stats::single_address(tier);
    "decoding to native" Flat Stored |encoding, tier| decode::native_address(encoding.pixel, tier);
    "fields of many elements" Flat Stored |encoding, tier| crate::columns::runs::turning(encoding.pixel_bytes(), tier);
    "fields of many elements, past the caches" Flat Stored |encoding, tier| crate::columns::runs::streaming(encoding.pixel_bytes(), tier);
    "swapped fields" Flat Stored |encoding, tier| crate::columns::transfer::swapping(encoding.pixel_bytes(), tier);
    "encoding, division" Flat Numbers |_, tier| isa::address::<encode::Unscale<'static>>(tier);
    "encoding, widening" Flat Numbers |_, tier| isa::address::<encode::Widen<'static>>(tier);
    "encoding of f32 as they are" Flat Numbers |_, tier| isa::address::<encode::TurnSingles<'static>>(tier);
    "checksum" Integers Numbers |_, tier| isa::address::<checksum::AddWords<'static>>(tier);
    "integers of text" Integers Numbers |_, tier| crate::columns::digits::address(1, tier);
    "long integers of text" Integers Numbers |_, tier| crate::columns::digits::address(2, tier);
    "3 rows of f32" Flat Numbers |_, tier| isa::address::<stencil::FewRows<'static, f32, 3>>(tier);
    "3 rows of big-endian f32" Flat Numbers |_, tier| isa::address::<stencil::FewRows<'static, [u8; 4], 3>>(tier);
    "many rows of big-endian f32" Flat Numbers |_, tier| isa::address::<stencil::ManyRows<'static, [u8; 4]>>(tier);
    "3 rows of f64" Flat Numbers |_, tier| isa::address::<stencil::FewRows<'static, f64, 3>>(tier);
    "5 rows of f32" Flat Numbers |_, tier| isa::address::<stencil::FewRows<'static, f32, 5>>(tier);
    "5 rows of f64" Flat Numbers |_, tier| isa::address::<stencil::FewRows<'static, f64, 5>>(tier);
    "many rows of f32" Flat Numbers |_, tier| isa::address::<stencil::ManyRows<'static, f32>>(tier);
    "blocks of f64" Flat Numbers |_, tier| isa::address::<stencil::BlockRows<'static>>(tier);
    "many rows of f64" Flat Numbers |_, tier| isa::address::<stencil::ManyRows<'static, f64>>(tier);
    "Add" Flat Numbers |_, tier| isa::address::<Zip<'static, functions::Add>>(tier);
    "Subtract" Flat Numbers |_, tier| isa::address::<Zip<'static, functions::Subtract>>(tier);
    "Multiply" Flat Numbers |_, tier| isa::address::<Zip<'static, functions::Multiply>>(tier);
    "Divide" Flat Numbers |_, tier| isa::address::<Zip<'static, functions::Divide>>(tier);
    "Minimum" Flat Numbers |_, tier| isa::address::<Zip<'static, functions::Minimum>>(tier);
    "Maximum" Flat Numbers |_, tier| isa::address::<Zip<'static, functions::Maximum>>(tier);
    "Less" Flat Numbers |_, tier| isa::address::<Zip<'static, functions::Less>>(tier);
    "NotEqual" Flat Numbers |_, tier| isa::address::<Zip<'static, functions::NotEqual>>(tier);
    "And" Flat Numbers |_, tier| isa::address::<Zip<'static, functions::And>>(tier);
    "Divide, reversed" Flat Numbers |_, tier| isa::address::<Zip<'static, Reversed<functions::Divide>>>(tier);
    "Sqrt" Flat Numbers |_, tier| isa::address::<Map<'static, functions::Sqrt>>(tier);
    "IsNan" Flat Numbers |_, tier| isa::address::<Map<'static, functions::IsNan>>(tier);
    "UnifyNan" Flat Numbers |_, tier| isa::address::<Map<'static, functions::UnifyNan>>(tier);
    "dequantising to f32" Flat Numbers |_, tier| isa::address::<quantised::Dequantise<'static, f32, &'static [f32], true>>(tier);
    "dequantising to f64" Flat Numbers |_, tier| isa::address::<quantised::Dequantise<'static, f64, &'static [f32], true>>(tier);
    "dequantising without dither" Flat Numbers |_, tier| isa::address::<quantised::Dequantise<'static, f32, quantised::NoRandom, true>>(tier);
    "quantising f32" Flat Numbers |_, tier| isa::address::<quantised::Quantise<'static, f32, &'static [f32]>>(tier);
    "quantising f64" Flat Numbers |_, tier| isa::address::<quantised::Quantise<'static, f64, &'static [f32]>>(tier);
    "differences of f32 for noise" Flat Numbers |_, tier| isa::address::<noise::DifferenceKernel<'static, f32>>(tier);
    "range of f32 for noise" Flat Numbers |_, tier| isa::address::<noise::RangeKernel<'static, f32>>(tier);
    "select" Flat Numbers |_, tier| isa::address::<elementwise::Select<'static>>(tier);
    "rounding to f32" Flat Numbers |_, tier| isa::address::<elementwise::Round<'static>>(tier);
};

/// Kernel that the test must reject: a single accumulator, whose order of addition cannot be vectorised.
struct OneByOne<S> {
    bytes: &'static [u8],
    source: S,
}

impl<S: Source> isa::Kernel for OneByOne<S> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut sum = 0.0;
        for chunk in self.bytes.chunks_exact(S::CHUNK) {
            for x in self.source.lanes(chunk) {
                sum += x;
            }
        }
        sum
    }
}

/// Negative control: kernels that the test must reject.
pub const CONTROL: &[Subject] = subjects! { "one accumulator" Lanes OneByOne<S>; };

/// Returns the encodings to inspect: every pixel type in both byte orders, plain and scaled with BLANK.
pub fn encodings() -> Vec<Encoding> {
    let mut encodings = Vec::new();
    for pixel in PixelType::ALL {
        for order in [ByteOrder::BigEndian, ByteOrder::Native] {
            encodings.push(Encoding { order, ..Encoding::plain(pixel) });
            encodings.push(Encoding { pixel, order, scaling: Some((0.5, 1.0)), blank: Some(1) });
        }
    }
    encodings.retain(Encoding::is_supported);
    encodings
}
