//! The conversion of S. Eguchi 2013, section 3.4, in plain Rust: what this compiler makes of his algorithms.
//!
//! One request per line on stdin (flat JSON without escapes), one reply line on stdout, as in `../endian`. Each algorithm is one
//! loop over `[u8; 8]`, compiled for the processors of its `tier`: `baseline` (x86-64), `avx2` or `avx512`.

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

/// The loop over an array for each tier; `no_mangle` keeps its name for a look at the machine code.
macro_rules! convert {
    ($algorithm:ident, $baseline:ident, $avx2:ident, $avx512:ident) => {
        #[inline(never)]
        #[unsafe(no_mangle)]
        fn $baseline(numbers: &mut [Number]) {
            numbers.iter_mut().for_each(|number| *number = $algorithm(*number));
        }

        #[cfg(target_arch = "x86_64")]
        #[inline(never)]
        #[unsafe(no_mangle)]
        #[target_feature(enable = "avx2")]
        fn $avx2(numbers: &mut [Number]) {
            numbers.iter_mut().for_each(|number| *number = $algorithm(*number));
        }

        #[cfg(target_arch = "x86_64")]
        #[inline(never)]
        #[unsafe(no_mangle)]
        #[target_feature(enable = "avx512bw,avx512vl")]
        fn $avx512(numbers: &mut [Number]) {
            numbers.iter_mut().for_each(|number| *number = $algorithm(*number));
        }
    };
}

convert!(byte_shuffle, byte_shuffle_baseline, byte_shuffle_avx2, byte_shuffle_avx512);
convert!(bit_shift, bit_shift_baseline, bit_shift_avx2, bit_shift_avx512);
convert!(swap_bytes, swap_bytes_baseline, swap_bytes_avx2, swap_bytes_avx512);

/// The loop for an algorithm and a tier; None where this machine cannot run it.
fn conversion(algorithm: &str, tier: &str) -> Option<fn(&mut [Number])> {
    #[cfg(target_arch = "x86_64")]
    {
        let (avx2, avx512) = (is_x86_feature_detected!("avx2"), is_x86_feature_detected!("avx512bw"));
        // SAFETY: the processor has the instructions, as each arm asks first.
        let found: Option<fn(&mut [Number])> = match (algorithm, tier) {
            ("byte shuffle", "avx2") if avx2 => Some(|numbers| unsafe { byte_shuffle_avx2(numbers) }),
            ("bit shift", "avx2") if avx2 => Some(|numbers| unsafe { bit_shift_avx2(numbers) }),
            ("swap_bytes", "avx2") if avx2 => Some(|numbers| unsafe { swap_bytes_avx2(numbers) }),
            ("byte shuffle", "avx512") if avx512 => Some(|numbers| unsafe { byte_shuffle_avx512(numbers) }),
            ("bit shift", "avx512") if avx512 => Some(|numbers| unsafe { bit_shift_avx512(numbers) }),
            ("swap_bytes", "avx512") if avx512 => Some(|numbers| unsafe { swap_bytes_avx512(numbers) }),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    match (algorithm, tier) {
        ("byte shuffle", "baseline") => Some(byte_shuffle_baseline),
        ("bit shift", "baseline") => Some(bit_shift_baseline),
        ("swap_bytes", "baseline") => Some(swap_bytes_baseline),
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
    let (algorithm, tier) = (value(line, "algorithm").unwrap_or(""), value(line, "tier").unwrap_or("baseline"));
    let Some(conversion) = conversion(algorithm, tier) else {
        return format!("{{\"unsupported\": \"no {algorithm} for {tier} on this processor\"}}");
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
