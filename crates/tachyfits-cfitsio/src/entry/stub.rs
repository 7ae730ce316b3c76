//! The way into the library and out of it: arguments are kept as they came, so that a call that is forwarded needs no
//! knowledge of them.

use std::arch::naked_asm;

/// The registers that have arguments: six integers or pointers, and the first float. All functions here have one at most.
#[repr(C)]
pub(super) struct Registers {
    pub(super) words: [u64; 6],
    pub(super) float: u64,
    /// Keeps the stack aligned.
    _rest: u64,
}

/// What becomes of a call.
#[repr(C)]
pub(super) struct Decision {
    /// The function that gets the call; 0 where it was served.
    pub(super) function: usize,
    /// The result of a call that was served.
    pub(super) result: u64,
}

/// Saves the arguments, asks `decide`, and either jumps to the real function with the same registers and stack, or returns
/// the result. The row of the table is in EAX.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn enter() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 64",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "movsd [rsp + 48], xmm0",
        "mov edi, eax",
        "mov rsi, rsp",
        "lea rdx, [rbp + 8]",
        "call {decide}",
        "test rax, rax",
        "jz 2f",
        "mov r11, rax",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "movsd xmm0, [rsp + 48]",
        "leave",
        ".cfi_remember_state",
        ".cfi_def_cfa rsp, 8",
        "jmp r11",
        "2:",
        ".cfi_restore_state",
        "mov rax, rdx",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        decide = sym super::decide,
    )
}
