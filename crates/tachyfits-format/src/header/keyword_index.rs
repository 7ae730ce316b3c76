//! Index of the first card of each keyword.

use std::collections::HashMap;

use tachyfits_memory::NoMemory;

use crate::card::Card;

/// Headers of up to this many cards are searched linearly: building an index costs more than it saves, and files have
/// thousands of short headers.
const FEW_CARDS: usize = 32;

/// Finds the first card that has a keyword and a value.
#[derive(Clone, Debug, Default)]
pub(super) struct KeywordIndex {
    /// Index by keyword as written; built only for more than `FEW_CARDS` cards.
    as_written: Option<HashMap<String, usize>>,
    /// Keywords with lower-case letters, converted to upper case.
    folded: HashMap<String, usize>,
}

impl KeywordIndex {
    /// Creates the index of no cards, with capacity for `cards`.
    ///
    /// # Errors
    /// Returns an error if there is too little memory.
    pub(super) fn with_room(cards: usize) -> Result<KeywordIndex, NoMemory> {
        let mut index = KeywordIndex::default();
        if cards > FEW_CARDS {
            let what = "the keywords of a header";
            let short = |_| NoMemory::of::<(String, usize)>(cards, what);
            index.as_written.insert(HashMap::new()).try_reserve(cards).map_err(short)?;
        }
        Ok(index)
    }

    /// Builds the index of all cards.
    pub(super) fn of(cards: &[Card]) -> KeywordIndex {
        let mut index = KeywordIndex::default();
        (0..cards.len()).for_each(|at| index.add(&cards[..=at], at));
        index
    }

    /// Adds a card that is already in place; cards after it must be blank.
    pub(super) fn add(&mut self, cards: &[Card], at: usize) {
        if cards.len() > FEW_CARDS || self.as_written.is_some() {
            let first = if self.as_written.is_some() { at } else { 0 };
            let index = self.as_written.get_or_insert_default();
            for (at, card) in
                cards.iter().enumerate().skip(first).filter(|(_, card)| has_value(card))
            {
                index.entry(card.keyword().to_owned()).or_insert(at);
            }
        }
        let keyword = cards[at].keyword();
        if has_value(&cards[at]) && keyword.bytes().any(|byte| byte.is_ascii_lowercase()) {
            self.folded.entry(keyword.to_ascii_uppercase()).or_insert(at);
        }
    }

    /// Finds the first card of a keyword as written.
    pub(super) fn as_written(&self, cards: &[Card], keyword: &str) -> Option<usize> {
        match &self.as_written {
            Some(index) => index.get(keyword).copied(),
            None => cards.iter().position(|card| has_value(card) && card.keyword() == keyword),
        }
    }

    /// Finds the first card of a keyword as written, or otherwise in the other case.
    pub(super) fn first(&self, cards: &[Card], keyword: &str) -> Option<usize> {
        self.as_written(cards, keyword).or_else(|| {
            let upper = keyword.to_ascii_uppercase();
            self.as_written(cards, &upper).or_else(|| self.folded.get(&upper).copied())
        })
    }
}

fn has_value(card: &Card) -> bool {
    !card.is_commentary()
}

#[cfg(test)]
mod tests {
    use super::{FEW_CARDS, KeywordIndex};
    use crate::card::Card;

    /// Creates cards, some of which repeat a keyword, have it in lower case, or have no value.
    fn cards(count: usize) -> Vec<Card> {
        let card = |at: usize| match at % 5 {
            0 => Card::new(&format!("KEY{}", at % 15), at as i64, "").unwrap(),
            1 => Card::from_records(
                format!("{:<80}", format!("{:<8}= 1", format!("low{}", at % 20))).as_bytes(),
            )
            .unwrap(),
            2 => Card::commentary("HISTORY", "KEY0").unwrap().remove(0),
            _ => Card::new(&format!("K{at}"), at as i64, "").unwrap(),
        };
        (0..count).map(card).collect()
    }

    #[test]
    fn finds_a_keyword_in_the_other_case() {
        for count in [5, 2 * FEW_CARDS] {
            let cards = cards(count);
            let index = KeywordIndex::of(&cards);
            assert_eq!(
                [index.first(&cards, "LOW1"), index.first(&cards, "key0")],
                [Some(1), Some(0)]
            );
            assert_eq!(index.as_written(&cards, "LOW1"), None);
        }
    }

    #[test]
    fn finds_what_a_search_finds_in_few_and_many_cards() {
        for count in [0, 1, FEW_CARDS - 1, FEW_CARDS, FEW_CARDS + 1, 2 * FEW_CARDS] {
            let cards = cards(count);
            let (all, mut grown) = (KeywordIndex::of(&cards), KeywordIndex::default());
            (0..count).for_each(|at| grown.add(&cards[..=at], at));
            let names = (0..count + 5)
                .step_by(3)
                .flat_map(|at| ["KEY", "low", "LOW", "K", "key"].map(|name| format!("{name}{at}")));
            for name in names.chain(["HISTORY".to_owned(), String::new()]) {
                let position = |same: &dyn Fn(&str) -> bool| {
                    cards.iter().position(|card| card.value().is_some() && same(card.keyword()))
                };
                let upper = name.to_ascii_uppercase();
                let expected = position(&|keyword| keyword == name)
                    .or_else(|| position(&|keyword| keyword == upper))
                    .or_else(|| position(&|keyword| keyword.to_ascii_uppercase() == upper));
                assert_eq!(all.first(&cards, &name), expected, "{name} in {count} cards");
                assert_eq!(grown.first(&cards, &name), expected, "{name} in {count} cards");
            }
        }
    }
}
