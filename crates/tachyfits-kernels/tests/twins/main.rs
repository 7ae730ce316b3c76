//! Every kernel against its slow twin, for every pixel type, byte order, scaling and BLANK, on every tier of this
//! machine: the bits must be equal. Further tests check what twins cannot show: accuracy against exact arithmetic, and
//! merging.

mod accuracy;
mod checksum;
mod columns;
mod content;
mod decode;
mod elementwise;
mod encode;
mod fit;
mod merge;
mod noise;
mod nulls;
mod order;
mod quantised;
mod reals;
mod rice_lanes;
mod rows;
mod stencil;
mod tiers;
mod transpose;
mod values;
mod whole;
mod wide_integers;
