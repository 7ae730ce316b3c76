//! Limits of header edits: cards that determine the position of data and the compression of tiles
//! stay, and the parser must still accept what it accepted before.

use tachyfits_format::{
    Code, FormatError, Hdu, HduKind, Header, Problem, Value, Warning, is_structural,
};

/// Returns the first difference that prevents a header from replacing another, as expected and found text.
pub(super) fn fault(before: &Header, after: &Header, index: usize) -> Option<(String, String)> {
    let may_be_tiled = |header: &&Header| {
        ["ZIMAGE", "ZTABLE"].iter().any(|keyword| header.position(keyword).is_some())
    };
    let headers = [before, after];
    let may_be_read = may_be_read(before, after);
    if !may_be_read && !headers.iter().any(may_be_tiled) {
        return other_card(before, after, &is_structural);
    }
    let hdus = headers.map(|header| Hdu::of_header(header.clone(), index));
    let is_tiled = |hdu: &&Hdu| hdu.is_tiled_image() || hdu.is_compressed_table();
    let tiled: Vec<&Hdu> = hdus.iter().flatten().filter(is_tiled).collect();
    let is_fixed =
        |keyword: &str| is_structural(keyword) || tiled.iter().any(|hdu| hdu.is_tile_card(keyword));
    let other = other_card(before, after, &is_fixed);
    if other.is_some() || !may_be_read {
        return other;
    }
    let [Ok(before), after] = hdus else { return None };
    let problem = |problem: &Problem| {
        let keyword = problem.place.keyword.as_deref().unwrap_or("a card");
        (format!("{} for {keyword}", problem.expected), problem.found.clone())
    };
    match after.and_then(|hdu| warnings(&hdu)) {
        // An HDU that was unreadable before may be edited step by step.
        Err(error) => warnings(&before).is_ok().then(|| problem(error.problem())),
        Ok(after) if after.is_empty() => None,
        Ok(after) => {
            let before = warnings(&before).ok()?;
            let is_new =
                |warning: &&Warning| count(&after, warning.code()) > count(&before, warning.code());
            after.iter().find(is_new).map(|warning| problem(warning.problem()))
        }
    }
}

/// Returns the fault of the first fixed card that differs.
fn other_card(
    before: &Header,
    after: &Header,
    is_fixed: &dyn Fn(&str) -> bool,
) -> Option<(String, String)> {
    let keyword = differs(before, after, is_fixed)?;
    Some((format!("{keyword} unchanged"), "another card or order".to_owned()))
}

/// Whether cards that may break the parser differ; other edits need not parse a header of very many columns.
fn may_be_read(before: &Header, after: &Header) -> bool {
    const READ: [&[u8]; 10] = [
        b"TTYPE", b"TDIM", b"TSCAL", b"TZERO", b"TNULL", b"TSSTR", b"THEAP", b"BSCALE", b"BZERO",
        b"BLANK",
    ];
    let is_read = |raw: &&[u8]| {
        let begins = |word: &&[u8]| {
            raw.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        READ.iter().any(begins)
    };
    let cards = |header: &Header| -> Vec<Vec<u8>> {
        let raw = header.cards().iter().map(|card| card.raw());
        raw.filter(is_read).map(<[u8]>::to_vec).collect()
    };
    cards(before) != cards(after)
}

/// Counts the cards with a fault; a single warning may represent several.
fn count(warnings: &[Warning], code: Code) -> usize {
    let alike = warnings.iter().filter(|warning| warning.code() == code);
    alike.map(|warning| 1 + warning.problem().repeats).sum()
}

/// Returns warnings about duplicate column names and ignored sizes.
fn warnings(hdu: &Hdu) -> Result<Vec<Warning>, FormatError> {
    const FAULTS: [Code; 3] =
        [Code::DuplicateColumn, Code::DimensionsIgnored, Code::DimensionsShort];
    match hdu.kind {
        HduKind::Primary | HduKind::Image => hdu.image().map(|_| Vec::new()),
        HduKind::BinaryTable | HduKind::AsciiTable => {
            let mut warnings = hdu.table()?.warnings;
            warnings.retain(|warning| FAULTS.contains(&warning.code()));
            Ok(warnings)
        }
        _ => Ok(Vec::new()),
    }
}

/// Returns the first fixed keyword whose cards differ between the headers, in content, order, or
/// position relative to other leading cards. The case of a keyword may differ if the same card is
/// read.
fn differs(before: &Header, after: &Header, is_fixed: &dyn Fn(&str) -> bool) -> Option<String> {
    let cards = |header: &Header| -> Vec<(String, Option<Value>, bool)> {
        let cards = header.cards().iter().enumerate();
        let fixed_cards = cards.filter(|(_, card)| is_fixed(card.keyword()));
        let entries = fixed_cards.map(|(at, card)| {
            let keyword = card.keyword().to_ascii_uppercase();
            let is_read = header.position(&keyword) == Some(at);
            (keyword, card.value().cloned(), is_read)
        });
        entries.collect()
    };
    let (old, new) = (cards(before), cards(after));
    let leading = |header: &Header| {
        header.cards().iter().take_while(|card| is_structural(card.keyword())).count()
    };
    let count = old.len().max(new.len());
    let differs = (0..count).find(|&index| old.get(index) != new.get(index));
    let at = differs.or((leading(after) < leading(before)).then_some(leading(after)))?;
    old.get(at).or(new.get(at)).map(|(keyword, ..)| keyword.clone())
}
