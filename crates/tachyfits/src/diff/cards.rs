//! Cards that differ. Their order does not matter; repeated cards of one keyword are paired in
//! order. Cards of a column are paired with those of the same column, whatever its number.

use std::collections::{HashMap, HashSet};

use tachyfits_format::{Card, Header, Value, column_keyword};

use super::tables::ColumnPairs;
use super::values::{DiffOptions, Scalar};

/// How a card differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CardChange {
    /// The second header has it alone.
    Added,
    /// The first header has it alone.
    Removed,
    /// The value is another.
    Value,
    /// The value is the same and the comment another.
    Comment,
}

impl CardChange {
    /// The change in a word.
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
    /// The keyword; of a column's card that which it has, or would have, in the first table.
    pub keyword: String,
    /// How it differs.
    pub change: CardChange,
    /// Content of each header in FITS notation: the value; for commentary cards the text; for
    /// comments the comment.
    pub values: [Option<String>; 2],
}

/// Compares the cards of two headers; `columns` are those of two tables.
pub(super) fn compare(
    headers: [&Header; 2],
    columns: Option<&ColumnPairs>,
    options: &DiffOptions,
) -> Vec<CardDifference> {
    let sides = [0, 1].map(|side| common(headers[side], side, columns, options));
    let [own, other] = [0, 1].map(|side| by_keyword(&sides[side]));
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for (keyword, _) in sides.iter().flatten() {
        if !seen.insert(keyword) {
            continue;
        }
        let none = Vec::new();
        let pair = [&own, &other].map(|cards| cards.get(keyword.as_str()).unwrap_or(&none));
        let texts = |cards: &[&Card]| cards.iter().all(|card| card.is_commentary());
        if texts(pair[0]) && texts(pair[1]) {
            compare_texts(keyword, pair, &mut found);
        } else {
            compare_values(keyword, pair, options, &mut found);
        }
    }
    found
}

/// The cards that are compared, each with its keyword; that of a column has the number of the column in the first table, by
/// which it may be ignored too: a number of each table's own would leave out cards of two columns.
fn common<'a>(
    header: &'a Header,
    side: usize,
    columns: Option<&ColumnPairs>,
    options: &DiffOptions,
) -> Vec<(String, &'a Card)> {
    let wanted = |(keyword, _): &(String, &Card)| !options.ignores(keyword);
    let named = |card: &'a Card| {
        let keyword = card.keyword();
        let Some(columns) = columns else { return Some((keyword.to_owned(), card)) };
        if columns.differ() && keyword.to_ascii_uppercase().starts_with("TBCOL") {
            return None;
        }
        match column_keyword(keyword, |number| columns.first_number(side, number)) {
            None => Some((keyword.to_owned(), card)),
            // Of a column that one table has alone.
            Some(common) => Some((common?, card)),
        }
    };
    let cards = header.cards().iter().filter(|card| !card.is_blank());
    cards.filter_map(named).filter(wanted).collect()
}

fn by_keyword<'a>(named: &'a [(String, &'a Card)]) -> HashMap<&'a str, Vec<&'a Card>> {
    let mut cards: HashMap<&str, Vec<&Card>> = HashMap::new();
    for (keyword, card) in named {
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

/// Texts of COMMENT, HISTORY and the like: those that one has more often.
fn compare_texts(keyword: &str, [a, b]: [&Vec<&Card>; 2], found: &mut Vec<CardDifference>) {
    let mut counts: HashMap<&str, i64> = HashMap::new();
    a.iter().for_each(|card| *counts.entry(card.comment()).or_default() += 1);
    b.iter().for_each(|card| *counts.entry(card.comment()).or_default() -= 1);
    let mut push = |text: &str, change| {
        let text = Some(text.to_owned());
        let values = match change {
            CardChange::Removed => [text, None],
            _ => [None, text],
        };
        found.push(CardDifference { keyword: keyword.to_owned(), change, values });
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
    found: &mut Vec<CardDifference>,
) {
    let text = |card: &Card| match card.value() {
        Some(value) => value.to_string(),
        None => card.comment().to_owned(),
    };
    for at in 0..a.len().max(b.len()) {
        let (change, values) = match (a.get(at), b.get(at)) {
            (Some(own), None) => (CardChange::Removed, [Some(text(own)), None]),
            (None, Some(other)) => (CardChange::Added, [None, Some(text(other))]),
            (Some(own), Some(other)) if !options.same_values(own.value(), other.value()) => {
                (CardChange::Value, [Some(text(own)), Some(text(other))])
            }
            (Some(own), Some(other))
                if !options.ignore_comments && own.comment() != other.comment() =>
            {
                let comments = [own, other].map(|card| Some(card.comment().to_owned()));
                (CardChange::Comment, comments)
            }
            _ => continue,
        };
        found.push(CardDifference { keyword: keyword.to_owned(), change, values });
    }
}

impl DiffOptions {
    /// Numbers are compared by what they are and not by how they are written; integers exactly, whatever their length.
    fn same_values(&self, a: Option<&Value>, b: Option<&Value>) -> bool {
        let (Some(a), Some(b)) = (a, b) else { return a == b };
        match (number(a), number(b)) {
            // Integers that no float tells apart.
            (Some(Scalar::Real { .. }), Some(Scalar::Real { .. }))
                if matches!((a, b), (Value::Integer(_), Value::Integer(_))) =>
            {
                a == b
            }
            (Some(one), Some(other)) => self.same(&one, &other),
            _ => a == b,
        }
    }
}

/// The number that a value is; a float of an integer of more than 128 bits.
fn number(value: &Value) -> Option<Scalar> {
    let exact = match value {
        Value::Integer(integer) => integer.as_i128().map(Scalar::Integer),
        _ => None,
    };
    exact.or_else(|| value.as_f64().map(|value| Scalar::Real { value, single: false }))
}
