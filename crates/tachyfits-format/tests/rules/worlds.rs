//! World coordinates by linear algebra: a slow, simple implementation to compare the written
//! headers with. Projections are applied after it and have no effect here.

use tachyfits_format::Header;

/// Computes the intermediate world coordinates of a pixel (1-based), one per axis of the
/// description; pixel axes missing in `pixel` are at pixel 1.
pub fn world(header: &Header, letter: &str, pixel: &[f64]) -> Vec<f64> {
    let wcsaxes = header.get_i64(&format!("WCSAXES{letter}")).unwrap().unwrap_or(0) as usize;
    let axes = pixel.len().max(wcsaxes);
    let number = |root: &str, axis: usize| number(header, &format!("{root}{axis}{letter}"));
    let matrix = matrix(header, letter, axes);
    let offset = |axis: usize| {
        let pixel = pixel.get(axis - 1).copied().unwrap_or(1.0);
        pixel - number("CRPIX", axis).unwrap_or(0.0)
    };
    let sum = |row: &Vec<f64>| (1..=axes).zip(row).map(|(axis, m)| m * offset(axis)).sum::<f64>();
    let reference = (1..=axes).map(|axis| number("CRVAL", axis).unwrap_or(0.0));
    reference.zip(&matrix).map(|(reference, row)| reference + sum(row)).collect()
}

fn number(header: &Header, keyword: &str) -> Option<f64> {
    header.get_f64(keyword).unwrap()
}

fn element(header: &Header, root: &str, letter: &str, row: usize, column: usize) -> Option<f64> {
    let new = number(header, &format!("{root}{row}_{column}{letter}"));
    let old = || number(header, &format!("{root}{row:03}{column:03}"));
    new.or_else(|| old().filter(|_| letter.is_empty()))
}

/// Returns CDELT times PC, or CD (CDELT for an axis without CD elements), or CDELT with a rotation
/// of the axes RA and DEC.
fn matrix(header: &Header, letter: &str, axes: usize) -> Vec<Vec<f64>> {
    let has = |root: &str| {
        (1..=axes).any(|i| (1..=axes).any(|j| element(header, root, letter, i, j).is_some()))
    };
    let cdelt = |axis| number(header, &format!("CDELT{axis}{letter}")).unwrap_or(1.0);
    let mut matrix = vec![vec![0.0; axes]; axes];
    let (has_pc, has_cd) = (has("PC"), has("CD"));
    for row in 1..=axes {
        for column in 1..=axes {
            let unit = f64::from(u8::from(row == column));
            let touched = (1..=axes).any(|n| {
                element(header, "CD", letter, row, n).is_some()
                    || element(header, "CD", letter, n, row).is_some()
            });
            matrix[row - 1][column - 1] = if has_pc {
                cdelt(row) * element(header, "PC", letter, row, column).unwrap_or(unit)
            } else if touched {
                element(header, "CD", letter, row, column).unwrap_or(0.0)
            } else {
                cdelt(row) * unit
            };
        }
    }
    if !has_pc && !has_cd {
        rotate(header, letter, &mut matrix);
    }
    matrix
}

fn rotate(header: &Header, letter: &str, matrix: &mut [Vec<f64>]) {
    let axis = |name: &str| {
        (1..=matrix.len()).find(|axis| {
            let ctype = header.get_text(&format!("CTYPE{axis}{letter}")).unwrap();
            ctype.is_some_and(|ctype| ctype.starts_with(name))
        })
    };
    let (Some(ra), Some(dec)) = (axis("RA"), axis("DEC")) else { return };
    let angle = number(header, &format!("CROTA{dec}{letter}")).unwrap_or(0.0).to_radians();
    let (x, y) = (matrix[ra - 1][ra - 1], matrix[dec - 1][dec - 1]);
    matrix[ra - 1][ra - 1] = x * angle.cos();
    matrix[ra - 1][dec - 1] = -y * angle.sin();
    matrix[dec - 1][ra - 1] = x * angle.sin();
    matrix[dec - 1][dec - 1] = y * angle.cos();
}

/// Returns the pixel of IRAF's ancestor: p of l = LTM · p + LTV, for a diagonal LTM.
pub fn ancestor(header: &Header, pixel: &[f64]) -> Vec<f64> {
    let convert = |(axis, pixel): (usize, &f64)| {
        let ltv = number(header, &format!("LTV{axis}")).unwrap_or(0.0);
        (pixel - ltv) / number(header, &format!("LTM{axis}_{axis}")).unwrap_or(1.0)
    };
    (1..).zip(pixel).map(convert).collect()
}
