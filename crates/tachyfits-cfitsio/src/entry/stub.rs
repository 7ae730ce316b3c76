//! The way into the library and out of it: arguments are kept as they came, so that a call that is forwarded needs no
//! knowledge of them.

use std::arch::naked_asm;

/// The registers that have arguments: six integers or pointers, and floats, of which the lower half is used.
#[repr(C)]
pub(super) struct Registers {
    pub(super) words: [u64; 6],
    pub(super) floats: [[u64; 2]; 8],
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
        "sub rsp, 176",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "movups [rsp + 48], xmm0",
        "movups [rsp + 64], xmm1",
        "movups [rsp + 80], xmm2",
        "movups [rsp + 96], xmm3",
        "movups [rsp + 112], xmm4",
        "movups [rsp + 128], xmm5",
        "movups [rsp + 144], xmm6",
        "movups [rsp + 160], xmm7",
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
        "movups xmm0, [rsp + 48]",
        "movups xmm1, [rsp + 64]",
        "movups xmm2, [rsp + 80]",
        "movups xmm3, [rsp + 96]",
        "movups xmm4, [rsp + 112]",
        "movups xmm5, [rsp + 128]",
        "movups xmm6, [rsp + 144]",
        "movups xmm7, [rsp + 160]",
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
