//! Compares the engine with a slow twin that decodes one pixel at a time and computes everything from its
//! definition.

#[path = "../common/mod.rs"]
mod common;
mod large;
mod model;
mod order;
mod picture;
mod pixels;
mod reductions;
mod regions;
mod robust;
mod spectra;
