//! Meanings of words, checked by hand.

use tachyfits::Table;

use crate::common::{table, table_file};
use crate::rows;

/// Returns four rows: MAG 18.5, 20, null, -1; CLASS STAR, GALAXY, STAR, (none); GOOD T, F, null, T; ID 2^53 +
/// 0, 1, 2, 3.
pub fn catalog() -> Table {
    let cards = [
        "TTYPE1  = 'MAG'",
        "TFORM1  = 'D'",
        "TTYPE2  = 'CLASS'",
        "TFORM2  = '6A'",
        "TTYPE3  = 'GOOD'",
        "TFORM3  = 'L'",
        "TTYPE4  = 'ID'",
        "TFORM4  = 'K'",
        "TTYPE5  = 'T'",
        "TFORM5  = 'I'",
        "TTYPE6  = 'e'",
        "TFORM6  = 'I'",
        "TTYPE7  = 'C'",
        "TFORM7  = 'C'",
        "TTYPE8  = 'V'",
        "TFORM8  = 'PJ'",
        "TTYPE9  = 'XY'",
        "TFORM9  = '2I'",
        "TTYPE10 = 'min'",
        "TFORM10 = 'I'",
        "TTYPE11 = 'NAMES'",
        "TFORM11 = '6A3'",
    ]
    .map(str::to_owned);
    let mut bytes = Vec::new();
    let mags = [18.5, 20.0, f64::NAN, -1.0];
    let classes = [b"STAR  ", b"GALAXY", b"STAR\0?", b"\0\0\0\0\0\0"];
    for row in 0..4 {
        bytes.extend(mags[row].to_be_bytes());
        bytes.extend(classes[row]);
        bytes.push([b'T', b'F', 0, b'T'][row]);
        bytes.extend(((1i64 << 53) + row as i64).to_be_bytes());
        bytes.extend([0, row as u8, 0, 10 + row as u8]);
        bytes.extend([0; 16]);
        bytes.extend([0, row as u8, 1, row as u8]);
        bytes.extend([0, row as u8]);
        bytes.extend([b'a', b' ', 0, b'b' + row as u8, b'c', b' ']);
    }
    table(table_file("BINTABLE", [bytes.len() as u64 / 4, 4], 0, &cards, &bytes))
}

#[test]
fn words_have_their_documented_meaning() {
    let cases: [(&str, &[u64]); 48] = [
        ("CLASS IN ('STAR', 'x')", &[0, 2]),
        ("MAG not in (20, -1)", &[0]),
        ("ID in (9007199254740993) || min in (3)", &[1, 3]),
        ("MAG < 20 && CLASS == 'STAR'", &[0]),
        ("mag<20&&class=='STAR'", &[0]),
        ("MAG < 20 and not CLASS == \"STAR\"", &[3]),
        ("(MAG < 20) & (CLASS != 'STAR')", &[3]),
        ("MAG != 20", &[0, 3]),
        ("MAG == MAG", &[0, 1, 3]),
        ("!(MAG < 20)", &[1, 2]),
        ("isnull(MAG)", &[2]),
        ("isnan(MAG) || isnull(GOOD)", &[2]),
        ("isnull(CLASS)", &[3]),
        ("CLASS == ''", &[3]),
        ("CLASS == '   '", &[3]),
        ("CLASS == 'STAR  '", &[0, 2]),
        ("'STAR' <= CLASS", &[0, 2]),
        ("CLASS < 'H'", &[1, 3]),
        ("CLASS == CLASS", &[0, 1, 2, 3]),
        ("'a' < 'b'", &[0, 1, 2, 3]),
        ("GOOD", &[0, 3]),
        ("!GOOD", &[1, 2]),
        ("GOOD == false", &[1]),
        ("GOOD != true", &[1]),
        ("GOOD == (MAG > 0)", &[0]),
        ("GOOD && true", &[0, 3]),
        ("false", &[]),
        ("1 < 2", &[0, 1, 2, 3]),
        ("ROW == 2", &[1]),
        ("#row >= 3", &[2, 3]),
        ("ROW % 2 == 0", &[1, 3]),
        ("ID == 9007199254740993", &[1]),
        ("ID > 9007199254740993", &[2, 3]),
        ("9007199254740993 >= ID", &[0, 1]),
        ("ID != 9007199254740993", &[0, 2, 3]),
        ("ID - 9007199254740992 > 1", &[2, 3]),
        ("ID < 99999999999999999999999999", &[0, 1, 2, 3]),
        ("ID > -99999999999999999999999999", &[0, 1, 2, 3]),
        ("ID >= -170141183460469231731687303715884105727", &[0, 1, 2, 3]),
        ("`T` == 2", &[2]),
        ("`E` > 11", &[2, 3]),
        ("xy[2] == 258", &[2]),
        ("XY[1] < xy[2] - 256", &[]),
        ("min >= 2", &[2, 3]),
        ("min(min, 1) == 1", &[1, 2, 3]),
        ("NAMES[2] == 'cc' or names[1] == 'b'", &[1]),
        ("where(GOOD, MAG, 100) < 50", &[0, 3]),
        ("clip(MAG, 0, 19) == 19", &[1]),
    ];
    choose(&cases);
}

#[test]
fn like_matches_text_without_the_blanks_at_its_end() {
    choose(&[
        ("CLASS LIKE 'S%'", &[0, 2]),
        ("CLASS like '%A%'", &[0, 1, 2]),
        ("CLASS LIKE 'STA_'", &[0, 2]),
        ("CLASS LIKE 'STAR_'", &[]),
        ("CLASS LIKE 'STAR  '", &[0, 2]),
        ("CLASS LIKE 'STAR %'", &[]),
        ("CLASS LIKE 's%'", &[]),
        ("CLASS NOT LIKE 'S%'", &[1, 3]),
        ("!(CLASS LIKE 'S%')", &[1, 3]),
        ("CLASS LIKE ''", &[3]),
        ("CLASS LIKE '%'", &[0, 1, 2, 3]),
        ("CLASS LIKE '%R' && MAG < 20", &[0]),
        ("CLASS LIKE 'G!%' ESCAPE '!' or CLASS LIKE '______'", &[1]),
        ("'a%c' LIKE 'a!%_' escape '!' and GOOD", &[0, 3]),
        ("NAMES[2] LIKE 'c_'", &[1]),
        ("NAMES[2] not like 'b%'", &[1, 2, 3]),
    ]);
}

#[test]
fn ampersands_and_bars_take_the_bits_of_integers() {
    choose(&[
        ("(`T` & 1) == 0", &[0, 2]),
        ("(ID & 3) == 2 || (ID & 3) == 3", &[2, 3]),
        ("(`T` | 2) == 3", &[1, 3]),
        ("(XY[2] & 1) != 0 && GOOD", &[3]),
        ("(-1 & `T`) == 3", &[3]),
        ("(ID & -1) == 9007199254740993", &[1]),
        ("(ID & 3 & 1) == 1 && ((`T` | 4) & 5) == 5", &[1, 3]),
        ("(ID & 1) + 0.5 > 1", &[1, 3]),
    ]);
}

/// Checks the rows that match each condition.
fn choose(cases: &[(&str, &[u64])]) {
    let table = catalog();
    for (condition, expected) in cases {
        match rows(&table, condition) {
            Ok(rows) => assert_eq!(rows, *expected, "{condition}"),
            Err(error) => panic!("{condition}: {error}"),
        }
    }
}

#[test]
fn the_text_of_ascii_tables_is_looked_at() {
    let cards = [
        "TTYPE1  = 'N'",
        "TFORM1  = 'I5'",
        "TBCOL1  = 1",
        "TNULL1  = '***'",
        "TTYPE2  = 'X'",
        "TFORM2  = 'F6.2'",
        "TBCOL2  = 6",
        "TTYPE3  = 'S'",
        "TFORM3  = 'A3'",
        "TBCOL3  = 12",
        "TTYPE4  = 'LONG'",
        "TFORM4  = 'I20'",
        "TBCOL4  = 15",
        "TTYPE5  = 'SC'",
        "TFORM5  = 'I5'",
        "TBCOL5  = 1",
        "TNULL5  = '***'",
        "TSCAL5  = 2.0",
        "TTYPE6  = 'WORD'",
        "TFORM6  = 'A5'",
        "TBCOL6  = 1",
        "TNULL6  = '***'",
    ]
    .map(str::to_owned);
    let lines = [
        "   12  1.50abc    9007199254740993",
        "***     150 b     9007199254740992",
        "       -0.0 c                     ",
    ];
    let file = table_file("TABLE", [34, 3], 0, &cards, lines.concat().as_bytes());
    let table = table(file);
    for (condition, expected) in [
        ("N == 12", &[0][..]),
        ("N != 12", &[2]),
        ("isnull(N)", &[1]),
        ("X == 1.5", &[0, 1]),
        ("X == 0", &[2]),
        ("S == ' b'", &[1]),
        ("S LIKE '_b%'", &[0, 1]),
        ("WORD LIKE '%'", &[0, 2]),
        ("WORD NOT LIKE 'x'", &[0, 2]),
        ("LONG == 9007199254740993", &[0]),
        ("LONG < 9007199254740993", &[1, 2]),
        ("SC == 24 || isnull(SC)", &[0, 1]),
    ] {
        assert_eq!(rows(&table, condition).unwrap(), expected, "{condition}");
    }
}
