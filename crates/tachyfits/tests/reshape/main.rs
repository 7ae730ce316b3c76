//! Images in another shape against their slow twins: axes reordered, pixels binned, cuts along a path.

#[path = "../common/mod.rs"]
mod common;
mod cut;
mod made;
mod path;
mod rebin;
mod reorder;
mod written;
