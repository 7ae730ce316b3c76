//! Written cards are parsed to the same values, and have the fixed format where the Standard
//! requires it.

use proptest::prelude::*;
use tachyfits_format::{Card, Code, Context, Header, Integer, Real, Value};

fn integer() -> impl Strategy<Value = Integer> {
    "[+-]?[0-9]{1,32}".prop_map(|text| Integer::parse(&text).unwrap())
}

/// Numbers of f64, and texts in every notation of the Standard.
fn real() -> impl Strategy<Value = Real> {
    let number = any::<f64>().prop_filter_map("FITS has no such number", Real::from_f64);
    let forms = [
        "[+-]?[0-9]{1,9}\\.[0-9]{0,9}([ED][+-]?[0-9]{1,2})?",
        "[+-]?\\.[0-9]{1,9}([ED][+-]?[0-9]{1,3})?",
        "[+-]?[0-9]{1,9}[ED][+-]?[0-9]{1,2}",
    ];
    let text = prop::sample::select(forms.to_vec()).prop_flat_map(|form| {
        prop::string::string_regex(form).unwrap().prop_map(|text| Real::parse(&text).unwrap())
    });
    prop_oneof![number, text, Just(Real::from_f64(-0.0).unwrap())]
}

/// Strings with many quotes and ampersands; short strings, and strings of several cards.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,30}", "['& a]{0,200}", "[ -~]{60,400}", "a{60,70}'{1,9}&?"]
}

fn value() -> impl Strategy<Value = Value> {
    let real_pair = (real(), real());
    prop_oneof![
        any::<bool>().prop_map(Value::Logical),
        integer().prop_map(Value::Integer),
        real().prop_map(Value::Real),
        (integer(), integer()).prop_map(|(re, im)| Value::ComplexInteger(re, im)),
        real_pair.prop_map(|(re, im)| Value::Complex(re, im)),
        text().prop_map(Value::from),
        Just(Value::Undefined),
    ]
}

/// Numbers and logicals that fit in the fixed format.
fn short() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Logical),
        any::<i32>().prop_map(Value::from),
        "-[0-9]{19}".prop_map(|text| Value::Integer(Integer::parse(&text).unwrap())),
        any::<f32>().prop_map(|number| Value::from(f64::from(number.trunc() % 1e9))),
        "[+-]?[0-9]\\.[0-9]{1,11}[ED][+-]?[0-9]{1,2}"
            .prop_map(|text| Value::Real(Real::parse(&text).unwrap())),
    ]
    .prop_filter("FITS has no such number", |value| *value != Value::Undefined)
}

fn keyword() -> impl Strategy<Value = String> {
    let ordinary = "[A-Z0-9_-]{1,8}".prop_filter("it has no value", |keyword| {
        !["END", "CONTINUE", "COMMENT", "HISTORY"].contains(&keyword.as_str())
    });
    prop_oneof![4 => ordinary, 1 => "ESO [A-Z0-9]{1,8}( [A-Za-z0-9.]{1,8}){1,2}"]
}

/// Characters left for the value in one card: keywords of one to eight letters take 10 bytes with
/// `KEYWORD = `, keywords with blanks take `HIERARCH ` and `=` in addition.
fn room(keyword: &str) -> usize {
    80_usize.saturating_sub(if keyword.contains(' ') { keyword.len() + 10 } else { 10 })
}

/// Parses the header; checks that there are no warnings.
fn read(bytes: &[u8]) -> Header {
    let (header, warnings) = Header::parse(bytes, Context::default()).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    header
}

/// Whether values are equal: complex numbers of an integer and a real are parsed as two reals.
fn same(a: &Value, b: &Value) -> bool {
    let bits = |value: &Value| value.as_f64().map(f64::to_bits);
    a.to_string() == b.to_string() && bits(a) == bits(b) && a.type_name() == b.type_name()
}

/// Words of a comment that may continue in other records, separated by single blanks.
fn long_comment() -> impl Strategy<Value = String> {
    prop::collection::vec("[!-~]{1,40}", 1..20).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_long_comment_of_a_string_goes_on(
        keyword in "[A-Z]{3}_[0-9]{1,3}", text in text(), comment in long_comment()
    ) {
        let card = Card::new(&keyword, text.as_str(), &comment).unwrap();
        let mut bytes = card.raw().to_vec();
        prop_assert_eq!(bytes.len() % 80, 0);
        bytes.extend(format!("{:<80}", "END").into_bytes());
        bytes.resize(bytes.len().next_multiple_of(2880), b' ');
        let header = read(&bytes);
        let copy = header.cards().iter().find(|card| card.keyword() == keyword).unwrap();
        prop_assert_eq!(copy.value().unwrap().to_string(), Value::from(text.as_str()).to_string());
        prop_assert_eq!(copy.comment(), &comment);
        prop_assert!(!card.cuts(&comment));
    }

    #[test]
    fn written_cards_are_read_back_unchanged(keyword in keyword(), value in value(), comment in "[ -~]{0,90}") {
        let card = match Card::new(&keyword, value.clone(), &comment) {
            Ok(card) => card,
            Err(error) => {
                prop_assert!(matches!(error.code(), Code::CardTooLong));
                prop_assert!(value.as_text().is_none(), "{}", error);
                prop_assert!(value.to_string().len() > room(&keyword), "{}", error);
                return Ok(());
            }
        };
        prop_assert_eq!(card.raw().len() % 80, 0);
        let header = read(&Header::from_cards(vec![card.clone()]).to_bytes());
        prop_assert_eq!(header.cards().len(), 1);
        let back = &header.cards()[0];
        prop_assert_eq!(back.keyword(), &keyword);
        prop_assert!(same(back.value().unwrap(), &value), "{:?} {:?}", back.value(), value);
        // Words longer than a record are split, and readers insert a blank there.
        let letters = |text: &str| text.replace(' ', "");
        prop_assert!(letters(&comment).starts_with(&letters(back.comment())), "{:?}", back.comment());
        let length = value.to_string().len() + comment.trim().len() + 1;
        prop_assert!(length > room(&keyword) || back.comment() == comment.trim(), "{:?}", back.comment());
        prop_assert_eq!(back, &card);
    }

    #[test]
    fn numbers_and_logicals_are_in_fixed_format(keyword in "[A-Z]{1,4}[0-9]{1,3}", value in short()) {
        let card = Card::new(&keyword, value.clone(), "comment").unwrap();
        let expected = format!("{keyword:<8}= {:>20} / comment", value.to_string());
        prop_assert_eq!(card.raw().trim_ascii_end(), expected.as_bytes());
    }

    #[test]
    fn headers_are_changed_in_place(
        cards in prop::collection::vec((keyword(), value()), 0..12),
        at in any::<prop::sample::Index>(),
        new in value(),
    ) {
        let mut header = Header::new();
        for (keyword, value) in &cards {
            if let Ok(card) = Card::new(keyword, value.clone(), "") {
                header.push(card);
            }
        }
        let before: Vec<String> = header.cards().iter().map(|c| c.keyword().to_owned()).collect();
        prop_assume!(!before.is_empty());
        let keyword = at.get(&before).clone();
        prop_assume!(header.set(&keyword, new.clone(), "").is_ok());
        let back = Header::parse(&header.to_bytes(), Context::default()).unwrap().0;
        let after: Vec<&str> = back.cards().iter().map(Card::keyword).collect();
        prop_assert_eq!(&after, &before);
        prop_assert!(same(back.get(&keyword).unwrap(), &new));
        prop_assert_eq!(header.block_bytes(), header.to_bytes().len() as u64);
        prop_assert_eq!(back.to_bytes(), header.to_bytes());
    }

    #[test]
    fn commentary_keeps_its_text(text in "[ -~]{0,300}") {
        let cards = Card::commentary("HISTORY", &text).unwrap();
        let back = read(&Header::from_cards(cards).to_bytes());
        let lines: Vec<String> = back.cards().iter().map(|c| format!("{:<72}", c.comment())).collect();
        let content = lines.concat();
        prop_assert_eq!(content.trim_end(), text.trim_end());
    }
}

#[test]
fn mandatory_cards_look_as_the_standard_shows_them() {
    let line = |keyword: &str, value: Value| {
        let card = Card::new(keyword, value, "").unwrap();
        String::from_utf8(card.raw().to_vec()).unwrap().trim_end().to_owned()
    };
    assert_eq!(line("SIMPLE", true.into()), "SIMPLE  =                    T");
    assert_eq!(line("NAXIS1", 1024u64.into()), "NAXIS1  =                 1024");
    assert_eq!(line("XTENSION", "IMAGE".into()), "XTENSION= 'IMAGE   '");
    assert_eq!(line("MZERO", (-0.0).into()), "MZERO   =                 -0.0");
    assert_eq!(line("NULL", "".into()), "NULL    = ''");
    assert_eq!(line("EMPTY", "   ".into()), "EMPTY   = '        '");
    assert_eq!(line("NOTHING", f64::NAN.into()), "NOTHING =");
}

#[test]
fn values_that_no_card_can_hold_are_refused() {
    let code = |keyword: &str, value: Value, comment: &str| {
        Card::new(keyword, value, comment).map(|_| ()).map_err(|error| error.code())
    };
    assert_eq!(code("OBJECT", "caf\u{e9}".into(), ""), Err(Code::CardText));
    assert_eq!(code("OBJECT", "a\nb".into(), ""), Err(Code::CardText));
    assert_eq!(code("OBJECT", "a".into(), "caf\u{e9}"), Err(Code::CardText));
    assert_eq!(code("OBJECT", Value::Invalid("NaN".into()), ""), Err(Code::CardText));
    for keyword in ["", "object", "END", "CONTINUE", "COMMENT", "A  B", "TOO_LONG_ONE=", "A\u{e9}"]
    {
        assert_eq!(code(keyword, 1.into(), ""), Err(Code::CardText), "{keyword}");
    }
    assert_eq!(code("XTENSION", "x".repeat(69).into(), ""), Err(Code::CardTooLong));
    assert_eq!(code(&"Y".repeat(69), "xy".into(), ""), Err(Code::CardTooLong));
    let digits = Integer::parse(&"9".repeat(71)).unwrap();
    assert_eq!(code("BIG", Value::Integer(digits), ""), Err(Code::CardTooLong));
    for keyword in ["ESO A 0", "ESO DET CHIP1 ID"] {
        let fits = Integer::parse(&"9".repeat(room(keyword))).unwrap();
        assert_eq!(code(keyword, Value::Integer(fits), ""), Ok(()), "{keyword}");
        let long = Integer::parse(&"9".repeat(room(keyword) + 1)).unwrap();
        assert_eq!(code(keyword, Value::Integer(long), ""), Err(Code::CardTooLong), "{keyword}");
    }
}
