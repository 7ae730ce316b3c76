//! Checks whether the text of a field is a number as the Standard defines it (section 7.2.5).
//! Stricter than reading, which accepts any unambiguous number.

/// Removes leading and trailing blanks.
fn trimmed(mut field: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] = field {
        field = rest;
    }
    while let [rest @ .., b' '] = field {
        field = rest;
    }
    field
}

fn without_sign(text: &[u8]) -> &[u8] {
    match text {
        [b'+' | b'-', rest @ ..] => rest,
        _ => text,
    }
}

/// Counts leading digits; returns the count and the rest.
fn digits(text: &[u8]) -> (usize, &[u8]) {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count, &text[count..])
}

/// Whether the field is an integer with optional sign and blanks around it; a blank field is 0.
pub(super) fn is_integer(field: &[u8]) -> bool {
    let text = trimmed(field);
    let (count, rest) = digits(without_sign(text));
    text.is_empty() || (count > 0 && rest.is_empty())
}

/// Whether the field is a number with or without a point, with an exponent with or without its
/// letter; a blank field is 0.
pub(super) fn is_real(field: &[u8]) -> bool {
    let text = trimmed(field);
    let (whole, rest) = digits(without_sign(text));
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => digits(rest),
        _ => (0, rest),
    };
    let exponent = match rest {
        [] => return text.is_empty() || whole + fraction > 0,
        [b'E' | b'D', rest @ ..] => without_sign(rest),
        [b'+' | b'-', rest @ ..] => rest,
        _ => return false,
    };
    let (count, rest) = digits(exponent);
    whole + fraction > 0 && count > 0 && rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::{is_integer, is_real};

    #[test]
    fn integers_are_distinguished_from_other_text() {
        for text in ["", "   ", "12", " -3 ", "+0", "123456789012345678901234567890"] {
            assert!(is_integer(text.as_bytes()), "{text:?}");
        }
        for text in ["-", "1 2", "1.", "1E3", "***", "- 1", "\t1", "1\0"] {
            assert!(!is_integer(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn numbers_are_distinguished_from_other_text() {
        for text in [
            "", "  ", "12", "-1.5", ".5", "5.", "1.5D+02", "1.5+3", " -0.0 ", "1E5", "15-3",
            "+.5D-10",
        ] {
            assert!(is_real(text.as_bytes()), "{text:?}");
        }
        for text in [
            ".", "-", "E5", "1.5e3", "1.5E", "1.5E+", "1.5+", "1 .5", "1.5.2", "NaN", "1,5",
            "1.5E3.0",
        ] {
            assert!(!is_real(text.as_bytes()), "{text:?}");
        }
    }
}
