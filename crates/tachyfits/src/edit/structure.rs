//! Limits of an edit of a header: the cards that say where the data are and how tiles are compressed stay, and the parser
//! reads afterwards what it read before.

use tachyfits_format::{
    Code, FormatError, Hdu, HduKind, Header, Problem, Value, Warning, is_structural,
};

/// Why a header may not take the place of another: what is expected, and what it has.
pub(super) fn fault(before: &Header, after: &Header, index: usize) -> Option<(String, String)> {
    let hdus = [before, after].map(|header| Hdu::of_header(header.clone(), index));
    let is_fixed = |keyword: &str| {
        let of_tiles = |hdu: &Hdu| hdu.is_tile_card(keyword);
        is_structural(keyword) || hdus.iter().flatten().any(of_tiles)
    };
    if let Some(keyword) = differs(before, after, &is_fixed) {
        return Some((format!("{keyword} unchanged"), "another card or order".to_owned()));
    }
    let [Ok(before), after] = hdus else { return None };
    let Ok(before) = warnings(&before) else { return None };
    let problem = |problem: &Problem| {
        let keyword = problem.place.keyword.as_deref().unwrap_or("a card");
        (format!("{} for {keyword}", problem.expected), problem.found.clone())
    };
    match after.and_then(|hdu| warnings(&hdu)) {
        Err(error) => Some(problem(error.problem())),
        Ok(after) => {
            let is_new = |one: &&Warning| !before.iter().any(|other| is_same(one, other));
            after.iter().find(is_new).map(|one| problem(one.problem()))
        }
    }
}

fn is_same(one: &Warning, other: &Warning) -> bool {
    let of = |warning: &Warning| (warning.code(), warning.problem().place.keyword.clone());
    of(one) == of(other)
}

/// Columns that share a name or have sizes that are ignored.
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

/// The first fixed keyword whose cards are not the same in both, in the same order, before all that is not of structure in
/// the beginning. Their case may differ where the same ones are read.
fn differs(before: &Header, after: &Header, is_fixed: &dyn Fn(&str) -> bool) -> Option<String> {
    let cards = |header: &Header| -> Vec<(String, Option<Value>, bool)> {
        let cards = header.cards().iter().enumerate();
        let fixed = cards.filter(|(_, card)| is_fixed(card.keyword()));
        let described = fixed.map(|(at, card)| {
            let keyword = card.keyword().to_ascii_uppercase();
            let is_read = header.position(&keyword) == Some(at);
            (keyword, card.value().cloned(), is_read)
        });
        described.collect()
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
