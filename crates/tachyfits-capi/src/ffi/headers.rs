//! Headers: cards by keyword. Keywords may be written in either case; a long string is one card.

use std::ffi::{c_char, c_int};

use super::{
    guarded, infallible, into_box, mutable, owned_text, put, put_handle, put_text, reference, text,
    write_card,
};
use crate::handles::{FileHandle, HeaderHandle, Outcome};
use crate::types::CError;

/// Copy the header of an HDU; for a compressed image, that of the image. Free it with tachyfits_header_free.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_header_of(
    file: *const FileHandle,
    hdu: usize,
    header: *mut *mut HeaderHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || put_handle(header, "header", || reference(file, "file")?.header(hdu)))
}

/// Make an empty header.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_header_new(header: *mut *mut HeaderHandle, error: *mut CError) -> i32 {
    guarded(error, || put_handle(header, "header", || Ok(HeaderHandle(tachyfits::Header::new()))))
}

/// Copy a header; every card stays unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_header_copy(
    header: *const HeaderHandle,
    copy: *mut *mut HeaderHandle,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put_handle(copy, "copy", || Ok(HeaderHandle(reference(header, "header")?.0.clone())))
    })
}

/// Free a header.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_header_free(header: *mut HeaderHandle) {
    infallible((), || drop(into_box(header)));
}

fn get<T>(
    header: *const HeaderHandle,
    keyword: *const c_char,
    value: *mut T,
    read: impl FnOnce(&HeaderHandle, &str) -> Outcome<T>,
) -> Outcome<()> {
    put(value, "value", || read(reference(header, "header")?, text(keyword, "keyword")?))
}

/// Store the integer of a card; return TACHYFITS_ABSENT if the card is missing.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_get_i64(
    header: *const HeaderHandle,
    keyword: *const c_char,
    value: *mut i64,
    error: *mut CError,
) -> i32 {
    guarded(error, || get(header, keyword, value, HeaderHandle::integer))
}

/// Store the number of a card; return TACHYFITS_ABSENT if the card is missing.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_get_f64(
    header: *const HeaderHandle,
    keyword: *const c_char,
    value: *mut f64,
    error: *mut CError,
) -> i32 {
    guarded(error, || get(header, keyword, value, HeaderHandle::real))
}

/// Store 1 for T and 0 for F; return TACHYFITS_ABSENT if the card is missing.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_get_logical(
    header: *const HeaderHandle,
    keyword: *const c_char,
    value: *mut c_int,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        get(header, keyword, value, |header, keyword| Ok(c_int::from(header.logical(keyword)?)))
    })
}

/// Copy the text of a card, UTF-8 with NUL, truncated to `room` bytes; store its whole length if `length` is not NULL.
/// Return TACHYFITS_ABSENT if the card is missing.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_get_text(
    header: *const HeaderHandle,
    keyword: *const c_char,
    buffer: *mut c_char,
    room: usize,
    length: *mut usize,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let header = reference(header, "header")?;
        put_text(header.text(text(keyword, "keyword")?)?, buffer, room, length)
    })
}

/// Return the number of cards; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_cards(header: *const HeaderHandle) -> usize {
    infallible(0, || reference(header, "header").map_or(0, |header| header.cards().len()))
}

/// Store keyword, value and comment of a card as texts, each freed with tachyfits_text_free. Return TACHYFITS_ABSENT
/// after the last card.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_card(
    header: *const HeaderHandle,
    number: usize,
    keyword: *mut *mut c_char,
    value: *mut *mut c_char,
    comment: *mut *mut c_char,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let card = reference(header, "header")?.card(number)?;
        let places =
            [mutable(keyword, "keyword")?, mutable(value, "value")?, mutable(comment, "comment")?];
        for (place, text) in places.into_iter().zip(&card) {
            *place = owned_text(text);
        }
        Ok(())
    })
}

/// Store all cards as text of 80 characters each, END included, for WCSLIB; free it with tachyfits_text_free.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_header_text(
    header: *const HeaderHandle,
    cards: *mut *mut c_char,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        put(cards, "cards", || {
            let bytes = reference(header, "header")?.to_text();
            Ok(owned_text(&String::from_utf8_lossy(&bytes)))
        })
    })
}

/// Set a card to an integer; `comment` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_set_i64(
    header: *mut HeaderHandle,
    keyword: *const c_char,
    value: i64,
    comment: *const c_char,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        write_card(header, "header", keyword, comment, |header, key, text| {
            header.set(key, value, text)
        })
    })
}

/// Set a card to a number.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_set_f64(
    header: *mut HeaderHandle,
    keyword: *const c_char,
    value: f64,
    comment: *const c_char,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        write_card(header, "header", keyword, comment, |header, key, text| {
            header.set_real(key, value, text)
        })
    })
}

/// Set a card to T (not 0) or F.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_set_logical(
    header: *mut HeaderHandle,
    keyword: *const c_char,
    value: c_int,
    comment: *const c_char,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        write_card(header, "header", keyword, comment, |header, key, text| {
            header.set(key, value != 0, text)
        })
    })
}

/// Set a card to text of any length.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_set_text(
    header: *mut HeaderHandle,
    keyword: *const c_char,
    value: *const c_char,
    comment: *const c_char,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        let value = text(value, "value")?;
        write_card(header, "header", keyword, comment, |header, key, comment| {
            header.set(key, value, comment)
        })
    })
}

/// Add lines of COMMENT or HISTORY.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_add_commentary(
    header: *mut HeaderHandle,
    keyword: *const c_char,
    words: *const c_char,
    error: *mut CError,
) -> i32 {
    guarded(error, || {
        mutable(header, "header")?.add_commentary(text(keyword, "keyword")?, text(words, "text")?)
    })
}

/// Remove the cards of a keyword; return TACHYFITS_ABSENT if there are none.
#[unsafe(no_mangle)]
pub extern "C" fn tachyfits_remove(
    header: *mut HeaderHandle,
    keyword: *const c_char,
    error: *mut CError,
) -> i32 {
    guarded(error, || match mutable(header, "header")?.remove(text(keyword, "keyword")?) {
        0 => Err(crate::failure::Failure::Absent),
        _ => Ok(()),
    })
}
