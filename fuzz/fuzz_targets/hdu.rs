//! Any bytes as a file: the walk ends and reads nothing twice, and every HDU can give its image,
//! its groups, its axes and the header of a cutout, which describes the same pixels.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachyfits_format::{AxisSelection, Hdu, ReadOptions, cutout_header};
use tachyfits_fuzz::{walk, walk_as};

fuzz_target!(|bytes: &[u8]| {
    for hdu in walk(bytes) {
        ask(&hdu, bytes);
    }
    walk_as(bytes, ReadOptions::default().strict(true));
});

fn ask(hdu: &Hdu, bytes: &[u8]) {
    assert!(hdu.data_bytes_present <= hdu.data_bytes);
    if let Ok(groups) = hdu.random_groups() {
        assert!(groups.group_count_present <= groups.group_count);
        let mut values = vec![0.0; groups.names().len()];
        groups.parameter_values(bytes, &mut values);
        let _ = groups.group_offset(groups.group_count_present);
    }
    for axis in 0..=hdu.axes.len().min(16) + 1 {
        let _ = hdu.linear_axis(axis).map(|axis| axis.value(1.0));
    }
    // The file's own bytes, which the fuzzer controls, choose the part of each axis.
    let choices = bytes.iter().rev().copied().chain(std::iter::repeat(0));
    let axes: Vec<AxisSelection> =
        hdu.axes.iter().zip(choices).map(|(&size, choice)| selection(size, choice)).collect();
    cutout(hdu, &axes);
}

fn selection(size: u64, choice: u8) -> AxisSelection {
    let step = i64::from(choice >> 5) + 1;
    let stepped = size.div_ceil(step as u64);
    let (first, count, step, keep) = match choice % 4 {
        0 => (0, size, 1, true),
        1 => (size / 3, 1, step, choice & 4 == 0),
        2 => (0, stepped, step, true),
        _ => (size.saturating_sub(1), stepped, -step, true),
    };
    // With margins where the axis stays, and does not become too long for an image.
    let before = if keep && size < 1 << 10 { u64::from(choice & 3) } else { 0 };
    AxisSelection { first, count, step, keep, before, after: before / 2 }
}

fn cutout(hdu: &Hdu, axes: &[AxisSelection]) {
    let Ok(header) = cutout_header(hdu, axes) else { return };
    let cut = walk(&header).pop().expect("a cutout's header begins a file");
    let kept: Vec<u64> = axes.iter().filter(|axis| axis.keep).map(AxisSelection::pixels).collect();
    assert_eq!(cut.axes, kept);
    let (new, old) = (cut.image().expect("it is an image"), hdu.image().expect("it was one"));
    assert_eq!((new.stored, new.value, new.blank), (old.stored, old.value, old.blank));
    assert_eq!((new.scale, new.zero), (old.scale, old.zero));
}
