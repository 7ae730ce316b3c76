//! Parses tokens into operations by operator precedence (V. R. Pratt, "Top down operator precedence", 1973).
//!
//! Precedence is Python's, so that expressions mean what NumPy users expect: `**` binds tighter
//! than signs, `&` and `|` tighter than comparisons, `not`, `and`, `or` least; `&&`, `
//! ` equal `and`, `or`, and `!` equals `~`. Misleading forms are errors: a comparison beside an
//! unbracketed `&`, `|`, `~` or another comparison.
//!
//! Operations form a list in which each follows its operands, so that later passes over a long
//! expression do not recurse. The parser recurses for brackets and signs, up to a fixed depth.

use std::ops::Range;

use tachyfits_kernels::{Binary, Unary};

use super::language::{ExpressionFunction, Rule, constant, function};
use super::pattern::Pattern;
use super::problem::ExpressionProblem;
use super::token::{Dialect, Token, TokenKind, tokens, unquoted};

/// Maximum depth of nested brackets, signs and powers.
const MOST_DEPTH: usize = 200;

/// Index of an operation in its expression.
pub(crate) type Id = usize;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Item {
    Number(f64),
    /// Index of a name in [`Expression::names`].
    Name(usize),
    /// Index of a string in [`Expression::texts`]; only in conditions on rows.
    Text(usize),
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    /// The second operand if the first is not 0, else the third.
    Select(Id, Id, Id),
    /// Whether a string matches a pattern, an index in [`Expression::patterns`], or does not
    /// (`is_like` false); only in conditions on rows.
    Like {
        text: Id,
        pattern: usize,
        is_like: bool,
    },
}

/// A name and its first position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) at: Range<usize>,
    /// Whether it is in backquotes: then it is the name of a column, even if it is a word of the language.
    pub(crate) is_quoted: bool,
    /// Index of the element of the column, from 1: `NAME[2]`.
    pub(crate) element: Option<u64>,
}

/// A parsed expression: operations after their operands; the last one computes the result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression {
    pub(crate) items: Vec<Item>,
    /// The position of each item: an operator, a name, a number, or a call.
    pub(crate) places: Vec<Range<usize>>,
    pub(crate) names: Vec<Name>,
    pub(crate) texts: Vec<String>,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) result: Id,
}

impl Expression {
    /// Whether the result is a truth value: of a comparison, `and`, `or`, `not`, or a test such as `isnan`.
    pub(crate) fn is_logical(&self) -> bool {
        use Binary::{And, Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual, Or};
        match self.items[self.result] {
            Item::Unary(unary, _) => matches!(unary, Unary::Not | Unary::IsNan),
            Item::Binary(binary, ..) => matches!(
                binary,
                And | Equal | Greater | GreaterEqual | Less | LessEqual | NotEqual | Or
            ),
            Item::Like { .. } => true,
            Item::Number(_) | Item::Name(_) | Item::Text(_) | Item::Select(..) => false,
        }
    }
}

/// Parses an expression.
pub(crate) fn parse(text: &str, dialect: Dialect) -> Result<Expression, ExpressionProblem> {
    let tokens = tokens(text, dialect)?;
    let mut parser = Parser {
        text,
        dialect,
        tokens,
        next: 0,
        depth: 0,
        items: Vec::new(),
        places: Vec::new(),
        names: Vec::new(),
        texts: Vec::new(),
        patterns: Vec::new(),
    };
    let result = parser.expression(LOWEST)?.id;
    if parser.peek().kind != TokenKind::End {
        return Err(parser.unexpected("an operator or the end"));
    }
    let Parser { items, places, names, texts, patterns, .. } = parser;
    Ok(Expression { items, places, names, texts, patterns, result })
}

/// Notation of a part, as far as its neighbours depend on it.
#[derive(Clone, Copy, PartialEq)]
enum ParsedForm {
    /// A number, a name, a call, a part in brackets, or arithmetic.
    Plain,
    /// Its outermost operator is `&` or `|`.
    Bits,
    /// Begins with `~` or `!`.
    Inverted,
}

#[derive(Clone, Copy)]
struct Parsed {
    id: Id,
    form: ParsedForm,
}

/// A word that is an operator of conditions on rows, in upper or lower case.
#[derive(Clone, Copy)]
enum WordOperator {
    In,
    Like,
}

/// A binary operator.
#[derive(Clone, Copy, PartialEq)]
struct Infix {
    symbol: &'static str,
    /// Precedence: an operator of higher power binds first.
    power: u8,
    binary: Binary,
}

const LOWEST: u8 = 0;
const NOT: u8 = 3;
const COMPARISON: u8 = 4;
const SIGN: u8 = 9;
const POWER: u8 = 10;

const INFIX: [Infix; 19] = [
    infix("or", 1, Binary::Or),
    infix("||", 1, Binary::Or),
    infix("and", 2, Binary::And),
    infix("&&", 2, Binary::And),
    infix("<", COMPARISON, Binary::Less),
    infix("<=", COMPARISON, Binary::LessEqual),
    infix(">", COMPARISON, Binary::Greater),
    infix(">=", COMPARISON, Binary::GreaterEqual),
    infix("==", COMPARISON, Binary::Equal),
    infix("!=", COMPARISON, Binary::NotEqual),
    infix("|", 5, Binary::Or),
    infix("&", 6, Binary::And),
    infix("+", 7, Binary::Add),
    infix("-", 7, Binary::Subtract),
    infix("*", 8, Binary::Multiply),
    infix("/", 8, Binary::Divide),
    infix("//", 8, Binary::FloorDivide),
    infix("%", 8, Binary::Remainder),
    infix("**", POWER, Binary::Power),
];

const fn infix(symbol: &'static str, power: u8, binary: Binary) -> Infix {
    Infix { symbol, power, binary }
}

struct Parser<'a> {
    text: &'a str,
    dialect: Dialect,
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    items: Vec<Item>,
    places: Vec<Range<usize>>,
    names: Vec<Name>,
    texts: Vec<String>,
    patterns: Vec<Pattern>,
}

impl Parser<'_> {
    /// Parses a part whose operators have at least this power.
    fn expression(&mut self, least: u8) -> Result<Parsed, ExpressionProblem> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            let expected = format!("at most {MOST_DEPTH} brackets and signs within each other");
            return Err(ExpressionProblem::new(self.peek().at.clone(), expected, "more")
                .hint("split it: use parts of it as separate images"));
        }
        let mut part = self.prefix(least)?;
        let mut compared = false;
        loop {
            if let Some((operator, is_positive)) = self.word_operator()
                && COMPARISON >= least
            {
                self.check_comparison(part, compared)?;
                compared = true;
                let start = self.take().at.start;
                let end = if is_positive { self.next - 1 } else { self.next };
                self.next = end + 1;
                let at = start..self.tokens[end].at.end;
                part = match operator {
                    WordOperator::In => self.members(part, at, is_positive)?,
                    WordOperator::Like => self.like(part, at, is_positive)?,
                };
                continue;
            }
            let Some(infix) = self.infix().filter(|infix| infix.power >= least) else { break };
            if infix.power == COMPARISON {
                self.check_comparison(part, compared)?;
                compared = true;
            }
            part = self.right_operand(part, infix)?;
        }
        self.depth -= 1;
        Ok(part)
    }

    /// Returns the next operator.
    fn infix(&self) -> Option<Infix> {
        let text = match self.peek().kind {
            TokenKind::Symbol(symbol) => symbol,
            TokenKind::Name => self.word(),
            TokenKind::Number(_) | TokenKind::Text | TokenKind::Quoted | TokenKind::End => {
                return None;
            }
        };
        INFIX.iter().find(|infix| infix.symbol == text).copied()
    }

    /// Returns the next operator `IN` or `LIKE`, in upper or lower case; `false` if `NOT` precedes it.
    fn word_operator(&self) -> Option<(WordOperator, bool)> {
        if self.dialect != Dialect::Rows {
            return None;
        }
        let is_positive = !self.is_word(self.next, "not");
        let next = if is_positive { self.next } else { self.next + 1 };
        let operators = [("in", WordOperator::In), ("like", WordOperator::Like)];
        let operator = operators.iter().find(|(word, _)| self.is_word(next, word));
        operator.map(|(_, operator)| (*operator, is_positive))
    }

    /// Whether a token is this word, in upper or lower case.
    fn is_word(&self, number: usize, word: &str) -> bool {
        self.tokens.get(number).is_some_and(|token| {
            token.kind == TokenKind::Name && self.text[token.at.clone()].eq_ignore_ascii_case(word)
        })
    }

    /// Parses `x LIKE 'pattern'`, with or without `ESCAPE 'c'`.
    fn like(
        &mut self,
        left: Parsed,
        at: Range<usize>,
        is_like: bool,
    ) -> Result<Parsed, ExpressionProblem> {
        let hint = "write x like 'NGC%': % is any text, _ one character";
        let (text, place) = self.string("a pattern in quotes", hint)?;
        let mut escape = None;
        if self.is_word(self.next, "escape") {
            self.next += 1;
            let (expected, hint) = ("one character in quotes", "write escape '!'");
            let (text, place) = self.string(expected, hint)?;
            let mut characters = text.chars();
            escape = characters.next().filter(|_| characters.next().is_none());
            if escape.is_none() {
                return Err(ExpressionProblem::new(place, expected, format!("{text:?}")).hint(hint));
            }
        }
        let pattern = Pattern::new(&text, escape).map_err(|found| {
            ExpressionProblem::new(place, "%, _ or the escape character after it", found)
                .hint("write the escape character twice for itself")
        })?;
        self.patterns.push(pattern);
        let pattern = self.patterns.len() - 1;
        let id = self.push(Item::Like { text: left.id, pattern, is_like }, at);
        Ok(Parsed { id, form: ParsedForm::Plain })
    }

    /// Parses a string; returns it with its position.
    fn string(
        &mut self,
        expected: &str,
        hint: &str,
    ) -> Result<(String, Range<usize>), ExpressionProblem> {
        if self.peek().kind != TokenKind::Text {
            return Err(self.unexpected(expected).hint(hint));
        }
        let at = self.take().at;
        Ok((unquoted(&self.text[at.clone()]), at))
    }

    /// Parses `x IN (a, b)` as `x == a or x == b`, `x NOT IN (a, b)` as `x != a and x != b`: both
    /// are false for a null.
    fn members(
        &mut self,
        left: Parsed,
        at: Range<usize>,
        is_in: bool,
    ) -> Result<Parsed, ExpressionProblem> {
        if self.peek().kind != TokenKind::Symbol("(") {
            return Err(self.unexpected("\"(\" and the values").hint("write x in (1, 2)"));
        }
        let (compare, join) = match is_in {
            true => (Binary::Equal, Binary::Or),
            false => (Binary::NotEqual, Binary::And),
        };
        let mut all = None;
        while all.is_none() || self.peek().kind == TokenKind::Symbol(",") {
            self.next += 1;
            let value = self.expression(LOWEST)?.id;
            let comparison = self.push(Item::Binary(compare, left.id, value), at.clone());
            all = Some(match all {
                Some(all) => self.push(Item::Binary(join, all, comparison), at.clone()),
                None => comparison,
            });
        }
        self.close("an operator, \",\" or \")\"")?;
        Ok(Parsed { id: self.items.len() - 1, form: ParsedForm::Plain })
    }

    fn right_operand(&mut self, left: Parsed, infix: Infix) -> Result<Parsed, ExpressionProblem> {
        let place = self.take().at;
        // Powers associate to the right, and a sign may begin an exponent.
        let least = if infix.power == POWER { SIGN } else { infix.power + 1 };
        let right = self.expression(least)?;
        if infix.power == COMPARISON && right.form == ParsedForm::Bits {
            return Err(brackets_missing(place, infix.symbol));
        }
        let form =
            if matches!(infix.symbol, "&" | "|") { ParsedForm::Bits } else { ParsedForm::Plain };
        Ok(Parsed { id: self.push(Item::Binary(infix.binary, left.id, right.id), place), form })
    }

    /// Checks that the left side of a comparison is not misleading.
    fn check_comparison(&self, left: Parsed, compared: bool) -> Result<(), ExpressionProblem> {
        if compared {
            return Err(self
                .unexpected("one comparison")
                .hint("write a < b < c as (a < b) & (b < c)"));
        }
        match left.form {
            ParsedForm::Plain => Ok(()),
            ParsedForm::Bits => Err(brackets_missing(self.peek().at.clone(), self.word())),
            ParsedForm::Inverted => Err(self
                .unexpected("brackets around the operand of ~ or !")
                .hint("write ~(a > b), or (~a) > b if intended")),
        }
    }

    /// Parses an operand: a sign and its operand, a part in brackets, a number, a name or a call.
    fn prefix(&mut self, least: u8) -> Result<Parsed, ExpressionProblem> {
        let plain = |id| Ok(Parsed { id, form: ParsedForm::Plain });
        let Token { kind, at } = self.take();
        match kind {
            TokenKind::Number(value) => plain(self.push(Item::Number(value), at)),
            TokenKind::Text => {
                self.texts.push(unquoted(&self.text[at.clone()]));
                plain(self.push(Item::Text(self.texts.len() - 1), at))
            }
            TokenKind::Quoted => {
                let name = unquoted(&self.text[at.clone()]);
                plain(self.input(name, at, true)?)
            }
            TokenKind::Symbol("(") => {
                let inner = self.expression(LOWEST)?;
                self.close("an operator or \")\"")?;
                plain(inner.id)
            }
            TokenKind::Symbol("+") => plain(self.expression(SIGN)?.id),
            TokenKind::Symbol("-") => {
                let operand = self.expression(SIGN)?.id;
                plain(self.push(Item::Unary(Unary::Negate, operand), at))
            }
            TokenKind::Symbol("~" | "!") => {
                let operand = self.expression(SIGN)?.id;
                let id = self.push(Item::Unary(Unary::Not, operand), at);
                Ok(Parsed { id, form: ParsedForm::Inverted })
            }
            TokenKind::Name if &self.text[at.clone()] == "not" && least <= NOT => {
                let operand = self.expression(NOT)?.id;
                plain(self.push(Item::Unary(Unary::Not, operand), at))
            }
            TokenKind::Name if !matches!(&self.text[at.clone()], "and" | "or" | "not") => {
                plain(self.name(at)?)
            }
            TokenKind::Name | TokenKind::Symbol(_) | TokenKind::End => {
                self.next -= 1;
                Err(self.unexpected("a number, a name or \"(\""))
            }
        }
    }

    /// Parses a call, a constant, or the name of an input.
    fn name(&mut self, at: Range<usize>) -> Result<Id, ExpressionProblem> {
        let text = &self.text[at.clone()];
        let called = self.peek().kind == TokenKind::Symbol("(");
        match (function(text), called) {
            (Some(function), true) => return self.call(function, at),
            (None, true) => {
                let found = format!("{text:?}");
                return Err(ExpressionProblem::new(at, "the name of a function", found)
                    .hint(suggestion(text, self.dialect)));
            }
            // A column may have the name of a function.
            (Some(_), false) if self.dialect == Dialect::Pixels => {
                return Err(self.unexpected(&format!("\"(\" and the arguments of {text}")));
            }
            (_, false) => {}
        }
        // The parser does not know whether a column has the name of a constant.
        if let Some(value) = constant(text).filter(|_| self.dialect == Dialect::Pixels) {
            return Ok(self.push(Item::Number(value), at));
        }
        self.input(text.to_owned(), at, false)
    }

    /// Parses the index after the name of an input, if any; returns the input.
    fn input(
        &mut self,
        text: String,
        at: Range<usize>,
        is_quoted: bool,
    ) -> Result<Id, ExpressionProblem> {
        let element = self.element()?;
        let same =
            |name: &Name| (&name.text, name.is_quoted, name.element) == (&text, is_quoted, element);
        let existing = self.names.iter().position(same);
        let number = existing.unwrap_or_else(|| {
            self.names.push(Name { text, at: at.clone(), is_quoted, element });
            self.names.len() - 1
        });
        Ok(self.push(Item::Name(number), at))
    }

    /// Parses an index in square brackets.
    fn element(&mut self) -> Result<Option<u64>, ExpressionProblem> {
        if self.peek().kind != TokenKind::Symbol("[") {
            return Ok(None);
        }
        self.next += 1;
        let element = self.word().parse().ok().filter(|&element: &u64| element > 0);
        let Some(element) = element else {
            return Err(self.unexpected("the number of an element, from 1"));
        };
        self.next += 1;
        if self.peek().kind != TokenKind::Symbol("]") {
            return Err(self
                .unexpected("\"]\"")
                .hint("count the elements of an array in one number, in the order of the file"));
        }
        self.next += 1;
        Ok(Some(element))
    }

    fn call(
        &mut self,
        function: &ExpressionFunction,
        at: Range<usize>,
    ) -> Result<Id, ExpressionProblem> {
        self.next += 1;
        let mut arguments = Vec::new();
        if self.peek().kind != TokenKind::Symbol(")") {
            arguments.push(self.expression(LOWEST)?.id);
            while self.peek().kind == TokenKind::Symbol(",") {
                self.next += 1;
                arguments.push(self.expression(LOWEST)?.id);
            }
        }
        self.close("an operator, \",\" or \")\"")?;
        let (least, most) = function.rule.arguments();
        if !(least..=most).contains(&arguments.len()) {
            let ExpressionFunction { names, arguments: signature, .. } = function;
            let end = self.tokens[self.next - 1].at.end;
            let found = format!("{} arguments", arguments.len());
            return Err(ExpressionProblem::new(
                at.start..end,
                format!("{}({signature})", names[0]),
                found,
            )
            .hint("see the functions in the documentation of expressions"));
        }
        let end = self.tokens[self.next - 1].at.end;
        Ok(self.apply(function.rule, &arguments, &(at.start..end)))
    }

    /// Translates a call into operations.
    fn apply(&mut self, rule: Rule, arguments: &[Id], at: &Range<usize>) -> Id {
        let mut push = |item| self.push(item, at.clone());
        match (rule, arguments) {
            (Rule::Unary(unary), [x]) => push(Item::Unary(unary, *x)),
            (Rule::Binary(binary), [a, b]) => push(Item::Binary(binary, *a, *b)),
            (Rule::Where, [condition, a, b]) => push(Item::Select(*condition, *a, *b)),
            (Rule::Clip, [x, low, high]) => {
                let lower_bounded = push(Item::Binary(Binary::Maximum, *x, *low));
                push(Item::Binary(Binary::Minimum, lower_bounded, *high))
            }
            (Rule::IsFinite, [x]) => {
                let size = push(Item::Unary(Unary::Abs, *x));
                let infinity = push(Item::Number(f64::INFINITY));
                push(Item::Binary(Binary::Less, size, infinity))
            }
            (Rule::Separation, &[longitude, latitude, longitude2, latitude2]) => {
                separation(push, [longitude, latitude], [longitude2, latitude2])
            }
            (Rule::Several(binary), [first, others @ ..]) => others
                .iter()
                .fold(*first, |before, other| push(Item::Binary(binary, before, *other))),
            _ => unreachable!("the number of arguments is checked"),
        }
    }

    fn close(&mut self, expected: &str) -> Result<(), ExpressionProblem> {
        if self.peek().kind != TokenKind::Symbol(")") {
            return Err(self.unexpected(expected));
        }
        self.next += 1;
        Ok(())
    }

    fn push(&mut self, item: Item, at: Range<usize>) -> Id {
        self.items.push(item);
        self.places.push(at);
        self.items.len() - 1
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.next]
    }

    /// Takes the next token. The last token is the end.
    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    /// Returns the text of the next token.
    fn word(&self) -> &str {
        &self.text[self.peek().at.clone()]
    }

    /// Creates the error for an unexpected token.
    fn unexpected(&self, expected: &str) -> ExpressionProblem {
        let at = self.peek().at.clone();
        let found = match self.peek().kind {
            TokenKind::End => "the end".to_owned(),
            _ => format!("\"{}\"", self.word()),
        };
        let problem = ExpressionProblem::new(at, expected, found);
        let before = self.next.checked_sub(1).map(|last| self.tokens[last].kind);
        if (before, self.peek().kind) == (Some(TokenKind::Symbol("<")), TokenKind::Symbol(">")) {
            return problem.hint("write != for values that differ");
        }
        match of_other_languages(self.word(), self.dialect) {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    }
}

/// Computes the angle between two positions with T. Vincenty's formula, which is accurate at any distance.
fn separation(mut push: impl FnMut(Item) -> Id, [l1, b1]: [Id; 2], [l2, b2]: [Id; 2]) -> Id {
    use Binary::{Add, Divide, Multiply, Subtract};
    let degree = push(Item::Number(std::f64::consts::PI / 180.0));
    let mut join = |binary, a, b| push(Item::Binary(binary, a, b));
    let difference = join(Subtract, l2, l1);
    let angles = [difference, b1, b2].map(|angle| join(Multiply, angle, degree));
    let [(sl, cl), (s1, c1), (s2, c2)] =
        angles.map(|x| (push(Item::Unary(Unary::Sin, x)), push(Item::Unary(Unary::Cos, x))));
    let mut join = |binary, a, b| push(Item::Binary(binary, a, b));
    let across = join(Multiply, c2, sl);
    let (first, second) = (join(Multiply, c1, s2), join(Multiply, s1, c2));
    let second = join(Multiply, second, cl);
    let along = join(Subtract, first, second);
    let squares = [across, along].map(|x| join(Multiply, x, x));
    let square = join(Add, squares[0], squares[1]);
    let (first, second) = (join(Multiply, s1, s2), join(Multiply, c1, c2));
    let second = join(Multiply, second, cl);
    let cosine = join(Add, first, second);
    let sine = push(Item::Unary(Unary::Sqrt, square));
    let angle = push(Item::Binary(Binary::Atan2, sine, cosine));
    push(Item::Binary(Divide, angle, degree))
}

/// Returns a hint for a word of other languages.
fn of_other_languages(word: &str, dialect: Dialect) -> Option<&'static str> {
    let upper = word.to_ascii_uppercase();
    let any = match &*upper {
        "AND" => Some("write && or and"),
        "OR" => Some("write || or or"),
        "NOT" => Some("write ! or not"),
        "BETWEEN" => Some("write a <= x && x <= b"),
        _ => None,
    };
    let of_rows = match &*upper {
        "LIKE" => Some("write x like 'NGC%', with a column or string before like"),
        "IS" => Some("write isnull(x) or !isnull(x)"),
        _ => None,
    };
    any.or(of_rows.filter(|_| dialect == Dialect::Rows))
}

/// Creates the error for a comparison beside `&` or `|`, which bind its operand first, as in Python.
fn brackets_missing(at: Range<usize>, symbol: &str) -> ExpressionProblem {
    let expected = "brackets around comparisons beside & and |, which bind tighter";
    ExpressionProblem::new(at, expected, format!("\"{symbol}\""))
        .hint("write (a > 1) & (b > 2), or a > 1 && b > 2")
}

/// Returns the name of a similar function of this language.
fn suggestion(name: &str, dialect: Dialect) -> String {
    let lower = name.to_ascii_lowercase();
    match &*lower {
        "power" | "pow" => "write a ** b for powers".to_owned(),
        "mod" | "fmod" => "write a % b for the remainder".to_owned(),
        "if" | "iif" => "use where(condition, a, b)".to_owned(),
        "sum" | "mean" | "median" | "std" | "rms" if dialect == Dialect::Rows => {
            "conditions are evaluated row by row: compute the statistic first and give the number"
                .to_owned()
        }
        "sum" | "mean" | "median" | "std" | "rms" => {
            "expressions are evaluated pixel by pixel: reduce the result, or compute the \
             statistic first and give the number"
                .to_owned()
        }
        _ => match function(&lower) {
            Some(_) => format!("write {lower} in lower case"),
            None => {
                let names: Vec<&str> =
                    super::language::FUNCTIONS.iter().map(|function| function.names[0]).collect();
                format!("use one of {}", names.join(", "))
            }
        },
    }
}
