//! Patterns of `LIKE`, as in SQL: `%` matches any text, `_` one character.

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PatternPart {
    /// A byte of a UTF-8 character.
    Byte(u8),
    /// One character.
    One,
    /// Any text, including none.
    Any,
}

/// A pattern for text without trailing blanks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pattern {
    parts: Vec<PatternPart>,
}

impl Pattern {
    /// Compiles a pattern. Its trailing blanks are ignored, as those of strings are.
    ///
    /// # Errors
    /// The text after the escape character, if it is neither `%`, `_` nor the escape character.
    pub(crate) fn new(text: &str, escape: Option<char>) -> Result<Pattern, String> {
        let mut parts = Vec::new();
        let mut characters = text.chars();
        while let Some(mut character) = characters.next() {
            let is_escaped = Some(character) == escape;
            if is_escaped {
                character = match characters.next() {
                    Some(next) if matches!(next, '%' | '_') || Some(next) == escape => next,
                    Some(next) => return Err(format!("{next:?}")),
                    None => return Err("the end of the pattern".to_owned()),
                };
            }
            match character {
                '%' if !is_escaped => parts.push(PatternPart::Any),
                '_' if !is_escaped => parts.push(PatternPart::One),
                _ => {
                    let mut bytes = [0; 4];
                    let bytes = character.encode_utf8(&mut bytes).bytes();
                    parts.extend(bytes.map(PatternPart::Byte));
                }
            }
        }
        let end = parts.iter().rposition(|&part| part != PatternPart::Byte(b' '));
        parts.truncate(end.map_or(0, |last| last + 1));
        Ok(Pattern { parts })
    }

    /// Whether matches do not depend on the encoding of bytes outside ASCII.
    pub(crate) fn is_of_bytes(&self) -> bool {
        self.parts.iter().all(|part| match part {
            PatternPart::Byte(byte) => byte.is_ascii(),
            PatternPart::One => false,
            PatternPart::Any => true,
        })
    }

    /// Whether it matches a text in UTF-8; any encoding will do if [`Pattern::is_of_bytes`]. `%`
    /// matches as little as possible; if the rest does not match, the last `%` takes one more
    /// character.
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        let (mut at, mut number) = (0, 0);
        // The part after the last `%`, and the end of the text that `%` matches.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match self.parts.get(number) {
                Some(PatternPart::Any) => {
                    number += 1;
                    if number == self.parts.len() {
                        return true;
                    }
                    retry = Some((number, at));
                    continue;
                }
                Some(PatternPart::Byte(byte)) if text.get(at) == Some(byte) => {
                    (at, number) = (at + 1, number + 1);
                    continue;
                }
                Some(PatternPart::One) if at < text.len() => {
                    (at, number) = (after_character(text, at), number + 1);
                    continue;
                }
                None if at == text.len() => return true,
                _ => {}
            }
            match &mut retry {
                Some((part, end)) if *end < text.len() => {
                    *end = after_character(text, *end);
                    (at, number) = (*end, *part);
                }
                _ => return false,
            }
        }
    }
}

/// Returns the end of the character that begins at a byte; bytes 0x80 to 0xBF continue a character.
fn after_character(text: &[u8], at: usize) -> usize {
    let rest = &text[at + 1..];
    at + 1 + rest.iter().position(|&byte| byte & 0xC0 != 0x80).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Matches by definition: the first part of the pattern, then the rest.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match (pattern, text) {
            ([], _) => text.is_empty(),
            (['%', rest @ ..], _) => (0..=text.len()).any(|length| naive(rest, &text[length..])),
            (['_', rest @ ..], [_, after @ ..]) => naive(rest, after),
            ([letter, rest @ ..], [other, after @ ..]) => letter == other && naive(rest, after),
            _ => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn patterns_match_as_defined(pattern in "[ab\u{e9}\u{4e2d}%_ ]{0,8}", text in "[ab\u{e9}\u{4e2d} ]{0,10}") {
            let (compiled, text) = (Pattern::new(&pattern, None).unwrap(), text.trim_end_matches(' '));
            let characters: Vec<char> = pattern.trim_end_matches(' ').chars().collect();
            let expected = naive(&characters, &text.chars().collect::<Vec<_>>());
            prop_assert_eq!(compiled.matches(text.as_bytes()), expected);
            if compiled.is_of_bytes() {
                let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
                prop_assert!(latin.is_none_or(|latin| compiled.matches(&latin) == expected));
            }
        }
    }

    #[test]
    fn an_escaped_character_stands_for_itself() {
        let matches = |pattern, escape, text: &str| {
            Pattern::new(pattern, Some(escape)).unwrap().matches(text.as_bytes())
        };
        assert!(matches("100!%", '!', "100%") && !matches("100!%", '!', "1000"));
        assert!(matches("a!_%", '!', "a_b") && !matches("a!_%", '!', "ab"));
        assert!(
            matches("!!%", '!', "!x") && matches("%%%_", '%', "%_") && !matches("__", '_', "a")
        );
        assert_eq!(Pattern::new("a!b", Some('!')), Err("'b'".to_owned()));
        assert_eq!(Pattern::new("a!", Some('!')), Err("the end of the pattern".to_owned()));
    }
}
