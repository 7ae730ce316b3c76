//! Unambiguous repairs of a header: they change the notation, never the meaning. Each repair is reported.

use std::collections::HashMap;

use super::card_rules::{self, Date};
use super::finding::Finding;
use super::rules::Rule;
use super::subject::Subject;
use super::{column_rules, wcs_rules};
use crate::card::Card;
use crate::card_writer;
use crate::code::Code;
use crate::error::Place;
use crate::hdu::{Hdu, HduKind};
use crate::header::Header;
use crate::limits::CARD_BYTES;
use crate::reserved::{self, KeywordType};
use crate::scan;
use crate::value::{Real, Value};

/// A repair.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fix {
    /// Stable text of the repaired [`Rule`] or [`Code`].
    pub code: &'static str,
    /// Place of the fault.
    pub place: Place,
    /// Content before the repair.
    pub before: String,
    /// Content after the repair.
    pub after: String,
}

impl Fix {
    /// Creates a repair, with the stable text of the rule or the code.
    #[must_use]
    pub fn new(code: &'static str, place: Place, before: String, after: String) -> Fix {
        Fix { code, place, before, after }
    }
}

/// First unambiguous year of DATE: FITS did not exist in earlier years.
const FIRST_YEAR: u32 = 79;

/// Returns the header with every unambiguous fault repaired, and the repairs. Correct cards keep their bytes.
#[must_use]
pub fn fixed_header(header: &Header, hdu: Option<&Hdu>) -> (Header, Vec<Fix>) {
    let mut cards = header.cards().to_vec();
    let mut fixes = Vec::new();
    let spellings = Spellings::of(header);
    let mut next = 0;
    for card in &mut cards {
        let record = next;
        next += card.continuations() + 1;
        for (code, fixed) in fixes_of_card(header, &spellings, card) {
            let place = place(header, record, card);
            fixes.push(Fix { code, place, before: line(card), after: line(&fixed) });
            *card = fixed;
        }
    }
    if let Some(hdu) = hdu {
        fixes.extend(add_defaults(&mut cards, hdu));
    }
    let moves = hdu.and_then(|hdu| put_in_order(&mut cards, hdu)).into_iter();
    for (code, keyword) in moves.chain(put_axes_first(&mut cards)) {
        let after = format!("{keyword} in its place");
        let place = Place { keyword: Some(keyword), ..whole(header) };
        fixes.push(Fix { code, place, before: "another order".to_owned(), after });
    }
    fixes.extend(fixed_tail(header));
    let fixed = match fixes.is_empty() {
        true => header.clone(),
        false => Header::from_cards(cards),
    };
    (fixed, fixes)
}

/// Marks each finding that [`fixed_header`] would repair.
pub(super) fn mark_fixable(header: &Header, findings: &mut [Finding]) {
    let mut record = 0;
    let firsts = header.cards().iter().map(|card| {
        let first = record;
        record += card.continuations() + 1;
        (first, card)
    });
    let cards: HashMap<usize, &Card> = firsts.collect();
    let spellings = Spellings::of(header);
    let codes = [Code::MandatoryOrder, Code::MandatoryDefault].map(Code::as_str);
    let rules = [Rule::FieldsPlace, Rule::InheritPlace, Rule::WcsAxesPlace].map(Rule::as_str);
    for finding in findings {
        let card = finding.place.card.and_then(|record| cards.get(&record));
        let fixes = card.map(|card| fixes_of_card(header, &spellings, card)).unwrap_or_default();
        let of_card = fixes.iter().any(|(code, _)| *code == finding.code);
        let of_header = codes.iter().chain(&rules).any(|code| *code == finding.code);
        // Defaults of random groups are not written.
        let primary = finding.code == codes[1] && header.context().hdu == 0;
        finding.fixable = of_card || finding.fixable || (of_header && !primary);
    }
}

/// Number of cards per keyword in any case, by the keyword in upper case: counted once, because a header may have very
/// many cards.
struct Spellings(HashMap<String, usize>);

impl Spellings {
    fn of(header: &Header) -> Spellings {
        let mut counts = HashMap::new();
        for card in header.cards() {
            *counts.entry(card.keyword().to_ascii_uppercase()).or_default() += 1;
        }
        Spellings(counts)
    }
}

fn line(card: &Card) -> String {
    scan::decode(scan::trim_end(&card.raw()[..CARD_BYTES]))
}

fn whole(header: &Header) -> Place {
    let context = header.context();
    Place { hdu: Some(context.hdu), offset: Some(context.offset), ..Place::default() }
}

fn place(header: &Header, record: usize, card: &Card) -> Place {
    Place {
        card: Some(record),
        keyword: Some(card.keyword().to_owned()),
        offset: Some(header.context().offset + (record * CARD_BYTES) as u64),
        ..whole(header)
    }
}

/// Repairs the faults of a card one after another, each in the result of the preceding repair.
fn fixes_of_card(header: &Header, spellings: &Spellings, card: &Card) -> Vec<(&'static str, Card)> {
    let mut fixes: Vec<(&'static str, Card)> = Vec::new();
    while let Some((code, fixed)) =
        fixed_card(header, spellings, fixes.last().map_or(card, |(_, card)| card))
        && fixes.iter().all(|(other, _)| *other != code)
    {
        fixes.push((code, fixed));
    }
    fixes
}

/// Returns the card with one fault repaired, and the code of the fault.
fn fixed_card(header: &Header, spellings: &Spellings, card: &Card) -> Option<(&'static str, Card)> {
    let value = card.value()?;
    let keyword = card.keyword();
    if let Some(upper) = upper_case(spellings, card) {
        return Some((Code::IllegalKeyword.as_str(), card.renamed(&upper)));
    }
    // The comment must not change.
    let anew = |value: Value| {
        card.with_value(keyword, value).ok().filter(|new| new.comment() == card.comment())
    };
    let mandatory = card_writer::is_mandatory(keyword) || keyword == "CHECKSUM";
    if mandatory && !card_rules::is_fixed_format(card) {
        // The fixed format has no room for a number of more than 20 digits.
        let fixed = anew(value.clone()).filter(card_rules::is_fixed_format)?;
        return Some((Rule::FixedFormat.as_str(), fixed));
    }
    if keyword == "XTENSION" && !card_rules::is_padded(card) {
        return Some((Rule::XtensionPadding.as_str(), anew(value.clone())?));
    }
    match value {
        Value::Real(_) if reserved::has_integer(keyword) => {
            Some((Code::WholeReal.as_str(), anew(value.as_whole()?.into())?))
        }
        Value::Real(real) if real.text().contains(['e', 'd']) => {
            let upper = Real::parse(&real.text().to_ascii_uppercase())?;
            Some((Code::LowerCaseExponent.as_str(), anew(Value::Real(upper))?))
        }
        Value::Text(text) => {
            let (code, regular) = regular_text(header, keyword, text.trim())?;
            Some((code, anew(Value::from(regular))?))
        }
        _ => None,
    }
}

/// Returns the text of a reserved keyword in the form of the Standard, if it is unambiguous, and the repaired code.
fn regular_text(header: &Header, keyword: &str, text: &str) -> Option<(&'static str, String)> {
    let entry = reserved::recognise(keyword)?;
    if entry.reserved.value_type == KeywordType::Date {
        return regular_date(keyword, text);
    }
    if keyword == "XTENSION" {
        let upper = text.to_ascii_uppercase();
        let is_known = !matches!(HduKind::of_extension(&upper), HduKind::Unknown(_));
        let code = Rule::UnregisteredExtension.as_str();
        return (upper != text && is_known).then_some((code, upper));
    }
    column_rules::regular(header, &entry, text)
}

/// Converts a date to the ISO form: DATE of the form DD/MM/YY; date and time separated by a blank; DATE with the Z of
/// UTC, which DATE always implies (Sect. 4.4.2.1).
fn regular_date(keyword: &str, text: &str) -> Option<(&'static str, String)> {
    match card_rules::date(text) {
        Date::Old(day, month, year) if keyword == "DATE" && year >= FIRST_YEAR => {
            let date = format!("19{year:02}-{month:02}-{day:02}");
            Some((Rule::OldDate.as_str(), date))
        }
        Date::Other => {
            let is_utc = keyword == "DATE" && text.contains(':');
            let date =
                text.strip_suffix('Z').filter(|_| is_utc).unwrap_or(text).replacen(' ', "T", 1);
            (card_rules::date(&date) == Date::Iso).then_some((Rule::DateForm.as_str(), date))
        }
        _ => None,
    }
}

/// Returns the keyword in upper case, if that is legal and no other card has it.
fn upper_case(spellings: &Spellings, card: &Card) -> Option<String> {
    let keyword = card.keyword();
    let upper = keyword.to_ascii_uppercase();
    let legal = |byte: u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_');
    let ordinary = card.raw()[..keyword.len().min(8)] == *keyword.as_bytes();
    if upper == keyword || !ordinary || !upper.bytes().all(legal) {
        return None;
    }
    let alone = spellings.0.get(&upper) == Some(&1);
    (alone && !card_writer::is_commentary(&upper)).then_some(upper)
}

/// Adds PCOUNT = 0 and GCOUNT = 1 to an extension that lacks them in both cases: the reader assumes these values.
fn add_defaults(cards: &mut Vec<Card>, hdu: &Hdu) -> Vec<Fix> {
    let mut fixes = Vec::new();
    if cards.first().is_none_or(|card| card.keyword() != "XTENSION") {
        return fixes;
    }
    for (keyword, value, before) in [("PCOUNT", 0, None), ("GCOUNT", 1, Some("PCOUNT"))] {
        let last_axis = format!("NAXIS{}", hdu.axes.len());
        let last = before.unwrap_or(if hdu.axes.is_empty() { "NAXIS" } else { &last_axis });
        let header = Header::from_cards(cards.clone());
        let (None, Some(last)) = (header.position(keyword), header.position(last)) else {
            continue;
        };
        let Ok(card) = Card::new(keyword, value, "") else { continue };
        fixes.push(Fix {
            code: Code::MandatoryDefault.as_str(),
            place: Place { keyword: Some(keyword.to_owned()), ..whole(&hdu.header) },
            before: "no such card".to_owned(),
            after: line(&card),
        });
        cards.insert(last + 1, card);
    }
    fixes
}

/// Moves each WCSAXES before the other cards of its description. Returns code and keyword of each moved card.
fn put_axes_first(cards: &mut Vec<Card>) -> Vec<(&'static str, String)> {
    let is_axes = |word: &str| word.eq_ignore_ascii_case("WCSAXES");
    if !cards.iter().any(|card| card.keyword().get(..7).is_some_and(is_axes)) {
        return Vec::new();
    }
    let header = Header::from_cards(cards.clone());
    let late = wcs_rules::late_axes(&Subject::new(&header, None));
    // Late cards move before the first card of their description, in their present order.
    let mut places: Vec<(usize, bool)> = (0..cards.len()).map(|at| (at, true)).collect();
    late.iter().for_each(|&(at, first)| places[at] = (first, false));
    sort_by_place(cards, places);
    let keyword = |at: usize| header.cards()[at].keyword().to_owned();
    late.into_iter().map(|(at, _)| (Rule::WcsAxesPlace.as_str(), keyword(at))).collect()
}

/// Moves the mandatory cards after the first into their order (Tables 7, 10, 14, 17). Returns the code and the first
/// misplaced card.
fn put_in_order(cards: &mut Vec<Card>, hdu: &Hdu) -> Option<(&'static str, String)> {
    let header = Header::from_cards(cards.clone());
    // The first card decides, because the HDU may have been moved.
    let primary = header.begins_with("SIMPLE");
    let mut order = vec![if primary { "SIMPLE" } else { "XTENSION" }.to_owned()];
    order.extend(["BITPIX", "NAXIS"].map(str::to_owned));
    order.extend((1..=hdu.axes.len()).map(|axis| format!("NAXIS{axis}")));
    if !primary {
        // An earlier repair may have changed XTENSION.
        let kind = HduKind::of_extension(header.get("XTENSION")?.as_text()?);
        let is_table = matches!(kind, HduKind::BinaryTable | HduKind::AsciiTable);
        let last = if is_table { "TFIELDS" } else { "INHERIT" };
        order.extend(["PCOUNT", "GCOUNT", last].map(str::to_owned));
    }
    // Among several spellings, the card that readers use. The first card stays first even if damaged: a file begins
    // with it.
    let first = order.remove(0);
    let positions =
        order.into_iter().filter_map(|keyword| Some((keyword.clone(), header.position(&keyword)?)));
    let positions: Vec<(String, usize)> =
        std::iter::once((first, 0)).chain(positions.filter(|(_, at)| *at > 0)).collect();
    let (keyword, _) = (0..).zip(&positions).find(|(place, (_, at))| place != at)?.1.clone();
    // At most one per card of the header, which are larger.
    let mut places = vec![positions.len(); cards.len()];
    positions.iter().enumerate().for_each(|(place, (_, at))| places[*at] = place);
    sort_by_place(cards, places);
    let code = match keyword.as_str() {
        "TFIELDS" => Rule::FieldsPlace.as_str(),
        "INHERIT" => Rule::InheritPlace.as_str(),
        _ => Code::MandatoryOrder.as_str(),
    };
    Some((code, keyword))
}

/// Sorts cards by their places; cards with equal places keep their order.
fn sort_by_place<P: Ord>(cards: &mut Vec<Card>, places: Vec<P>) {
    let mut placed: Vec<_> = places.into_iter().zip(std::mem::take(cards)).collect();
    placed.sort_by(|(a, _), (b, _)| a.cmp(b));
    cards.extend(placed.into_iter().map(|(_, card)| card));
}

/// Replaces bytes after END with blanks.
fn fixed_tail(header: &Header) -> Option<Fix> {
    let clean = Header::from_cards(header.cards().to_vec());
    if clean.to_bytes() == header.to_bytes() {
        return None;
    }
    let place = Place { keyword: Some("END".to_owned()), ..whole(header) };
    let before = "bytes other than blanks after END".to_owned();
    Some(Fix { code: Code::HeaderFill.as_str(), place, before, after: "blanks".to_owned() })
}
