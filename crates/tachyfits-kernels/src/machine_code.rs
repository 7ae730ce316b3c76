//! Where the machine code of each kernel begins, for each encoding and tier: what `tests/vectorised` disassembles to
//! prove that the kernels are vector code. The table is part of the crate, and the test an outsider, so that what the
//! test looks at is the code that others link, and is compiled once for both. A program that does not ask for it does
//! not contain it.

use crate::PixelType;
use crate::decode::FloatKernel;
use crate::fold::{DecodedKernel, FoldKernel};
use crate::histogram::HistogramKernel;
use crate::isa::{self, Tier};
use crate::rows::{self, RowKernel, moments};
use crate::source::{ByteOrder, Encoding, Source, Visitor};
use crate::spectral::LineKernel;
use crate::stats;
use crate::sum::{AllLanes, DefinedLanes, ExactKernel};

/// What the arithmetic of a kernel's loops must look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Accumulators in lanes: no loop has floating-point arithmetic on single numbers.
    Lanes,
    /// Accumulators of integers in lanes, for the types that add up exactly.
    Integers,
    /// A flat loop over elements: beside the vector loop the compiler leaves one for the last few elements.
    Flat,
}

/// A kernel to be looked at: its name, its shape, and where its code for an encoding and a tier begins.
pub struct Subject {
    /// What it computes.
    pub name: &'static str,
    /// What its loops must look like.
    pub shape: Shape,
    /// The first byte of its code; `None` where there is none, as on the scalar tier.
    pub address: fn(&Encoding, Tier) -> Option<usize>,
}

impl Subject {
    /// Whether there is such a kernel for an encoding.
    pub fn concerns(&self, encoding: &Encoding) -> bool {
        let adds_exactly = encoding.pixel == PixelType::I32;
        let plain = encoding.scaling.is_none() && encoding.blank.is_none();
        self.shape != Shape::Integers || (adds_exactly && plain)
    }

    /// Whether it moves the bytes as they are.
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

/// Makes the table of subjects: a line names a kernel and its type for the source `S`.
macro_rules! subjects {
    ($($name:literal $shape:ident $Kernel:ty;)+) => {
        &[$(Subject {
            name: $name,
            shape: Shape::$shape,
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

/// Every kernel whose loops are hot.
pub const SUBJECTS: &[Subject] = subjects! {
    "sum of integers" Integers ExactKernel<'static, S>;
    "sum, all defined" Lanes FoldKernel<'static, S, AllLanes>;
    "sum" Lanes FoldKernel<'static, S, DefinedLanes>;
    "stats, first pass, all defined" Lanes stats::DecodeKernel<'static, S, AllLanes>;
    "stats, first pass" Lanes stats::DecodeKernel<'static, S, DefinedLanes>;
    "stats, second pass, all defined" Lanes DecodedKernel<'static, stats::SecondPass>;
    "stats, second pass" Lanes DecodedKernel<'static, stats::DefinedSecondPass>;
    "moments of rows, first pass" Lanes moments::ColumnKernel<'static, S, AllLanes>;
    "moments of rows, second pass" Lanes moments::ColumnKernel<'static, S, moments::SecondPass>;
    "sums of rows" Flat RowKernel<'static, S, rows::SumStep<'static>>;
    "extrema of rows" Flat RowKernel<'static, S, rows::extrema::ExtremaStep<'static>>;
    "spectral sums of rows" Flat RowKernel<'static, S, rows::spectral::SpectralStep<'static>>;
    "spectral sum of a line" Flat LineKernel<'static, S>;
    "histogram" Flat HistogramKernel<'static, S>;
    "decoding to f64" Flat FloatKernel<'static, S, f64>;
    "decoding to f32" Flat FloatKernel<'static, S, f32>;
};

/// The kernel that a reviewer must not let pass: one accumulator, which fixes an order that no vector can keep.
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

/// One that the test must find fault with.
pub const CONTROL: &[Subject] = subjects! { "one accumulator" Lanes OneByOne<S>; };

/// Encodings to look at: every pixel type in both byte orders, plain and scaled with BLANK.
pub fn encodings() -> Vec<Encoding> {
    let mut found = Vec::new();
    for pixel in PixelType::ALL {
        for order in [ByteOrder::BigEndian, ByteOrder::Native] {
            found.push(Encoding { order, ..Encoding::plain(pixel) });
            found.push(Encoding { pixel, order, scaling: Some((0.5, 1.0)), blank: Some(1) });
        }
    }
    found.retain(Encoding::is_supported);
    found
}
