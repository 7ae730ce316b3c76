//! Compares reshaped images with slow twins: permuted axes, binned pixels and cuts along a path.

#[path = "../common/mod.rs"]
mod common;
mod cut;
mod made;
mod path;
mod rebin;
mod reorder;
mod written;
