//! Any bytes as the blocks of a header: it keeps its bytes, takes changes, and without its illegal
//! bytes says what it said.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachyfits_format::{Card, Context, Header};

fuzz_target!(|bytes: &[u8]| {
    let Ok((header, _)) = Header::parse(bytes, Context::default()) else { return };
    let written = header.to_bytes();
    assert!(written.starts_with(&bytes[..bytes.len().min(written.len())]), "bytes are not kept");
    assert_eq!(written.len() as u64, header.block_bytes());
    let (again, _) = Header::parse(&written, Context::default()).expect("it was read before");
    assert_eq!(again.cards(), header.cards());
    for card in header.cards() {
        let _ = (header.get_f64(card.keyword()), header.get_i64(card.keyword()));
        rewritten(card);
    }
    restricted(&header);
});

/// A card made of what was read says the same.
fn rewritten(card: &Card) {
    let Some(value) = card.value() else { return };
    let Ok(new) = Card::new(card.keyword(), value.clone(), "") else { return };
    assert_eq!(new.keyword(), card.keyword());
    assert_eq!(new.value().map(ToString::to_string), Some(value.to_string()));
}

/// Illegal bytes can be replaced without a card becoming another, and a card be added.
fn restricted(header: &Header) {
    let mut clean = header.clone();
    clean.replace_illegal_bytes();
    let bytes = clean.to_bytes();
    assert!(bytes.is_ascii());
    let (back, _) = Header::parse(&bytes, Context::default()).expect("it has an END");
    assert_eq!(back.cards().len(), header.cards().len());
    let number = |card: &Card| card.value().and_then(|value| value.as_f64()).map(f64::to_bits);
    for (new, old) in back.cards().iter().zip(header.cards()) {
        assert_eq!(number(new), number(old));
    }
    clean.set("NEWCARD", 1, "").expect("a plain card");
    assert_eq!(clean.get_i64("NEWCARD"), Ok(Some(1)));
    assert_eq!(clean.to_bytes().len() as u64, clean.block_bytes());
}
