//! Locates, disassembles and checks the machine code of the kernels.

use iced_x86::{Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Register};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::HashMap;
use tachyfits_kernels::machine_code::{
    CONTROL, LoopShape, SUBJECTS, Subject, Takes, UNSOURCED, encodings,
};
use tachyfits_kernels::{Encoding, PixelType, Tier};

/// Code of this program: functions by their address in memory.
struct Program {
    functions: HashMap<usize, Vec<u8>>,
}

/// A function whose addresses in the file and in memory are both known; their difference applies to all functions.
#[inline(never)]
fn landmark() -> &'static str {
    "vectorised::x86::landmark"
}

impl Program {
    #[expect(clippy::disallowed_methods, reason = "the program reads itself, not FITS")]
    fn of_this_test() -> Program {
        let path = std::env::current_exe().expect("a program has a path");
        let bytes = std::fs::read(path).expect("a running program can be read");
        let file = object::File::parse(&*bytes).expect("a program file");
        let symbols: Vec<_> =
            file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text).collect();
        let named = |symbol: &object::Symbol<'_, '_>| {
            let name = symbol.name().unwrap_or_default();
            landmark().split("::").all(|part| name.contains(part))
        };
        let landmark_symbol =
            symbols.iter().find(|symbol| named(symbol)).expect("symbols of functions");
        let shift = (landmark as fn() -> &'static str as usize)
            .wrapping_sub(landmark_symbol.address() as usize);
        let mut functions = HashMap::new();
        for symbol in symbols {
            let section = symbol.section_index().and_then(|at| file.section_by_index(at).ok());
            let code = section.and_then(|section| {
                section.data_range(symbol.address(), symbol.size()).ok().flatten()
            });
            let address = (symbol.address() as usize).wrapping_add(shift);
            functions.insert(address, code.unwrap_or_default().to_vec());
        }
        Program { functions }
    }

    fn loops(&self, address: usize) -> Vec<Loop> {
        let code = self.functions.get(&address).expect("the kernel is a function of this program");
        let decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
        let instructions: Vec<Instruction> = decoder.into_iter().collect();
        innermost_loops(&instructions).into_iter().map(Loop::new).collect()
    }
}

/// Arithmetic in the body of a loop.
#[derive(Clone, Copy, Debug, Default)]
struct Loop {
    /// Vector operations, and the bytes of the narrowest vector.
    packed: usize,
    width: usize,
    /// Scalar operations.
    single: usize,
    /// Integer additions on vectors, and the bytes of the narrowest vector.
    integers: usize,
    integer_width: usize,
    /// Prefetched cache lines.
    prefetches: usize,
}

impl Loop {
    fn new(body: &[Instruction]) -> Loop {
        let mut result = Loop { width: usize::MAX, integer_width: usize::MAX, ..Loop::default() };
        let mut factory = InstructionInfoFactory::new();
        for instruction in body {
            if matches!(plain_name(instruction).as_str(), "paddd" | "paddq") {
                result.integers += 1;
                result.integer_width = result.integer_width.min(widest(&mut factory, instruction));
            }
            result.prefetches += usize::from(plain_name(instruction) == "prefetcht0");
            match arithmetic(instruction) {
                Some(true) => {
                    result.packed += 1;
                    result.width = result.width.min(widest(&mut factory, instruction));
                }
                Some(false) => result.single += 1,
                None => {}
            }
        }
        result
    }
}

/// Returns the bodies of loops that contain no other loop: from the target of a jump back to the jump.
fn innermost_loops(code: &[Instruction]) -> Vec<&[Instruction]> {
    let mut loops = Vec::new();
    for (end, jump) in code.iter().enumerate() {
        if !(jump.is_jcc_short_or_near() || jump.is_jmp_short_or_near()) {
            continue;
        }
        let target = jump.near_branch_target();
        let begin = code[..=end].iter().position(|other| other.ip() == target);
        loops.extend(begin.map(|begin| (begin, end)));
    }
    let holds_another = |&(begin, end): &(usize, usize)| {
        loops.iter().any(|&(b, e)| begin <= b && e <= end && (b, e) != (begin, end))
    };
    let inner = loops.iter().filter(|place| !holds_another(place));
    inner.map(|&(begin, end)| &code[begin..=end]).collect()
}

/// Returns the name of an instruction without the prefix v of its wider form.
fn plain_name(instruction: &Instruction) -> String {
    let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
    name.strip_prefix('v').unwrap_or(&name).to_owned()
}

/// Whether an instruction is vector (true) or scalar (false) floating-point arithmetic; `None` for others.
fn arithmetic(instruction: &Instruction) -> Option<bool> {
    let name = plain_name(instruction);
    // Some decoding of floats only swaps bytes.
    if name == "pshufb" {
        return Some(true);
    }
    let stems = [
        "add", "sub", "mul", "div", "sqrt", "min", "max", "cvtpd2", "cvtdq2", "cvtudq2", "cvtqq2",
        "cvtuqq2", "cvtps2", "cmp", "cvtsi2", "cvtusi2", "ucomi", "cvtss2",
    ];
    if !stems.iter().any(|stem| name.starts_with(stem)) {
        return None;
    }
    match &name[name.len() - 2..] {
        "pd" | "ps" => Some(true),
        "sd" | "ss" => Some(false),
        _ => None,
    }
}

/// Returns the bytes of the widest vector register that an instruction uses.
fn widest(factory: &mut InstructionInfoFactory, instruction: &Instruction) -> usize {
    let registers =
        factory.info(instruction).used_registers().iter().map(|registers| registers.register());
    registers
        .filter(|register: &Register| register.is_vector_register())
        .map(|register| register.size())
        .max()
        .unwrap_or(0)
}

/// Returns the minimum vector width of a tier, in bytes. AVX-512 may use 32, which is sometimes faster.
fn least_width(tier: Tier) -> usize {
    if tier.name() == "x86-64-v2" { 16 } else { 32 }
}

/// Returns the fault in a kernel's code; `None` if it is vector code.
fn complaint(subject: &Subject, loops: &[Loop], tier: Tier) -> Option<String> {
    let least = least_width(tier);
    // Decoding and arithmetic are two operations; a loop over native numbers may have a single one, a square root.
    let operations = if subject.takes == Takes::Numbers { 1 } else { 2 };
    let is_vector = |body: &&Loop| match subject.shape {
        LoopShape::HalfLanes => {
            body.packed >= operations && body.single == 0 && 2 * body.width >= least
        }
        LoopShape::Integers => body.integers >= 1 && body.integer_width >= least,
        _ => body.packed >= operations && body.single == 0 && body.width >= least,
    };
    if !loops.iter().any(|body| is_vector(&body)) {
        return Some(format!("no loop is vector code: {loops:?}"));
    }
    let single: usize = loops.iter().map(|body| body.single).sum();
    let in_lanes = matches!(subject.shape, LoopShape::Lanes | LoopShape::HalfLanes);
    (in_lanes && single > 0).then(|| format!("a loop works on single numbers: {loops:?}"))
}

/// Whether the tier lacks the vector conversion of 64-bit integers, which AVX-512 introduced.
fn lacks_conversion(encoding: &Encoding, tier: Tier) -> bool {
    matches!(encoding.pixel, PixelType::I64 | PixelType::U64) && tier.name() != "x86-64-v4"
}

fn complaints(subjects: &[Subject], program: &Program) -> Vec<String> {
    let mut result = Vec::new();
    for subject in subjects {
        for encoding in encodings() {
            for tier in Tier::available() {
                let concerned = subject.concerns(&encoding);
                if !concerned
                    || subject.has_no_arithmetic(&encoding)
                    || lacks_conversion(&encoding, tier)
                {
                    continue;
                }
                let Some(address) = (subject.address)(&encoding, tier) else { continue };
                if let Some(words) = complaint(subject, &program.loops(address), tier) {
                    result.push(format!("{} {encoding:?} {tier:?}: {words}", subject.name));
                }
            }
        }
    }
    result
}

#[test]
fn every_kernel_is_vector_code_on_every_tier() {
    let program = Program::of_this_test();
    let mut result = complaints(SUBJECTS, &program);
    result.extend(complaints(UNSOURCED, &program));
    assert!(result.is_empty(), "{} are not:\n{}", result.len(), result.join("\n"));
}

#[test]
fn sums_of_pixels_in_memory_prefetch() {
    let program = Program::of_this_test();
    let names = [
        "sum",
        "sum, all defined",
        "sum of integers",
        "stats, first pass, all defined",
        "sums of rows",
        "moments of rows",
        "extrema of rows",
        "spectral sums of rows",
    ];
    for subject in SUBJECTS.iter().filter(|subject| names.contains(&subject.name)) {
        for tier in Tier::available() {
            let encoding = Encoding::plain(PixelType::I32);
            let Some(address) = (subject.address)(&encoding, tier) else { continue };
            let loops = program.loops(address);
            assert!(loops.iter().any(|body| body.prefetches > 0), "{} {tier:?}", subject.name);
        }
    }
}

#[test]
fn a_kernel_that_is_not_vector_code_is_found_out() {
    let program = Program::of_this_test();
    let result = complaints(CONTROL, &program);
    for tier in Tier::available().iter().skip(1) {
        let of_tier = format!("{tier:?}:");
        assert!(result.iter().filter(|words| words.contains(&of_tier)).count() >= 10, "{tier:?}");
    }
}
