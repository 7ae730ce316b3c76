//! Editing: headers and HDUs, against a twin that does the same to a list of HDUs and writes the whole file.

#[path = "../common/mod.rs"]
mod common;

mod hdus;
