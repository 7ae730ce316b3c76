//! Encoding of text outside ASCII, for headers and tables.

use std::borrow::Cow;

/// Encoding of bytes outside ASCII, which the Standard does not define (Sect. 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TextEncoding {
    /// UTF-8; invalid text is decoded as Latin-1.
    #[default]
    Utf8,
    /// ISO 8859-1, one character per byte, as programs wrote before UTF-8.
    Latin1,
}

impl TextEncoding {
    /// Detects the encoding of texts from one program: UTF-8 if all of them are valid UTF-8, because text in other
    /// encodings hardly ever is.
    ///
    /// ```
    /// use tachyfits_format::TextEncoding;
    /// let texts = [&b"M\xfcller"[..], "Müller".as_bytes()];
    /// assert_eq!(TextEncoding::of(texts), TextEncoding::Latin1);
    /// assert_eq!(TextEncoding::of(texts[1..].iter().copied()), TextEncoding::Utf8);
    /// ```
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> TextEncoding {
        match texts.into_iter().all(|text| std::str::from_utf8(text).is_ok()) {
            true => TextEncoding::Utf8,
            false => TextEncoding::Latin1,
        }
    }

    /// Decodes bytes as text.
    ///
    /// ```
    /// use tachyfits_format::TextEncoding;
    /// assert_eq!(TextEncoding::Utf8.decode("Müller".as_bytes()), "Müller");
    /// assert_eq!(TextEncoding::Utf8.decode(b"M\xfcller"), "Müller");
    /// assert_eq!(TextEncoding::Latin1.decode("Müller".as_bytes()), "MÃ¼ller");
    /// ```
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match std::str::from_utf8(bytes) {
            Ok(text) if self == TextEncoding::Utf8 || text.is_ascii() => Cow::Borrowed(text),
            _ => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
        }
    }
}
