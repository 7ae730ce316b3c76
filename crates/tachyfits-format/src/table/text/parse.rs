//! Fields to numbers, of what fields usually hold; `None` asks for the plain way ([`super::slow`]), also of what is no number.

use super::decimal;
use super::window::Window;

/// Numbers of this many digits fit 64 bits.
const MOST_DIGITS: usize = 19;

#[inline(always)]
pub(super) fn integer(field: &[u8]) -> Option<i64> {
    let mut window = Window::new(field);
    window.skip_blanks();
    if window.is_at_end() {
        return Some(0);
    }
    let minus = window.sign();
    let mut number = 0;
    let count = window.digits(&mut number);
    window.skip_blanks();
    if !window.is_at_end() || count == 0 || count >= MOST_DIGITS {
        return None;
    }
    let number = number as i64;
    Some(if minus { -number } else { number })
}

#[inline(always)]
pub(super) fn real(field: &[u8], decimals: u32) -> Option<f64> {
    let mut window = Window::new(field);
    window.skip_blanks();
    if window.is_at_end() {
        return Some(0.0);
    }
    let minus = window.sign();
    let mut number = 0;
    let mut count = window.digits(&mut number);
    let mut exponent = -i32::try_from(decimals).ok().filter(|decimals| *decimals < 1000)?;
    if window.peek() == b'.' {
        window.skip();
        let fraction = window.digits(&mut number);
        count += fraction;
        exponent = -(fraction as i32);
    }
    if count == 0 || count > MOST_DIGITS {
        return None;
    }
    if !window.is_at_end() {
        exponent += power(&mut window)?;
        window.skip_blanks();
        if !window.is_at_end() {
            return None;
        }
    }
    let value = decimal::to_f64(number, exponent)?;
    Some(if minus { -value } else { value })
}

/// The exponent after its letter or at its sign, if there is one.
#[inline(always)]
fn power(window: &mut Window<'_>) -> Option<i32> {
    match window.peek() {
        b'E' | b'D' | b'e' | b'd' => window.skip(),
        b'+' | b'-' => {}
        // What is no blank here is found by the caller.
        _ => return Some(0),
    }
    let minus = window.sign();
    let mut power = 0;
    let count = window.digits(&mut power);
    if !(1..=4).contains(&count) {
        return None;
    }
    Some(if minus { -(power as i32) } else { power as i32 })
}
