//! The exported names: each is a stub of two instructions that passes its row of the table.

use std::arch::naked_asm;
use std::ffi::CStr;

use tachyfits::PixelType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

use super::shape::{Caller, Entry, Shape};

macro_rules! entries {
    ($($shape:ident $caller:ident $nulls:ident: $($name:ident $kind:ident),+;)+) => {
        #[expect(non_camel_case_types, reason = "names of functions")]
        #[derive(Clone, Copy)]
        #[repr(u32)]
        enum Row {
            $($($name),+),+
        }

        $($(
            #[unsafe(naked)]
            // SAFETY: no other library linked with this one defines the name; overriding CFITSIO's function is the
            // purpose.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                naked_asm!(
                    "mov eax, {row}",
                    "jmp {enter}",
                    row = const Row::$name as u32,
                    enter = sym super::enter,
                )
            }
        )+)+

        /// All exported names.
        pub(super) static ENTRIES: &[Entry] = &[
            $($(Entry {
                name: match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name has no NUL"),
                },
                shape: Shape::$shape,
                caller: Caller::$caller,
                kind: $kind,
                flags: nulls!($nulls),
            }),+),+
        ];
    };
}

macro_rules! nulls {
    (flags) => {
        true
    };
    (value) => {
        false
    };
}

// The type is ignored for functions of any type, and for functions without an array.
entries! {
    Pixels C value: ffgpxv U8, ffgpxvll U8;
    Pixels C flags: ffgpxf U8, ffgpxfll U8;
    RunOfType C value: ffgpv U8;
    RunOfType C flags: ffgpf U8;
    Run C value: ffgpvb U8, ffgpvsb I8, ffgpvui U16, ffgpvi I16, ffgpvuk U32, ffgpvk I32, ffgpvuj U64, ffgpvj I64,
        ffgpvujj U64, ffgpvjj I64, ffgpve F32, ffgpvd F64;
    Run C flags: ffgpfb U8, ffgpfsb I8, ffgpfui U16, ffgpfi I16, ffgpfuk U32, ffgpfk I32, ffgpfuj U64, ffgpfj I64,
        ffgpfujj U64, ffgpfjj I64, ffgpfe F32, ffgpfd F64;
    SectionOfType C value: ffgsv U8;
    Section C value: ffgsvb U8, ffgsvsb I8, ffgsvui U16, ffgsvi I16, ffgsvuk U32, ffgsvk I32, ffgsvuj U64,
        ffgsvj I64, ffgsvujj U64, ffgsvjj I64, ffgsve F32, ffgsvd F64;
    Section C flags: ffgsfb U8, ffgsfsb I8, ffgsfui U16, ffgsfi I16, ffgsfuk U32, ffgsfk I32, ffgsfuj U64,
        ffgsfj I64, ffgsfujj U64, ffgsfjj I64, ffgsfe F32, ffgsfd F64;
    Plane C value: ffg2db U8, ffg2dsb I8, ffg2dui U16, ffg2di I16, ffg2duk U32, ffg2dk I32, ffg2duj U64, ffg2dj I64,
        ffg2dujj U64, ffg2djj I64, ffg2de F32, ffg2dd F64;
    Cube C value: ffg3db U8, ffg3dsb I8, ffg3dui U16, ffg3di I16, ffg3duk U32, ffg3dk I32, ffg3duj U64, ffg3dj I64,
        ffg3dujj U64, ffg3djj I64, ffg3de F32, ffg3dd F64;
    ColumnOfType C value: ffgcv U8;
    ColumnOfType C flags: ffgcf U8;
    Column C value: ffgcvb U8, ffgcvsb I8, ffgcvui U16, ffgcvi I16, ffgcvuk U32, ffgcvk I32, ffgcvuj U64, ffgcvj I64,
        ffgcvujj U64, ffgcvjj I64, ffgcve F32, ffgcvd F64;
    Column C flags: ffgcfb U8, ffgcfsb I8, ffgcfui U16, ffgcfi I16, ffgcfuk U32, ffgcfk I32, ffgcfuj U64, ffgcfj I64,
        ffgcfujj U64, ffgcfjj I64, ffgcfe F32, ffgcfd F64;
    Run Fortran value: ftgpvb_ U8, ftgpvi_ I16, ftgpvj_ I32, ftgpvk_ I64, ftgpve_ F32, ftgpvd_ F64;
    Run LongFortran value: ftgpvbll_ U8, ftgpvill_ I16, ftgpvjll_ I32, ftgpvkll_ I64, ftgpvell_ F32, ftgpvdll_ F64;
    Section Fortran value: ftgsvb_ U8, ftgsvi_ I16, ftgsvj_ I32, ftgsvk_ I64, ftgsve_ F32, ftgsvd_ F64;
    Plane Fortran value: ftg2db_ U8, ftg2di_ I16, ftg2dj_ I32, ftg2dk_ I64, ftg2de_ F32, ftg2dd_ F64;
    Cube Fortran value: ftg3db_ U8, ftg3di_ I16, ftg3dj_ I32, ftg3dk_ I64, ftg3de_ F32, ftg3dd_ F64;
    Column Fortran value: ftgcvb_ U8, ftgcvi_ I16, ftgcvj_ I32, ftgcvk_ I64, ftgcve_ F32, ftgcvd_ F64;
    Column LongFortran value: ftgcvbll_ U8, ftgcvill_ I16, ftgcvjll_ I32, ftgcvkll_ I64, ftgcvell_ F32, ftgcvdll_ F64;
    Close C value: ffclos U8, ffdelt U8;
    Scale C value: ffpscl U8;
    NullValue C value: ffpnul U8;
    Decompress C value: fits_img_decompress U8;
    Checksum C value: ffpcks U8;
}
