//! Differences of cards, whatever their order. Repeated cards of one keyword are paired in order. Cards of a
//! column are paired with the cards of the paired column, whatever its number.

use std::collections::{HashMap, HashSet};

use tachyfits_format::{Card, Header, Value, column_keyword};

use super::tables::ColumnPairs;
use super::values::{DiffOptions, Scalar};

/// Kind of difference of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CardChange {
    /// Only the second header has the card.
    Added,
    /// Only the first header has the card.
    Removed,
    /// The values differ.
    Value,
    /// The values are equal, but the comments differ.
    Comment,
}

impl CardChange {
    /// Returns the change as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            CardChange::Added => "added",
            CardChange::Removed => "removed",
            CardChange::Value => "value",
            CardChange::Comment => "comment",
        }
    }
}

/// A card that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CardDifference {
    /// Keyword. The keyword of a column's card uses the column's number in the first table.
    pub keyword: String,
    /// Kind of difference.
    pub change: CardChange,
    /// Content of each header in FITS notation: the value, the text of commentary cards, or the comment if
    /// only comments differ.
    pub values: [Option<String>; 2],
}

/// Compares the cards of two headers; `columns` pairs the columns of two tables.
pub(super) fn compare(
    headers: [&Header; 2],
    columns: Option<&ColumnPairs>,
    options: &DiffOptions,
) -> Vec<CardDifference> {
    let sides = [0, 1].map(|side| common(headers[side], side, columns, options));
    let [left, right] = [0, 1].map(|side| by_keyword(&sides[side]));
    let mut differences = Vec::new();
    let mut keywords = HashSet::new();
    for (keyword, _) in sides.iter().flatten() {
        if !keywords.insert(keyword) {
            continue;
        }
        let none = Vec::new();
        let pair = [&left, &right].map(|cards| cards.get(keyword.as_str()).unwrap_or(&none));
        let texts = |cards: &[&Card]| cards.iter().all(|card| card.is_commentary());
        if texts(pair[0]) && texts(pair[1]) {
            compare_texts(keyword, pair, &mut differences);
        } else {
            compare_values(keyword, pair, options, &mut differences);
        }
    }
    differences
}

/// Returns the cards to compare, each with its keyword. A column's keyword uses the column's number in the
/// first table, also for ignored keywords: with each table's own numbers, a keyword would ignore cards of two
/// columns.
fn common<'a>(
    header: &'a Header,
    side: usize,
    columns: Option<&ColumnPairs>,
    options: &DiffOptions,
) -> Vec<(String, &'a Card)> {
    let is_compared = |(keyword, _): &(String, &Card)| !options.ignores(keyword);
    let with_keyword = |card: &'a Card| {
        let keyword = card.keyword();
        let Some(columns) = columns else { return Some((keyword.to_owned(), card)) };
        if columns.differ() && keyword.to_ascii_uppercase().starts_with("TBCOL") {
            return None;
        }
        match column_keyword(keyword, |number| columns.first_number(side, number)) {
            None => Some((keyword.to_owned(), card)),
            // The column exists in only one table.
            Some(common) => Some((common?, card)),
        }
    };
    let cards = header.cards().iter().filter(|card| !card.is_blank());
    cards.filter_map(with_keyword).filter(is_compared).collect()
}

fn by_keyword<'a>(pairs: &'a [(String, &'a Card)]) -> HashMap<&'a str, Vec<&'a Card>> {
    let mut cards: HashMap<&str, Vec<&Card>> = HashMap::new();
    for (keyword, card) in pairs {
        cards.entry(keyword).or_default().push(card);
    }
    cards
}

impl DiffOptions {
    fn ignores(&self, keyword: &str) -> bool {
        self.ignore.iter().any(|pattern| {
            let pattern = pattern.trim().to_ascii_uppercase();
            let keyword = keyword.to_ascii_uppercase();
            match pattern.strip_suffix('*') {
                Some(start) => keyword.starts_with(start),
                None => keyword == pattern,
            }
        })
    }
}

/// Compares the texts of COMMENT, HISTORY and similar cards: reports texts that occur more often in one
/// header.
fn compare_texts(keyword: &str, [a, b]: [&Vec<&Card>; 2], differences: &mut Vec<CardDifference>) {
    let mut counts: HashMap<&str, i64> = HashMap::new();
    a.iter().for_each(|card| *counts.entry(card.comment()).or_default() += 1);
    b.iter().for_each(|card| *counts.entry(card.comment()).or_default() -= 1);
    let mut push = |text: &str, change| {
        let text = Some(text.to_owned());
        let values = match change {
            CardChange::Removed => [text, None],
            _ => [None, text],
        };
        differences.push(CardDifference { keyword: keyword.to_owned(), change, values });
    };
    for card in a.iter().rev() {
        let count = counts.get_mut(card.comment()).filter(|count| **count > 0);
        if let Some(count) = count {
            *count -= 1;
            push(card.comment(), CardChange::Removed);
        }
    }
    for card in b.iter().rev() {
        let count = counts.get_mut(card.comment()).filter(|count| **count < 0);
        if let Some(count) = count {
            *count += 1;
            push(card.comment(), CardChange::Added);
        }
    }
}

fn compare_values(
    keyword: &str,
    [a, b]: [&Vec<&Card>; 2],
    options: &DiffOptions,
    differences: &mut Vec<CardDifference>,
) {
    let text = |card: &Card| match card.value() {
        Some(value) => value.to_string(),
        None => card.comment().to_owned(),
    };
    for at in 0..a.len().max(b.len()) {
        let (change, values) = match (a.get(at), b.get(at)) {
            (Some(left), None) => (CardChange::Removed, [Some(text(left)), None]),
            (None, Some(right)) => (CardChange::Added, [None, Some(text(right))]),
            (Some(left), Some(right)) if !options.same_values(left.value(), right.value()) => {
                (CardChange::Value, [Some(text(left)), Some(text(right))])
            }
            (Some(left), Some(right))
                if !options.ignore_comments && left.comment() != right.comment() =>
            {
                let comments = [left, right].map(|card| Some(card.comment().to_owned()));
                (CardChange::Comment, comments)
            }
            _ => continue,
        };
        differences.push(CardDifference { keyword: keyword.to_owned(), change, values });
    }
}

impl DiffOptions {
    /// Compares numbers by value, not by notation; integers exactly, whatever their length.
    fn same_values(&self, a: Option<&Value>, b: Option<&Value>) -> bool {
        let (Some(a), Some(b)) = (a, b) else { return a == b };
        match (number(a), number(b)) {
            // Integers that convert to the same float.
            (Some(Scalar::Real { .. }), Some(Scalar::Real { .. }))
                if matches!((a, b), (Value::Integer(_), Value::Integer(_))) =>
            {
                a == b
            }
            (Some(left), Some(right)) => self.same(&left, &right),
            _ => a == b,
        }
    }
}

/// Returns the number in a value; integers of more than 128 bits become floats.
fn number(value: &Value) -> Option<Scalar> {
    let exact = match value {
        Value::Integer(integer) => integer.as_i128().map(Scalar::Integer),
        _ => None,
    };
    exact.or_else(|| value.as_f64().map(|value| Scalar::Real { value, single: false }))
}
