//! Codecs of tiles: compared with slow implementations and with ports of CFITSIO's, and with
//! damaged streams.

mod damaged;
mod goldens;
mod gzip;
mod hcompress;
mod headers;
mod pixels;
mod plio;
mod rice;
mod tables;
