//! Any bytes as the blocks of a header: it keeps its bytes, takes changes, and a card rewritten from
//! its value has that value.
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
    extended(&header);
});

/// A card made of what was read says the same.
fn rewritten(card: &Card) {
    let Some(value) = card.value() else { return };
    let Ok(new) = Card::new(card.keyword(), value.clone(), "") else { return };
    assert_eq!(new.keyword(), card.keyword());
    assert_eq!(new.value().map(ToString::to_string), Some(value.to_string()));
}

/// A card can be added; the others, but blank ones, keep their bytes.
fn extended(header: &Header) {
    let mut longer = header.clone();
    longer.set("NEWCARD", 1, "").expect("a plain card");
    assert_eq!(longer.get_i64("NEWCARD"), Ok(Some(1)));
    let bytes = longer.to_bytes();
    assert_eq!(bytes.len() as u64, longer.block_bytes());
    let (back, _) = Header::parse(&bytes, Context::default()).expect("it has an END");
    assert_eq!(back.get_i64("NEWCARD"), Ok(Some(1)));
    let others = |header: &Header| {
        // A new card takes the place of blank ones at the end.
        let blank = |card: &Card| card.raw().iter().all(|&byte| byte == b' ');
        let cards = header.cards().iter();
        let cards = cards.filter(|card| card.keyword() != "NEWCARD" && !blank(card));
        cards.map(|card| card.raw().to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(others(&back), others(header));
}
