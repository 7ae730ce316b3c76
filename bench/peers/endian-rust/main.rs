//! The conversion of S. Eguchi 2013, section 3.4, in plain Rust: what this compiler makes of his algorithms.
//!
//! One request per line on stdin (flat JSON without escapes), one reply line on stdout, as in `../endian`. Each algorithm is one
//! loop over `[u8; 8]`; the program is compiled for several processors (build.sh), and run.sh takes the one that TIER names.

use std::io::{BufRead, Write};
use std::time::Instant;

type Number = [u8; 8];

fn byte_shuffle(mut number: Number) -> Number {
    number.swap(0, 7);
    number.swap(1, 6);
    number.swap(2, 5);
    number.swap(3, 4);
    number
}

fn bit_shift(number: Number) -> Number {
    let a = u64::from_ne_bytes(number);
    let swapped = (a & 0x0000_0000_0000_00FF) << 56
        | (a & 0x0000_0000_0000_FF00) << 40
        | (a & 0x0000_0000_00FF_0000) << 24
        | (a & 0x0000_0000_FF00_0000) << 8
        | (a & 0x0000_00FF_0000_0000) >> 8
        | (a & 0x0000_FF00_0000_0000) >> 24
        | (a & 0x00FF_0000_0000_0000) >> 40
        | (a & 0xFF00_0000_0000_0000) >> 56;
    swapped.to_ne_bytes()
}

fn swap_bytes(number: Number) -> Number {
    u64::from_ne_bytes(number).swap_bytes().to_ne_bytes()
}

/// A loop over an array, out of line for a look at its machine code.
macro_rules! convert {
    ($name:ident, $algorithm:ident) => {
        #[inline(never)]
        fn $name(numbers: &mut [Number]) {
            numbers.iter_mut().for_each(|number| *number = $algorithm(*number));
        }
    };
}

convert!(convert_byte_shuffle, byte_shuffle);
convert!(convert_bit_shift, bit_shift);
convert!(convert_swap_bytes, swap_bytes);

/// The loop of an algorithm.
fn conversion(algorithm: &str) -> Option<fn(&mut [Number])> {
    match algorithm {
        "byte shuffle" => Some(convert_byte_shuffle),
        "bit shift" => Some(convert_bit_shift),
        "swap_bytes" => Some(convert_swap_bytes),
        _ => None,
    }
}

/// Number `i` of the array in the machine's order: a real from -1000 to 1000 of 32 bits.
fn made(i: usize) -> Number {
    let mut bits = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (-1000.0 + 2000.0 * ((bits >> 32) as f64 / 4_294_967_295.0)).to_ne_bytes()
}

/// Converts with that many threads, each an equal share.
fn convert(numbers: &mut [Number], threads: usize, conversion: fn(&mut [Number])) {
    let share = numbers.len().div_ceil(threads).next_multiple_of(8);
    std::thread::scope(|scope| {
        let mut shares = numbers.chunks_mut(share);
        let first = shares.next();
        shares.for_each(|share| {
            scope.spawn(move || conversion(share));
        });
        first.into_iter().for_each(conversion);
    });
}

/// The value of a key in a line of flat JSON: a text without its quotes, or all up to a comma or brace.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{key}\": "))?;
    match rest.strip_prefix('"') {
        Some(text) => text.split('"').next(),
        None => rest.split([',', '}']).next(),
    }
}

/// The numbers, and whether they are swapped now: each request swaps them back.
#[derive(Default)]
struct Held {
    numbers: Vec<Number>,
    swapped: bool,
}

/// Answers one request.
fn reply(line: &str, held: &mut Held) -> String {
    let number = |key| value(line, key).and_then(|text| text.trim().parse::<usize>().ok());
    let algorithm = value(line, "algorithm").unwrap_or("");
    let Some(conversion) = conversion(algorithm) else {
        return format!("{{\"unsupported\": \"there is no algorithm {algorithm}\"}}");
    };
    let (Some(count), Some(threads @ 1..)) = (number("numbers"), number("threads")) else {
        return "{\"error\": \"invalid request: expected numbers and threads\"}".into();
    };
    if held.numbers.len() != count {
        *held = Held { numbers: (0..count).map(made).collect(), swapped: false };
    }
    let start = Instant::now();
    convert(&mut held.numbers, threads, conversion);
    let seconds = start.elapsed().as_secs_f64();
    held.swapped = !held.swapped;
    let expected = |i| if held.swapped { swap_bytes(made(i)) } else { made(i) };
    let wrong = held.numbers.iter().enumerate().filter(|&(i, number)| expected(i) != *number).count();
    format!("{{\"seconds\": {seconds:.9}, \"bytes\": {}, \"answer\": {{\"wrong\": {wrong}}}}}", 8 * count)
}

fn main() {
    if std::env::args().any(|word| word == "--version") {
        println!("{}", option_env!("RUSTC_VERSION").unwrap_or("rustc"));
        return;
    }
    let mut held = Held::default();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        println!("{}", reply(&line, &mut held));
        std::io::stdout().flush().expect("the answer is read");
    }
}
