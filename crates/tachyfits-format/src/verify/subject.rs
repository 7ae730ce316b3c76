//! Subject of the rules: a header with its reserved keywords recognised, and the findings.

use std::borrow::Cow;

use super::finding::Finding;
use super::rules::{Rule, Severity};
use crate::card::Card;
use crate::error::Place;
use crate::hdu::{Hdu, HduKind};
use crate::header::Header;
use crate::limits::CARD_BYTES;
use crate::reserved::{self, Match};
use crate::value::Value;

/// A header to be verified.
pub(super) struct Subject<'a> {
    pub(super) header: &'a Header,
    /// Kind of the HDU; a guess from the first card if the HDU could not be located.
    pub(super) kind: HduKind,
    /// NAXIS, TFIELDS and PCOUNT, if they are numbers of 0 or more.
    pub(super) naxis: Option<u64>,
    pub(super) tfields: Option<u64>,
    pub(super) pcount: Option<u64>,
    /// Reserved keyword of each card; `None` if it is not reserved or the card has no value
    /// indicator.
    pub(super) reserved: Vec<Option<Match>>,
    /// Index of the first record of each card.
    records: Vec<usize>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(header: &'a Header, hdu: Option<&Hdu>) -> Self {
        let recognise = |(at, card): (usize, &Card)| {
            card.value().and_then(|_| reserved::recognise(&keyword_as_read(header, at)))
        };
        let mut record = 0;
        let records = header.cards().iter().map(|card| {
            let first = record;
            record += card.continuations() + 1;
            first
        });
        let number = |keyword| {
            let value = header.get(keyword).and_then(Value::as_i64);
            value.and_then(|value| u64::try_from(value).ok())
        };
        Subject {
            header,
            kind: hdu.map_or_else(|| guessed_kind(header), |hdu| hdu.kind.clone()),
            naxis: number("NAXIS"),
            tfields: number("TFIELDS"),
            pcount: number("PCOUNT"),
            reserved: header.cards().iter().enumerate().map(recognise).collect(),
            records: records.collect(),
        }
    }

    pub(super) fn is_primary(&self) -> bool {
        self.header.context().hdu == 0
    }

    pub(super) fn is_table(&self) -> bool {
        matches!(self.kind, HduKind::BinaryTable | HduKind::AsciiTable)
    }

    /// Whether the table contains a compressed image or table: keywords of images belong to the
    /// original.
    pub(super) fn is_compressed(&self) -> bool {
        let set = |keyword| self.header.get(keyword) == Some(&Value::Logical(true));
        set("ZIMAGE") || set("ZTABLE")
    }

    /// Returns the cards that have a value and a reserved keyword, with their indices.
    pub(super) fn reserved_cards(&self) -> impl Iterator<Item = (usize, &'a Card, &Match)> {
        let cards = self.header.cards().iter().enumerate().zip(&self.reserved);
        cards.filter_map(|((at, card), entry)| entry.as_ref().map(|entry| (at, card, entry)))
    }

    /// Returns the cards that match one pattern of reserved keywords.
    pub(super) fn of(&self, pattern: &str) -> impl Iterator<Item = (usize, &'a Card, &Match)> {
        self.reserved_cards().filter(move |(_, _, entry)| entry.reserved.pattern == pattern)
    }

    /// Place of a card.
    pub(super) fn place(&self, card: usize) -> Place {
        let context = self.header.context();
        let record = self.records[card];
        let keyword = self.header.cards()[card].keyword();
        Place {
            hdu: Some(context.hdu),
            card: Some(record),
            keyword: Some(keyword.to_owned()).filter(|keyword| !keyword.is_empty()),
            offset: Some(context.offset + (record * CARD_BYTES) as u64),
            ..Place::default()
        }
    }

    /// Whether the record of this index begins a HIERARCH card.
    pub(super) fn is_hierarch(&self, record: usize) -> bool {
        let card = self.records.binary_search(&record).ok().map(|at| &self.header.cards()[at]);
        card.is_some_and(|card| card.raw().starts_with(b"HIERARCH"))
    }

    /// Place of an absent keyword.
    pub(super) fn absent(&self, keyword: &str) -> Place {
        Place { keyword: Some(keyword.to_owned()), ..self.whole() }
    }

    /// Place of the whole header.
    pub(super) fn whole(&self) -> Place {
        let context = self.header.context();
        Place { hdu: Some(context.hdu), offset: Some(context.offset), ..Place::default() }
    }
}

/// Returns the keyword of a card: in upper case if a reader of the upper-case keyword finds this
/// card.
pub(super) fn keyword_as_read(header: &Header, card: usize) -> Cow<'_, str> {
    let keyword = header.cards()[card].keyword();
    if keyword.bytes().any(|byte| byte.is_ascii_lowercase()) {
        let upper = keyword.to_ascii_uppercase();
        if header.position(&upper) == Some(card) {
            return Cow::Owned(upper);
        }
    }
    Cow::Borrowed(keyword)
}

/// Guesses the kind of HDU from the header.
fn guessed_kind(header: &Header) -> HduKind {
    match header.get("XTENSION").and_then(Value::as_text) {
        _ if header.context().hdu == 0 => HduKind::Primary,
        Some(xtension) => HduKind::of_extension(xtension.trim_end()),
        None => HduKind::Unknown(String::new()),
    }
}

/// Maximum number of listed findings per rule and header; further ones are only counted.
const FINDINGS_PER_RULE: usize = 16;

/// Collects findings.
#[derive(Default)]
pub(super) struct Report {
    pub(super) findings: Vec<Finding>,
    /// Index of the first finding of the current rule.
    begun: usize,
}

impl Report {
    /// Begins the next rule.
    pub(super) fn begin(&mut self) {
        self.begun = self.findings.len();
    }

    /// Adds a finding.
    pub(super) fn push(
        &mut self,
        rule: Rule,
        place: Place,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        if self.findings.len() - self.begun >= FINDINGS_PER_RULE {
            let last = self.findings.last_mut().expect("there are some");
            last.repeats += 1;
            return;
        }
        self.findings.push(Finding::of_rule(rule, place, expected, found));
    }

    /// Adds a finding as a warning, although the rule's other findings are errors.
    pub(super) fn doubt(
        &mut self,
        rule: Rule,
        place: Place,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        let finding = Finding::of_rule(rule, place, expected, found);
        self.findings.push(Finding { severity: Severity::Warning, ..finding });
    }
}
