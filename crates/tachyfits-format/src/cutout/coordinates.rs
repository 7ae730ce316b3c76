//! The coordinate cards of a cutout: which change with the pixels, which get another axis number, and which must be
//! added because a default is no longer right.
//!
//! Pixel p' of the cutout is pixel p = centre + (p' - 1) · step of the image; the centre of the first pixel is
//! first + 1, or first + (n + 1) / 2 for blocks of n pixels. A coordinate c = M · (p - CRPIX) stays the same if
//!
//! - CRPIX' = (CRPIX - centre) / step + 1, and
//! - the column of the matrix M that belongs to the pixel axis is multiplied by the step. M is CD, or row i of PC times
//!   CDELTi. In the second case CDELT of the axis is multiplied by the step if neither row nor column of PC has another
//!   element, otherwise the column of PC is. With CROTA, CDELT of a celestial axis scales a column (AIPS Memo 27: the
//!   axes are scaled, then rotated), so changing CDELT is right as well.
//!
//! IRAF's l = LTM · p + LTV converts a pixel of the ancestor image to pixel l of the file. Selecting every step-th
//! pixel divides row n of LTM by the step; LTV' = (LTV - centre) / step + 1. If axes are renumbered, the axes of the
//! ancestor get the same numbers.

use std::collections::{HashMap, HashSet};

use super::distortion;
use super::section::Section;
use crate::axis::axes_of_type;
use crate::card::Card;
use crate::code::Code;
use crate::error::FormatError;
use crate::header::Header;
use crate::value::Value;
use crate::wcs::{
    AxisName, Description, NamePart, PRIMARY, card_number, is_spectral, wcsaxes_letter,
};

/// Treatment of distortions that cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Distortions {
    /// Rejected, for every header. Coordinate tables (-TAB) are kept: the engine copies them.
    Refused,
    /// Dropped, which leaves the linear part of the coordinates; axes with coordinate tables are dropped too.
    Dropped {
        /// Whether the tables are copied along with the result.
        with_tables: bool,
    },
}

/// The coordinates of a header, and the section of the image.
pub(super) struct Coordinates<'a> {
    header: &'a Header,
    section: &'a Section,
    descriptions: Vec<Description>,
    /// Largest new axis number of each description.
    most_axes: HashMap<char, usize>,
    /// Axis keywords that have a card.
    present: HashSet<AxisName>,
    /// The axis to whose pixels ALTRPIX refers.
    spectral: Option<usize>,
    /// Whether distortions are dropped.
    dropped: bool,
    /// Axes and descriptions with coordinates in a table, which are dropped with the distortions.
    tabulated: HashSet<(usize, char)>,
}

impl<'a> Coordinates<'a> {
    pub fn new(
        header: &'a Header,
        section: &'a Section,
        distortions: Distortions,
    ) -> Result<Self, FormatError> {
        let survived = distortion::survive(header, section, distortions);
        let dropped = match (survived, distortions) {
            (Err(error), Distortions::Refused) => return Err(error),
            (survived, _) => survived.is_err(),
        };
        let valued = header.cards().iter().filter(|card| card.value().is_some());
        let present = valued.filter_map(|card| AxisName::parse(card.keyword())).collect();
        let descriptions = Description::all(header)?;
        let spectral = spectral_axis(header, section.axes());
        let most = |description: &Description| {
            let numbers = description.axes.iter().filter_map(|&axis| section.number(axis));
            (description.letter, numbers.max().unwrap_or(0))
        };
        let most_axes = descriptions.iter().map(most).collect();
        let tabulated = if dropped { distortion::tabulated_axes(header) } else { HashSet::new() };
        let coordinates = Coordinates {
            header,
            section,
            descriptions,
            most_axes,
            present,
            spectral,
            dropped,
            tabulated,
        };
        coordinates.refuse_coupled_ancestors()?;
        Ok(coordinates)
    }

    /// Whether distortions were dropped.
    pub fn is_without_distortions(&self) -> bool {
        self.dropped
    }

    /// Returns WCSAXES for the descriptions that now have more axes than the array. It must precede the other keywords
    /// of its description (Sect. 8.2).
    pub fn numbers_of_axes(&self) -> Result<Vec<Card>, FormatError> {
        let mut cards = Vec::new();
        for description in
            self.descriptions.iter().filter(|description| description.wcsaxes.is_none())
        {
            let most = self.most_axes[&description.letter];
            if !self.section.keeps_all() && most > self.section.kept() {
                let keyword = with_letter("WCSAXES", description.letter);
                cards.push(Card::new(&keyword, most, "axes with coordinates")?);
            }
        }
        Ok(cards)
    }

    /// Returns a card with the value that is right in the cutout; `None` if it has no meaning there.
    pub fn card(&self, card: &Card) -> Result<Option<Card>, FormatError> {
        if card.value().is_none() {
            return Ok(Some(card.clone()));
        }
        if self.dropped && distortion::is_keyword(card.keyword()) {
            return Ok(None);
        }
        if let Some(name) = AxisName::parse(card.keyword()) {
            return self.axis_card(card, name);
        }
        if let Some(letter) = wcsaxes_letter(card.keyword()) {
            return self.wcsaxes(card, letter).map(Some);
        }
        let number = || Ok::<_, FormatError>(card_number(self.header, card)?.unwrap_or(0.0));
        let keyword = &*card.keyword().to_ascii_uppercase();
        if plate_axis(keyword).is_some_and(|axis| !self.section.keeps_in_place(axis)) {
            return Ok(None);
        }
        let (axis, value) = match (keyword, self.spectral) {
            ("ALTRPIX", Some(axis)) => (axis, self.section.pixel(axis, number()?)),
            ("CNPIX1", _) => (1, self.plate_pixel(1, number()?)),
            ("CNPIX2", _) => (2, self.plate_pixel(2, number()?)),
            ("XPIXELSZ", _) => (1, number()? * self.section.step(1)),
            ("YPIXELSZ", _) => (2, number()? * self.section.step(2)),
            _ => return Ok(Some(card.clone())),
        };
        if self.section.number(axis).is_none() {
            return Ok(None);
        }
        let is_size = keyword.ends_with("PIXELSZ");
        if !self.section.moves(axis) || (is_size && self.section.step(axis) == 1.0) {
            return Ok(Some(card.clone()));
        }
        self.changed(card, keyword, value).map(Some)
    }

    /// Returns cards to add: the default of an absent keyword is no longer its value.
    pub fn absent(&self) -> Result<Vec<Card>, FormatError> {
        let mut cards = Vec::new();
        for description in &self.descriptions {
            for axis in 1..=self.section.axes() {
                let described = description.axes.contains(&axis) || self.section.keeps(axis);
                let has_none = self.tabulated.contains(&(axis, description.letter));
                if described && !has_none && self.section.moves(axis) {
                    self.absent_of_axis(description, axis, &mut cards)?;
                }
            }
        }
        if self.present.iter().any(|name| matches!(name.root, "LTV" | "LTM")) {
            for axis in (1..=self.section.axes()).filter(|&axis| self.section.moves(axis)) {
                if !self.section.keeps(axis) {
                    continue;
                }
                let diagonal =
                    AxisName { part: NamePart::Column(axis), ..AxisName::of("LTM", axis, PRIMARY) };
                let step = self.section.step(axis);
                self.add(diagonal, 1.0 / step, step != 1.0, &mut cards)?;
                let offset = AxisName::of("LTV", axis, PRIMARY);
                self.add(offset, self.section.pixel(axis, 0.0), true, &mut cards)?;
            }
        }
        Ok(cards)
    }

    fn absent_of_axis(
        &self,
        description: &Description,
        axis: usize,
        cards: &mut Vec<Card>,
    ) -> Result<(), FormatError> {
        let name = |root| AxisName::of(root, axis, description.letter);
        self.add(name("CRPIX"), self.section.pixel(axis, 0.0), true, cards)?;
        let step = self.section.step(axis);
        if step == 1.0 {
            return Ok(());
        }
        let (pc, cd) = (&description.pc, &description.cd);
        if !pc.is_empty() && !pc.isolates(axis) {
            let diagonal = pc.diagonal("PC", axis, description.letter);
            return self.add(diagonal, step, true, cards);
        }
        let by_cd = pc.is_empty() && !cd.is_empty();
        if by_cd {
            // See `increment` of [`crate::axis`]: CDELT is the increment of such an axis.
            let cdelt = name("CDELT").to_string();
            let increment = self.header.get_f64(&cdelt)?.unwrap_or(1.0);
            let diagonal = cd.diagonal("CD", axis, description.letter);
            return self.add(diagonal, increment * step, !cd.touches(axis), cards);
        }
        self.add(name("CDELT"), step, true, cards)
    }

    /// Adds a card if it is needed and absent.
    fn add(
        &self,
        name: AxisName,
        value: f64,
        needed: bool,
        cards: &mut Vec<Card>,
    ) -> Result<(), FormatError> {
        if needed
            && !self.present.contains(&name)
            && let Some(keyword) = self.keyword(name)?
        {
            cards.push(Card::new(&keyword, self.finite(&keyword, value)?, "")?);
        }
        Ok(())
    }

    fn axis_card(&self, card: &Card, name: AxisName) -> Result<Option<Card>, FormatError> {
        let column = name.column().unwrap_or(name.axis);
        let is_ancestor = matches!(name.root, "LTV" | "LTM");
        if is_ancestor && !(self.section.keeps(name.axis) && self.section.keeps(column)) {
            return Ok(None);
        }
        if self.tabulated.contains(&(name.axis, name.letter)) {
            return Ok(None);
        }
        let Some(keyword) = self.keyword(name)? else { return Ok(None) };
        if let Some(value) = self.axis_value(card, name)? {
            return self.changed(card, &keyword, value).map(Some);
        }
        let text = card.value().and_then(Value::as_text).unwrap_or_default().trim_end();
        if let (true, "CTYPE", Some(plain)) = (self.dropped, name.root, text.strip_suffix("-SIP")) {
            return card.with_value(&keyword, plain).map(Some);
        }
        let same = self.section.number(name.axis) == Some(name.axis)
            && self.section.number(column) == Some(column);
        Ok(Some(if same { card.clone() } else { card.renamed(&keyword) }))
    }

    /// Returns the new value of a card, or `None` if its value stays.
    fn axis_value(&self, card: &Card, name: AxisName) -> Result<Option<f64>, FormatError> {
        let axis = match name.root {
            "PC" | "CD" => name.column().unwrap_or(name.axis),
            _ => name.axis,
        };
        if !self.section.moves(axis) {
            return Ok(None);
        }
        let step = self.section.step(axis);
        let pc = self.description(name.letter).map(|description| &description.pc);
        // CDELT beside CD serves old readers and follows CD.
        let in_pc = pc.is_some_and(|pc| !pc.is_empty() && !pc.isolates(axis));
        let number = |default: f64| -> Result<f64, FormatError> {
            Ok(card_number(self.header, card)?.unwrap_or(default))
        };
        let on_diagonal = if name.column() == Some(name.axis) { 1.0 } else { 0.0 };
        Ok(match name.root {
            "CRPIX" | "LTV" => Some(self.section.pixel(axis, number(0.0)?)),
            "CDELT" if step != 1.0 && !in_pc => Some(number(1.0)? * step),
            "PC" if step != 1.0 && in_pc => Some(number(on_diagonal)? * step),
            "CD" if step != 1.0 => Some(number(0.0)? * step),
            "LTM" if step != 1.0 => Some(number(on_diagonal)? / step),
            _ => None,
        })
    }

    /// Returns WCSAXES, raised to the largest axis number.
    fn wcsaxes(&self, card: &Card, letter: char) -> Result<Card, FormatError> {
        let declared = self.description(letter).and_then(|description| description.wcsaxes);
        let Some(declared) = declared.filter(|_| !self.in_order()) else {
            return Ok(card.clone());
        };
        let most = self.most_axes.get(&letter).copied().unwrap_or(0);
        let number = most.max(declared - self.section.removed_up_to(declared));
        if number == declared {
            return Ok(card.clone());
        }
        card.with_value(&with_letter("WCSAXES", letter), number)
    }

    /// Whether every axis is kept and has its old number.
    fn in_order(&self) -> bool {
        (1..=self.section.axes()).all(|axis| self.section.keeps_in_place(axis))
    }

    fn description(&self, letter: char) -> Option<&Description> {
        self.descriptions.iter().find(|description| description.letter == letter)
    }

    /// CNPIXn of the Digitized Sky Survey: pixel p is pixel p + CNPIXn - 0.5 of the plate, measured in units of
    /// XPIXELSZ and YPIXELSZ; these are multiplied by the step.
    fn plate_pixel(&self, axis: usize, corner: f64) -> f64 {
        let centre = self.section.centre(axis);
        match self.section.step(axis) {
            1.0 => corner + (centre - 1.0),
            step => (corner - 0.5 + centre - step) / step + 0.5,
        }
    }

    /// Returns the keyword with the new axis numbers; `None` if one of its axes is removed.
    fn keyword(&self, name: AxisName) -> Result<Option<String>, FormatError> {
        let column = name.column().unwrap_or(name.axis);
        if self.section.number(name.axis).is_none() || self.section.number(column).is_none() {
            return Ok(None);
        }
        // Both axes are present.
        let number = |axis| self.section.number(axis).unwrap_or(axis);
        let keyword = name.renumbered(number).to_string();
        if keyword.len() <= 8 {
            return Ok(Some(keyword));
        }
        let place = self.header.place(&name.to_string());
        let expected = "a keyword of at most 8 characters for the new number of the axis";
        Err(FormatError::new(Code::CardText, place, expected, keyword))
    }

    fn finite(&self, keyword: &str, value: f64) -> Result<Value, FormatError> {
        if value.is_finite() {
            return Ok(value.into());
        }
        let place = self.header.place(keyword);
        let expected = "a coordinate within the range of f64";
        Err(FormatError::new(Code::KeywordRange, place, expected, value.to_string()))
    }

    fn changed(&self, card: &Card, keyword: &str, value: f64) -> Result<Card, FormatError> {
        let was_integer = matches!(card.value(), Some(Value::Integer(_)));
        let exact = value.fract() == 0.0 && value.abs() < 9e15;
        let value = match keyword {
            "CNPIX1" | "CNPIX2" if was_integer && exact => Value::from(value as i64),
            _ => self.finite(card.keyword(), value)?,
        };
        card.with_value(keyword, value)
    }

    /// Rejects an image whose axes LTM mixes: a plane of it has no pixel in the ancestor.
    fn refuse_coupled_ancestors(&self) -> Result<(), FormatError> {
        for card in self.header.cards() {
            let Some(name) = AxisName::parse(card.keyword()).filter(|name| name.root == "LTM")
            else {
                continue;
            };
            let column = name.column().unwrap_or(name.axis);
            let left_out = !self.section.keeps(name.axis) || !self.section.keeps(column);
            let number = card_number(self.header, card)?.unwrap_or(0.0);
            if left_out && column != name.axis && number != 0.0 {
                let place = self.header.place(card.keyword());
                let expected = "axes that LTM does not mix";
                let found = format!("{} = {number}", card.keyword());
                return Err(FormatError::new(Code::AxisCoupled, place, expected, found));
            }
        }
        Ok(())
    }
}

/// Returns the axis, 1 or 2, of a keyword of the Digitized Sky Survey.
fn plate_axis(keyword: &str) -> Option<usize> {
    match keyword {
        "CNPIX1" | "XPIXELSZ" => Some(1),
        "CNPIX2" | "YPIXELSZ" => Some(2),
        _ => None,
    }
}

fn with_letter(keyword: &str, letter: char) -> String {
    format!("{keyword}{letter}").trim_end().to_owned()
}

/// Returns the axis of spectral type, if there is exactly one.
fn spectral_axis(header: &Header, axes: usize) -> Option<usize> {
    let mut numbers = axes_of_type(header, axes, is_spectral).map(|axis| axis + 1);
    numbers.next().filter(|_| numbers.next().is_none())
}
