//! Resolves the names of a condition, and checks that its operands match: numbers with numbers,
//! strings with strings, truth values where truth is needed. The result is an expression over
//! [`ConditionLeaf`]s. No data is read here.

use tachyfits_format::text::significant;
use tachyfits_format::{Column, Element, Field, Null, TableLayout, TextForm};
use tachyfits_kernels::{Binary, Encoding, PixelType, Unary};

use super::super::read_text::TextNumbers;
use super::operand::ConditionLeaf;
use super::side::{Decimal, StringField, Text, TextField, Whole};
use crate::expression::language::constant;
use crate::expression::parse::{Expression, Id, Item, Name};
use crate::expression::problem::ExpressionProblem;
use crate::image::pixel_type;

/// A condition whose names are indices of leaves.
pub(super) struct Resolved {
    pub(super) expression: Expression,
    pub(super) leaves: Vec<ConditionLeaf>,
}

/// Type of a part of a condition.
#[derive(Clone, Debug)]
enum PartKind {
    Number,
    /// 1 or 0, never null.
    Truth,
    /// 1, 0, or NaN for null.
    Logical,
    Text(Text),
}

/// A part of a condition: its operation in the new expression; its integer value or decimal text, if it has one.
#[derive(Clone, Debug)]
struct ResolvedPart {
    id: Id,
    kind: PartKind,
    whole: Option<Whole>,
    decimal: Option<Decimal>,
    /// Its value, if it is the same in all rows: a number, or arithmetic on numbers.
    constant: Option<f64>,
    /// Whether it is a float32 of the table, possibly negated.
    is_single: bool,
}

impl ResolvedPart {
    /// Creates a part without an operation, such as a string.
    fn of(kind: PartKind) -> ResolvedPart {
        let (whole, decimal, constant) = (None, None, None);
        ResolvedPart { id: usize::MAX, kind, whole, decimal, constant, is_single: false }
    }
}

/// Checks a condition; its text shows how numbers are written.
pub(super) fn check(
    text: &str,
    expression: &Expression,
    layout: &TableLayout,
) -> Result<Resolved, ExpressionProblem> {
    let mut checker = Checker {
        text,
        expression,
        layout,
        items: Vec::new(),
        leaves: Vec::new(),
        // At most an item per character of the expression, whose length is limited.
        parts: Vec::with_capacity(expression.items.len()),
    };
    for id in 0..expression.items.len() {
        let part = checker.part(id)?;
        checker.parts.push(part);
    }
    let result = checker.truth(expression.result)?;
    let Checker { items, leaves, .. } = checker;
    let (places, names) = (Vec::new(), Vec::new());
    let (texts, patterns) = (Vec::new(), Vec::new());
    let expression = Expression { items, places, names, texts, patterns, result };
    Ok(Resolved { expression, leaves })
}

struct Checker<'a> {
    text: &'a str,
    expression: &'a Expression,
    layout: &'a TableLayout,
    /// The new expression.
    items: Vec<Item>,
    leaves: Vec<ConditionLeaf>,
    /// The new part for each item of the old expression.
    parts: Vec<ResolvedPart>,
}

impl Checker<'_> {
    fn part(&mut self, id: Id) -> Result<ResolvedPart, ExpressionProblem> {
        match self.expression.items[id] {
            Item::Number(value) => {
                let digits = &self.text[self.expression.places[id].clone()];
                let whole = digits.parse().ok().map(Whole::Constant);
                let decimal = Decimal::of_text(digits);
                let constant = Some(value);
                Ok(ResolvedPart {
                    whole,
                    decimal,
                    constant,
                    ..self.number_part(Item::Number(value))
                })
            }
            Item::Text(number) => {
                let text = significant(self.expression.texts[number].as_bytes()).to_vec();
                Ok(self.text_part(Text::Constant(text)))
            }
            Item::Name(number) => self.name(&self.expression.names[number]),
            Item::Unary(Unary::Not, x) => {
                let x = self.truth(x)?;
                Ok(self.truth_part(Item::Unary(Unary::Not, x)))
            }
            Item::Unary(Unary::IsNan, x) => Ok(self.is_null(x)),
            Item::Unary(unary, x) => {
                let part = self.parts[x].clone();
                let x = self.number(x)?;
                let item = self.number_part(Item::Unary(unary, x));
                let is_single = part.is_single && matches!(unary, Unary::Negate | Unary::Abs);
                if unary != Unary::Negate {
                    return Ok(ResolvedPart { is_single, ..item });
                }
                let whole = match part.whole {
                    Some(Whole::Constant(value)) => Some(Whole::Constant(-value)),
                    _ => None,
                };
                let decimal = part.decimal.map(Decimal::negated);
                let constant = part.constant.map(|value| -value);
                Ok(ResolvedPart { whole, decimal, constant, is_single, ..item })
            }
            Item::Binary(binary, a, b) => self.binary(id, binary, a, b),
            Item::Select(condition, a, b) => {
                let item = Item::Select(self.truth(condition)?, self.number(a)?, self.number(b)?);
                Ok(self.number_part(item))
            }
            Item::Like { text, pattern, is_like } => {
                let PartKind::Text(text) = self.parts[text].kind.clone() else {
                    let place = self.expression.places[id].clone();
                    return Err(ExpressionProblem::new(place, "a string before like", "a number")
                        .hint("compare numbers, as in 10 <= N && N < 20"));
                };
                let pattern = self.expression.patterns[pattern].clone();
                let item = self.leaf(ConditionLeaf::Like { text, pattern, is_like });
                Ok(self.truth_part(item))
            }
        }
    }

    fn binary(
        &mut self,
        id: Id,
        binary: Binary,
        a: Id,
        b: Id,
    ) -> Result<ResolvedPart, ExpressionProblem> {
        use Binary::{And, Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual, Or};
        match binary {
            And | Or => {
                if let Some(sides) = self.bits(id, a, b) {
                    let whole = Whole::Bits(binary, Box::new(sides));
                    let item = self.leaf(ConditionLeaf::Whole(whole.clone()));
                    return Ok(ResolvedPart { whole: Some(whole), ..self.number_part(item) });
                }
                self.refuse_bits(id, a, b)?;
                let item = Item::Binary(binary, self.truth(a)?, self.truth(b)?);
                Ok(self.truth_part(item))
            }
            Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual => {
                self.comparison(id, binary, a, b)
            }
            _ => {
                let constants = self.parts[a].constant.zip(self.parts[b].constant);
                let constant = constants.and_then(|(a, b)| folded(binary, a, b));
                let item = Item::Binary(binary, self.number(a)?, self.number(b)?);
                Ok(ResolvedPart { constant, ..self.number_part(item) })
            }
        }
    }

    /// Returns the integers for bitwise `&` and `|`; beside truth values these operators mean `and` and `or`.
    fn bits(&self, id: Id, a: Id, b: Id) -> Option<[Whole; 2]> {
        let symbol = &self.text[self.expression.places[id].clone()];
        match (&self.parts[a], &self.parts[b]) {
            (ResolvedPart { whole: Some(left), .. }, ResolvedPart { whole: Some(right), .. })
                if matches!(symbol, "&" | "|") =>
            {
                Some([left.clone(), right.clone()])
            }
            _ => None,
        }
    }

    /// Rejects `&` and `|` of two numbers if one is not an integer: a scaled column or a fraction.
    fn refuse_bits(&self, id: Id, a: Id, b: Id) -> Result<(), ExpressionProblem> {
        let symbol = &self.text[self.expression.places[id].clone()];
        let are_numbers =
            [a, b].iter().all(|&side| matches!(self.parts[side].kind, PartKind::Number));
        match [a, b].into_iter().find(|&side| self.parts[side].whole.is_none()) {
            Some(side) if are_numbers && matches!(symbol, "&" | "|") => {
                let (expected, found) = ("an integer, which has bits", "a scaled or real number");
                let place = self.expression.places[side].clone();
                let hint = "columns with TSCALn, and reals, have no bits: compare them, as in \
                            (a > 1) & (b > 2)";
                Err(ExpressionProblem::new(place, expected, found).hint(hint))
            }
            _ => Ok(()),
        }
    }

    fn comparison(
        &mut self,
        id: Id,
        binary: Binary,
        a: Id,
        b: Id,
    ) -> Result<ResolvedPart, ExpressionProblem> {
        let leaf = match (&self.parts[a], &self.parts[b]) {
            (
                ResolvedPart { kind: PartKind::Text(left), .. },
                ResolvedPart { kind: PartKind::Text(right), .. },
            ) => Some(ConditionLeaf::Texts(binary, [left.clone(), right.clone()])),
            (ResolvedPart { kind: PartKind::Text(_), .. }, _)
            | (_, ResolvedPart { kind: PartKind::Text(_), .. }) => {
                let place = self.expression.places[id].clone();
                let expected = "strings on both sides, or numbers on both sides";
                return Err(ExpressionProblem::new(place, expected, "a string and a number")
                    .hint("write strings in quotes and numbers without quotes"));
            }
            (ResolvedPart { whole: Some(left), .. }, ResolvedPart { whole: Some(right), .. })
                if left.is_long() || right.is_long() =>
            {
                Some(ConditionLeaf::Wholes(binary, [left.clone(), right.clone()]))
            }
            (
                ResolvedPart { whole: Some(whole), .. },
                ResolvedPart { decimal: Some(decimal), .. },
            ) if whole.is_long_of_rows() => Some(decimal.compared(binary, whole)),
            (
                ResolvedPart { decimal: Some(decimal), .. },
                ResolvedPart { whole: Some(whole), .. },
            ) if whole.is_long_of_rows() => Some(decimal.compared(mirrored(binary), whole)),
            _ => None,
        };
        if let Some(leaf) = leaf {
            let item = self.leaf(leaf);
            return Ok(self.truth_part(item));
        }
        let long = |id: Id| self.parts[id].whole.clone().filter(|whole| whole.is_long_of_rows());
        match (long(a), long(b)) {
            (Some(whole), _) => return self.long_comparison(binary, whole, b),
            (_, Some(whole)) => return self.long_comparison(mirrored(binary), whole, a),
            _ => {}
        }
        let (a, b) = (self.beside(a, b)?, self.beside(b, a)?);
        if binary == Binary::NotEqual {
            // `!=` would be true of NaN, which represents null.
            let less = self.push(Item::Binary(Binary::Less, a, b));
            let greater = self.push(Item::Binary(Binary::Greater, a, b));
            return Ok(self.truth_part(Item::Binary(Binary::Or, less, greater)));
        }
        Ok(self.truth_part(Item::Binary(binary, a, b)))
    }

    /// Returns a side of a comparison. A number beside a float32 column is rounded to float32, as
    /// in NumPy 2, so that `MAG <= 0.1` is true of a value displayed as 0.1.
    fn beside(&mut self, side: Id, other: Id) -> Result<Id, ExpressionProblem> {
        let id = self.number(side)?;
        let single = self.parts[side].constant.filter(|_| self.parts[other].is_single);
        match single.map(|value| value as f32).filter(|value| value.is_finite()) {
            Some(value) => Ok(self.push(Item::Number(value.into()))),
            None => Ok(id),
        }
    }

    /// Compares 64-bit integers with f64 exactly: an integer is split into the nearest f64 and a
    /// remainder. Rounding preserves order, so the remainder decides only if the nearest f64 equals
    /// the other side.
    fn long_comparison(
        &mut self,
        binary: Binary,
        whole: Whole,
        x: Id,
    ) -> Result<ResolvedPart, ExpressionProblem> {
        use Binary::{And, Equal, Greater, GreaterEqual, Less, LessEqual, Or};
        let x = self.number(x)?;
        let [nearest, rest] = [ConditionLeaf::Whole(whole.clone()), ConditionLeaf::Rest(whole)]
            .map(|leaf| {
                let item = self.leaf(leaf);
                self.push(item)
            });
        let zero = self.push(Item::Number(0.0));
        let mut combine = |binary, a, b| self.push(Item::Binary(binary, a, b));
        let is_nearest = combine(Equal, nearest, x);
        let differs: &[Binary] = match binary {
            Less | LessEqual => &[Less],
            Greater | GreaterEqual => &[Greater],
            Equal => &[],
            _ => &[Less, Greater],
        };
        // A null never equals `x`, so `!=` of its remainder does not count.
        let by_rest = combine(binary, rest, zero);
        let mut truth = combine(And, is_nearest, by_rest);
        for &order in differs {
            let by_nearest = combine(order, nearest, x);
            truth = combine(Or, truth, by_nearest);
        }
        Ok(ResolvedPart { id: truth, ..ResolvedPart::of(PartKind::Truth) })
    }

    /// Tests whether a number is null, or a string is null or empty.
    fn is_null(&mut self, x: Id) -> ResolvedPart {
        let ResolvedPart { id, kind, .. } = self.parts[x].clone();
        let item = match kind {
            PartKind::Text(text) => self.leaf(ConditionLeaf::NoText(text)),
            _ => Item::Unary(Unary::IsNan, id),
        };
        self.truth_part(item)
    }

    fn name(&mut self, name: &Name) -> Result<ResolvedPart, ExpressionProblem> {
        let column = self.layout.column(&name.text);
        let word = if name.is_quoted { None } else { word(&name.text) };
        match (column, word) {
            (Some(_), Some(_)) => {
                let found = format!("{:?}, a column and a word of the language", name.text);
                let hint = format!(
                    "write `{0}` in backquotes for the column, #ROW for the number of the row",
                    name.text
                );
                Err(ExpressionProblem::input(name.at.clone(), "an unambiguous name", found)
                    .hint(hint))
            }
            (Some(column), None) => self.column(name, column),
            (None, Some(word)) if name.element.is_none() => Ok(match word {
                Word::Row => {
                    let item = self.leaf(ConditionLeaf::Row);
                    ResolvedPart { whole: Some(Whole::Row), ..self.number_part(item) }
                }
                Word::Truth(value) => self.truth_part(Item::Number(f64::from(u8::from(value)))),
                Word::Number(value) => {
                    let constant = Some(value);
                    ResolvedPart { constant, ..self.number_part(Item::Number(value)) }
                }
            }),
            (None, Some(_)) => Err(ExpressionProblem::input(
                name.at.clone(),
                "a column of arrays before [",
                format!("{:?}", name.text),
            )),
            (None, None) => {
                let expected = super::super::a_column_of(self.layout);
                Err(ExpressionProblem::input(name.at.clone(), expected, format!("{:?}", name.text))
                    .hint(
                        "names may be in either case; put strings into quotes, and names with \
                           characters other than letters, digits and _ into backquotes",
                    ))
            }
        }
    }

    fn column(&mut self, name: &Name, number: usize) -> Result<ResolvedPart, ExpressionProblem> {
        let column = &self.layout.columns[number];
        let index = element_index(name, column)?;
        match column.field {
            Field::Text { text: TextForm::Characters, width, .. } => {
                let null = match &column.null {
                    Some(Null::Text(null)) => Some(null.clone()),
                    _ => None,
                };
                let (at, width) = (column.offset, width as usize);
                let field = StringField { column: number, at, width, null, encoding: None };
                Ok(self.text_part(Text::Field(field)))
            }
            Field::Text { .. } => {
                let Some(numbers) = TextNumbers::new(column) else {
                    return Err(refused(name, column, "a column of numbers or strings", ELSEWHERE));
                };
                let field = TextField { column: number, at: column.offset, numbers };
                let whole = field.numbers.are_integers().then(|| Whole::Parsed(field.clone()));
                let item = self.leaf(ConditionLeaf::Parsed(field));
                Ok(ResolvedPart { whole, ..self.number_part(item) })
            }
            Field::Fixed { .. } if column.substrings.is_some() => {
                Err(refused(name, column, "a column of single strings", ELSEWHERE))
            }
            Field::Fixed { element, width, .. } => {
                self.element(name, number, element, width, index)
            }
            Field::Variable { .. } => {
                Err(refused(name, column, "a column whose values are in the rows", ELSEWHERE))
            }
        }
    }

    /// Resolves an element of a binary table's column.
    fn element(
        &mut self,
        name: &Name,
        number: usize,
        element: Element,
        width: u64,
        index: u64,
    ) -> Result<ResolvedPart, ExpressionProblem> {
        let column = &self.layout.columns[number];
        let null = match column.null {
            Some(Null::Stored(null)) => Some(null),
            _ => None,
        };
        // The layout accepts only fields within the row, whose size fits 64 bits.
        let at = column.offset + index * element.bytes() * width;
        match element {
            Element::Character => {
                let width = usize::try_from(width).map_err(|_| {
                    refused(name, column, "a string that fits in memory", ELSEWHERE)
                })?;
                let field = StringField { column: number, at, width, null: None, encoding: None };
                Ok(self.text_part(Text::Field(field)))
            }
            Element::Logical => {
                let item = self.leaf(ConditionLeaf::Logical { at });
                Ok(ResolvedPart { kind: PartKind::Logical, ..self.number_part(item) })
            }
            Element::Bit => {
                let (at, mask) = (column.offset + index / 8, 0x80 >> (index % 8));
                let item = self.leaf(ConditionLeaf::Bit { at, mask });
                Ok(self.truth_part(item))
            }
            Element::Number(value) => {
                let pixel = pixel_type(value);
                let scaling = column.scaled.then_some((column.scale, column.zero));
                let encoding = Encoding { scaling, blank: null, ..Encoding::plain(pixel) };
                let item = self.leaf(ConditionLeaf::Number { at, encoding });
                let is_whole = !column.scaled && !pixel.is_float();
                let whole = is_whole.then_some(Whole::Stored { at, pixel, null });
                let is_single = !column.scaled && pixel == PixelType::F32;
                Ok(ResolvedPart { whole, is_single, ..self.number_part(item) })
            }
            Element::Complex32 | Element::Complex64 => {
                Err(refused(name, column, "a column of numbers that are not complex", ELSEWHERE))
            }
        }
    }

    /// Returns the operation of a part as a number; fails for strings.
    fn number(&self, id: Id) -> Result<Id, ExpressionProblem> {
        match self.parts[id].kind {
            PartKind::Text(_) => {
                let place = self.expression.places[id].clone();
                Err(ExpressionProblem::new(place, "a number", "a string")
                    .hint("compare strings only with strings"))
            }
            PartKind::Number | PartKind::Truth | PartKind::Logical => Ok(self.parts[id].id),
        }
    }

    /// Returns the operation of a part as a truth value; a null is false.
    fn truth(&mut self, id: Id) -> Result<Id, ExpressionProblem> {
        let part = self.parts[id].clone();
        let found = match part.kind {
            PartKind::Truth => return Ok(part.id),
            PartKind::Logical => {
                let one = self.push(Item::Number(1.0));
                return Ok(self.push(Item::Binary(Binary::Equal, part.id, one)));
            }
            PartKind::Number => "a number",
            PartKind::Text(_) => "a string",
        };
        let place = self.expression.places[id].clone();
        Err(ExpressionProblem::new(
            place,
            "a truth value: a comparison, or a logical column",
            found,
        )
        .hint("compare it, as in FLAGS != 0 or CLASS == 'STAR'"))
    }

    fn number_part(&mut self, item: Item) -> ResolvedPart {
        ResolvedPart { id: self.push(item), ..ResolvedPart::of(PartKind::Number) }
    }

    fn truth_part(&mut self, item: Item) -> ResolvedPart {
        ResolvedPart { kind: PartKind::Truth, ..self.number_part(item) }
    }

    fn text_part(&mut self, text: Text) -> ResolvedPart {
        ResolvedPart::of(PartKind::Text(text))
    }

    /// Returns the item of a leaf; equal leaves share one.
    fn leaf(&mut self, leaf: ConditionLeaf) -> Item {
        let existing = self.leaves.iter().position(|other| *other == leaf);
        Item::Name(existing.unwrap_or_else(|| {
            self.leaves.push(leaf);
            self.leaves.len() - 1
        }))
    }

    fn push(&mut self, item: Item) -> Id {
        self.items.push(item);
        self.items.len() - 1
    }
}

/// Evaluates arithmetic on two numbers as Python does; `None` for other operations.
fn folded(binary: Binary, a: f64, b: f64) -> Option<f64> {
    Some(match binary {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide => a / b,
        Binary::Power => a.powf(b),
        _ => return None,
    })
}

/// Swaps the sides of a comparison: `a < b` becomes `b > a`.
fn mirrored(comparison: Binary) -> Binary {
    match comparison {
        Binary::Less => Binary::Greater,
        Binary::LessEqual => Binary::GreaterEqual,
        Binary::Greater => Binary::Less,
        Binary::GreaterEqual => Binary::LessEqual,
        other => other,
    }
}

/// Meaning of a name that is not a column.
enum Word {
    Row,
    Truth(bool),
    Number(f64),
}

fn word(name: &str) -> Option<Word> {
    match name {
        "T" | "true" => Some(Word::Truth(true)),
        "F" | "false" => Some(Word::Truth(false)),
        _ if name.eq_ignore_ascii_case("ROW") || name.eq_ignore_ascii_case("#ROW") => {
            Some(Word::Row)
        }
        _ => constant(name).map(Word::Number),
    }
}

/// Returns the index of the element within the cell, from 0.
fn element_index(name: &Name, column: &Column) -> Result<u64, ExpressionProblem> {
    let (elements, width) = match column.field {
        Field::Fixed { element: Element::Character, repeat, width } => (repeat, width),
        Field::Fixed { repeat, .. } => (repeat, 1),
        Field::Text { .. } | Field::Variable { .. } => (1, 1),
    };
    let product = column.dimensions.iter().product();
    let elements = if column.dimensions.is_empty() { elements } else { product };
    // A string without characters counts as one element.
    let elements = elements.checked_div(width).unwrap_or(1);
    match name.element {
        Some(index) if index <= elements => Ok(index - 1),
        None if elements == 1 => Ok(0),
        _ => {
            let expected = match elements {
                0 => "a column that has elements".to_owned(),
                _ => format!("one element: {0}[1] to {0}[{elements}]", column.name),
            };
            Err(refused(name, column, &expected, ELEMENTS))
        }
    }
}

/// Hint for requests that a condition cannot express.
const ELSEWHERE: &str = "conditions need single numbers, strings, logical values or bits: read \
                         the column, select rows from its values, and give their numbers, \
                         read(rows=...)";

/// Hint about the index of an element.
const ELEMENTS: &str = "count elements from 1, in file order: the first axis of TDIM varies \
                        fastest";

fn refused(name: &Name, column: &Column, expected: &str, hint: &str) -> ExpressionProblem {
    let element = name.element.map_or_else(String::new, |element| format!("[{element}]"));
    let found = format!("{}{element} of TFORM '{}'", column.name, column.form);
    ExpressionProblem::input(name.at.clone(), expected, found).hint(hint)
}
