//! Codecs of tiles: against slow twins, against ports of CFITSIO's own, and with damaged streams.

mod damaged;
mod goldens;
mod gzip;
mod hcompress;
mod headers;
mod pixels;
mod plio;
mod rice;
mod tables;
