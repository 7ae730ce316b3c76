//! Compiles an expression into a program: steps over a few buffers that stay in the first-level cache.
//!
//! Constants are folded with the kernels that would compute them, so that the bits are the same.
//! Repeated parts of an expression are computed once. A step works in place if its operand is not
//! needed later.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tachyfits_kernels::{Binary, Operand, Tier, Unary, binary, binary_reversed, select, unary};

use super::parse::{Expression, Id, Item};

/// Value of a name of the expression in a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NameValue {
    Number(f64),
    /// The pixels of an input, by index.
    Pixels(usize),
}

/// Index of a buffer.
pub(crate) type Slot = usize;

/// A buffer, or a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OperandPlace {
    Slot(Slot),
    Number(f64),
}

/// One step of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// Loads the pixels of an input.
    Load {
        input: usize,
        slot: Slot,
    },
    /// Fills a buffer with a constant.
    Fill {
        value: f64,
        slot: Slot,
    },
    Copy {
        from: Slot,
        to: Slot,
    },
    /// Applies a unary operation in place.
    Unary {
        unary: Unary,
        slot: Slot,
    },
    /// Applies a binary operation; the result replaces `left`.
    Binary {
        binary: Binary,
        left: Slot,
        right: OperandPlace,
    },
    /// Applies a binary operation; the result replaces `right`.
    Reversed {
        binary: Binary,
        left: f64,
        right: Slot,
    },
    /// Selects by `condition`, which the result replaces.
    Select {
        condition: Slot,
        then: OperandPlace,
        otherwise: OperandPlace,
    },
}

/// A program. It computes one number per pixel from the numbers of its inputs at that pixel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Program {
    steps: Vec<Step>,
    slots: usize,
    result: Slot,
}

impl Program {
    /// Compiles an expression with values for its names. Also returns the indices of the inputs
    /// that it needs; `load` gets positions in that list.
    pub(crate) fn new(
        expression: &Expression,
        names: &[NameValue],
        tier: Tier,
    ) -> (Program, Vec<usize>) {
        let (values, result) = KnownValues::of(expression, names, tier);
        let mut program = Compiler::new(&values, result).compile(&values);
        let mut inputs = Vec::new();
        for step in &mut program.steps {
            // Equal inputs are one value, so that each is loaded once.
            if let Step::Load { input, .. } = step {
                inputs.push(*input);
                *input = inputs.len() - 1;
            }
        }
        (program, inputs)
    }

    /// Number of buffers.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// Computes `count` results. `load` fills a buffer with pixels of an input; returns the buffer of the results.
    pub(crate) fn run<'a>(
        &self,
        slots: &'a mut [Vec<f64>],
        count: usize,
        tier: Tier,
        mut load: impl FnMut(usize, &mut [f64]),
    ) -> &'a mut [f64] {
        for step in &self.steps {
            match *step {
                Step::Load { input, slot } => load(input, &mut slots[slot][..count]),
                Step::Fill { value, slot } => slots[slot][..count].fill(value),
                Step::Copy { from, to } => {
                    let mut copy = std::mem::take(&mut slots[to]);
                    copy[..count].copy_from_slice(&slots[from][..count]);
                    slots[to] = copy;
                }
                Step::Unary { unary: operation, slot } => {
                    unary(operation, &mut slots[slot][..count], tier);
                }
                Step::Binary { binary: operation, left, right } => {
                    let mut values = std::mem::take(&mut slots[left]);
                    binary(operation, &mut values[..count], operand(slots, right, count), tier);
                    slots[left] = values;
                }
                Step::Reversed { binary: operation, left, right } => {
                    let right = &mut slots[right][..count];
                    binary_reversed(operation, Operand::Scalar(left), right, tier);
                }
                Step::Select { condition, then, otherwise } => {
                    let mut values = std::mem::take(&mut slots[condition]);
                    let then = operand(slots, then, count);
                    let otherwise = operand(slots, otherwise, count);
                    select(&mut values[..count], then, otherwise, tier);
                    slots[condition] = values;
                }
            }
        }
        &mut slots[self.result][..count]
    }
}

fn operand(slots: &[Vec<f64>], place: OperandPlace, count: usize) -> Operand<'_> {
    match place {
        OperandPlace::Slot(slot) => Operand::Slice(&slots[slot][..count]),
        OperandPlace::Number(value) => Operand::Scalar(value),
    }
}

/// A value of an expression; operands are indices of earlier values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Value {
    /// Stored as bits, to distinguish NaN and -0.0.
    Number(u64),
    Pixels(usize),
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    Select(Id, Id, Id),
}

impl Value {
    fn operands(self) -> [Option<Id>; 3] {
        match self {
            Value::Number(_) | Value::Pixels(_) => [None; 3],
            Value::Unary(_, x) => [Some(x), None, None],
            Value::Binary(_, a, b) => [Some(a), Some(b), None],
            Value::Select(condition, a, b) => [Some(condition), Some(a), Some(b)],
        }
    }
}

/// Distinct values of an expression, each after its operands.
struct KnownValues {
    values: Vec<Value>,
    ids: HashMap<Value, Id>,
    tier: Tier,
}

impl KnownValues {
    fn of(expression: &Expression, names: &[NameValue], tier: Tier) -> (Vec<Value>, Id) {
        let mut values = KnownValues { values: Vec::new(), ids: HashMap::new(), tier };
        // At most an item per character of the expression, whose length is limited.
        let mut ids: Vec<Id> = Vec::with_capacity(expression.items.len());
        for item in &expression.items {
            let value = match *item {
                Item::Number(number) => Value::Number(number.to_bits()),
                Item::Name(name) => match names[name] {
                    NameValue::Number(number) => Value::Number(number.to_bits()),
                    NameValue::Pixels(input) => Value::Pixels(input),
                },
                // Strings are compared where they are read, and are not operands.
                Item::Text(_) | Item::Like { .. } => Value::Number(f64::NAN.to_bits()),
                Item::Unary(unary, x) => Value::Unary(unary, ids[x]),
                Item::Binary(binary, a, b) => Value::Binary(binary, ids[a], ids[b]),
                Item::Select(condition, a, b) => Value::Select(ids[condition], ids[a], ids[b]),
            };
            ids.push(values.add(value));
        }
        (values.values, ids[expression.result])
    }

    /// Returns the index of a value, after folding constants.
    fn add(&mut self, value: Value) -> Id {
        let value = match value {
            Value::Unary(operation, x) => match self.number(x) {
                Some(x) => self.folded(|tier, out| {
                    out[0] = x;
                    unary(operation, out, tier);
                }),
                None => value,
            },
            Value::Binary(operation, a, b) => match (self.number(a), self.number(b)) {
                (Some(a), Some(b)) => self.folded(|tier, out| {
                    out[0] = a;
                    binary(operation, out, Operand::Scalar(b), tier);
                }),
                _ => value,
            },
            Value::Select(condition, a, b) => match self.number(condition) {
                Some(condition) => return if condition == 0.0 { b } else { a },
                None => value,
            },
            Value::Number(_) | Value::Pixels(_) => value,
        };
        match self.ids.entry(value) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(place) => {
                self.values.push(value);
                *place.insert(self.values.len() - 1)
            }
        }
    }

    fn number(&self, id: Id) -> Option<f64> {
        match self.values[id] {
            Value::Number(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    fn folded(&self, compute: impl FnOnce(Tier, &mut [f64])) -> Value {
        let mut out = [0.0];
        compute(self.tier, &mut out);
        Value::Number(out[0].to_bits())
    }
}

/// Assigns buffers to values.
struct Compiler {
    steps: Vec<Step>,
    /// Number of remaining uses of each value.
    uses: Vec<usize>,
    /// Buffer of each value.
    places: Vec<Option<Slot>>,
    free: Vec<Slot>,
    slots: usize,
    result: Id,
}

impl Compiler {
    fn new(values: &[Value], result: Id) -> Compiler {
        // Operands come first, so a single backward pass finds the values that the result needs.
        // At most an item per character of the expression, whose length is limited.
        let mut uses = vec![0; values.len()];
        uses[result] = 1;
        for (id, value) in values.iter().enumerate().rev() {
            if uses[id] > 0 {
                value.operands().into_iter().flatten().for_each(|operand| uses[operand] += 1);
            }
        }
        // At most an item per character of the expression, whose length is limited.
        let places = vec![None; values.len()];
        Compiler { steps: Vec::new(), uses, places, free: Vec::new(), slots: 0, result }
    }

    fn compile(mut self, values: &[Value]) -> Program {
        for (id, &value) in values.iter().enumerate() {
            if self.uses[id] > 0 {
                self.emit(values, id, value);
            }
        }
        let result = self.own(values, self.result);
        let Compiler { steps, slots, .. } = self;
        Program { steps, slots, result }
    }

    fn emit(&mut self, values: &[Value], id: Id, value: Value) {
        match value {
            // A constant gets a buffer only if it must be overwritten.
            Value::Number(_) => {}
            Value::Pixels(input) => {
                let slot = self.new_slot();
                self.steps.push(Step::Load { input, slot });
                self.places[id] = Some(slot);
            }
            Value::Unary(unary, x) => {
                let slot = self.own(values, x);
                self.steps.push(Step::Unary { unary, slot });
                self.places[id] = Some(slot);
            }
            Value::Binary(binary, a, b) => {
                let slot = match values[a] {
                    Value::Number(bits) => {
                        let (left, right) = (f64::from_bits(bits), self.own(values, b));
                        self.steps.push(Step::Reversed { binary, left, right });
                        right
                    }
                    _ => {
                        let left = self.own(values, a);
                        let right = self.place(b, values);
                        self.steps.push(Step::Binary { binary, left, right });
                        self.done(b);
                        left
                    }
                };
                self.places[id] = Some(slot);
            }
            Value::Select(condition, a, b) => {
                let slot = self.own(values, condition);
                let (then, otherwise) = (self.place(a, values), self.place(b, values));
                self.steps.push(Step::Select { condition: slot, then, otherwise });
                self.done(a);
                self.done(b);
                self.places[id] = Some(slot);
            }
        }
    }

    /// Returns a buffer with the value that may be overwritten, and counts one use.
    fn own(&mut self, values: &[Value], id: Id) -> Slot {
        self.uses[id] -= 1;
        match (values[id], self.places[id]) {
            (Value::Number(bits), _) => self.filled(bits),
            (_, Some(slot)) if self.uses[id] == 0 => {
                self.places[id] = None;
                slot
            }
            (_, Some(from)) => {
                let to = self.new_slot();
                self.steps.push(Step::Copy { from, to });
                to
            }
            (_, None) => unreachable!("operands are computed before"),
        }
    }

    /// Returns the buffer or the number of a value.
    fn place(&self, id: Id, values: &[Value]) -> OperandPlace {
        match (values[id], self.places[id]) {
            (Value::Number(bits), _) => OperandPlace::Number(f64::from_bits(bits)),
            (_, Some(slot)) => OperandPlace::Slot(slot),
            (_, None) => unreachable!("operands are computed before"),
        }
    }

    /// Counts one use of a value, and frees its buffer after the last.
    fn done(&mut self, id: Id) {
        self.uses[id] -= 1;
        if self.uses[id] == 0
            && let Some(slot) = self.places[id].take()
        {
            self.free.push(slot);
        }
    }

    fn filled(&mut self, bits: u64) -> Slot {
        let slot = self.new_slot();
        self.steps.push(Step::Fill { value: f64::from_bits(bits), slot });
        slot
    }

    fn new_slot(&mut self) -> Slot {
        self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        })
    }
}
