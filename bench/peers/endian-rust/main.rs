//! The conversion of S. Eguchi 2013, section 3.4, in plain Rust: what this compiler makes of his algorithms.
//!
//! One request per line on stdin (flat JSON without escapes), one reply line on stdout, as in `../endian`, which says what they
//! mean. Each algorithm is one loop over `[u8; 8]`; the program is compiled for several processors (build.sh), and run.py takes
//! the one that TIER names.

use std::io::{BufRead, Write};
use std::time::Instant;

type Number = [u8; 8];

/// Bytes that an array may begin after a page, and where malloc has a large one begin.
const MOST_OFFSET: usize = 64;
const USUAL_OFFSET: usize = 16;
const PAGE: usize = 4096;

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

/// Adds a number, times an odd number of its own, to a sum modulo 2^64, which a wrong number changes.
fn add(sum: u64, (i, number): (usize, &Number)) -> u64 {
    sum.wrapping_add(u64::from_ne_bytes(*number).wrapping_mul(2 * i as u64 + 1))
}

/// The numbers at an offset from a page, and whether they are swapped now: each request swaps them back.
#[derive(Default)]
struct Held {
    memory: Vec<u8>,
    start: usize,
    bytes: usize,
    swapped: bool,
    fingerprints: [u64; 2],
    random: u64,
}

impl Held {
    /// Makes the numbers.
    fn make(&mut self, count: usize) {
        *self = Held { bytes: 8 * count, random: 20_130_012, ..Held::default() };
        self.memory = vec![0; self.bytes + PAGE + MOST_OFFSET];
        self.start = self.page() + USUAL_OFFSET;
        let mut sums = [0, 0];
        for (i, place) in self.numbers().iter_mut().enumerate() {
            *place = made(i);
            sums = [add(sums[0], (i, place)), add(sums[1], (i, &swap_bytes(*place)))];
        }
        self.fingerprints = sums;
    }

    /// Where the first page of the memory begins.
    fn page(&self) -> usize {
        self.memory.as_ptr().align_offset(PAGE)
    }

    fn numbers(&mut self) -> &mut [Number] {
        self.memory[self.start..self.start + self.bytes].as_chunks_mut().0
    }

    /// Moves the numbers to an offset from a page, the usual one or the next random one; says which.
    fn align(&mut self, random: bool) -> usize {
        let mut offset = USUAL_OFFSET;
        if random {
            self.random =
                self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            offset = (self.random >> 33) as usize % MOST_OFFSET;
        }
        let (old, new) = (self.start, self.page() + offset);
        if old != new {
            self.memory.copy_within(old..old + self.bytes, new);
            self.start = new;
        }
        offset
    }

    /// Counts the numbers that are not what was made; one by one only where their fingerprint is wrong.
    fn wrong(&mut self) -> usize {
        let (swapped, wanted) = (self.swapped, self.fingerprints[usize::from(self.swapped)]);
        let numbers = self.numbers();
        if numbers.iter().enumerate().fold(0, add) == wanted {
            return 0;
        }
        let expected = |i| if swapped { swap_bytes(made(i)) } else { made(i) };
        numbers.iter().enumerate().filter(|&(i, number)| expected(i) != *number).count()
    }
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
    if held.bytes != 8 * count {
        held.make(count);
    }
    let offset = held.align(value(line, "alignment") == Some("random"));
    let start = Instant::now();
    convert(held.numbers(), threads, conversion);
    let seconds = start.elapsed().as_secs_f64();
    held.swapped = !held.swapped;
    let (bytes, wrong) = (8 * count, held.wrong());
    format!(
        "{{\"seconds\": {seconds:.9}, \"bytes\": {bytes}, \"parts\": {{\"offset\": {offset}}}, \"answer\": {{\"wrong\": {wrong}}}}}"
    )
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
