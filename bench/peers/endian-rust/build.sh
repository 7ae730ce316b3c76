#!/bin/sh
# The program for each kind of processor, in the folder that the first word names.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
RUSTC_VERSION="$(rustc --version) -O"
export RUSTC_VERSION
rustc --edition 2024 -O -o "$1/endian-rust" "$here/main.rs"
if [ "$(uname -m)" = x86_64 ]; then
    rustc --edition 2024 -O -C target-feature=+avx2 -o "$1/endian-rust-avx2" "$here/main.rs"
    rustc --edition 2024 -O -C target-feature=+avx512bw,+avx512vl -o "$1/endian-rust-avx512" "$here/main.rs"
fi
