//! What the scanner accepts and refuses.

use super::*;

fn fault(json: &str) -> Option<JsonFault> {
    value(json.as_bytes()).err().map(|error| error.fault)
}

#[test]
fn valid_values_are_found_without_the_space_around_them() {
    for json in
        ["{}", "[]", "0", "-1.5e+3", "true", "null", r#""a\"\u00e9\ud83d\ude00""#, r#"{"a":[1,{"b":2}]}"#]
    {
        let padded = format!(" \t\r\n{json} \n");
        assert_eq!(value(padded.as_bytes()), Ok(4..4 + json.len()), "{json}");
    }
}

#[test]
fn broken_values_are_refused() {
    for json in [
        "", "{", "[1,]", "{\"a\":1,}", "{,}", "{a:1}", "'a'", "01", "1.", "+1", ".5", "1e", "-", "nul",
        "NaN", "\"\u{1}\"", "\"\\x\"", "\"\\u12\"", "\"abc", "[1 2]", "{\"a\" 1}", "1 2", "{}{}",
        "\u{feff}{}",
    ] {
        assert!(fault(json).is_some(), "{json:?} was accepted");
    }
}

#[test]
fn half_a_surrogate_pair_is_refused() {
    for json in [r#""\ud800""#, r#""\udc00""#, r#""\ud800\u0041""#, r#""\ud800x""#] {
        assert_eq!(fault(json), Some(JsonFault::Unicode), "{json}");
    }
    assert_eq!(value(b"\"\xff\"").map_err(|e| e.fault), Err(JsonFault::Unicode));
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert_eq!(fault(&nested(120)), None);
    assert_eq!(fault(&nested(121)), Some(JsonFault::TooDeep));
    assert_eq!(fault(&"[".repeat(1_000_000)), Some(JsonFault::TooDeep));
    assert_eq!(fault(&r#"{"a":"#.repeat(1_000_000)), Some(JsonFault::TooDeep));
}

#[test]
fn a_repeated_member_is_refused_at_any_depth_and_in_any_spelling() {
    for json in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"c":2,"a":3}}]"#, r#"{"a":1,"\u0061":2}"#] {
        assert_eq!(fault(json), Some(JsonFault::DuplicateMember), "{json}");
    }
    assert_eq!(fault(r#"{"a":{"a":1},"b":{"a":1}}"#), None);
}

#[test]
fn repeated_members_are_found_among_thousands() {
    let members: Vec<String> = (0..5000).map(|n| format!(r#""key{n}":{{"x":{n}}}"#)).collect();
    assert_eq!(fault(&format!("{{{}}}", members.join(","))), None);
    assert_eq!(
        fault(&format!("{{{},{}}}", members.join(","), members[4321])),
        Some(JsonFault::DuplicateMember)
    );
}

proptest::proptest! {
    #[test]
    fn agrees_with_serde_json(text in r#"[\[\]{}",:\\a\u{e9} 0-9.eE+-]{0,24}"#) {
        let ours = value(text.as_bytes());
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        let lenient = matches!(ours, Err(JsonError { fault: JsonFault::DuplicateMember, .. }))
            || theirs.as_ref().is_err_and(|e| e.to_string().contains("out of range"));
        proptest::prop_assert!(lenient || ours.is_ok() == theirs.is_ok(), "{text:?}: {ours:?} {theirs:?}");
    }

    #[test]
    fn a_valid_value_ends_where_it_ends_without_being_looked_into(
        text in r#"[ ]?([0-9.e-]{1,3}|true|"[a\\\"{]{0,5}"|\[[1", \[\]]{0,8}\]|\{("a":[1"{}\[\]x:, ]{0,12})?\})[ ]?"#
    ) {
        if let Ok(range) = value(text.as_bytes()) {
            let mut scanner = Scanner::of_checked(text.as_bytes());
            scanner.skip_space();
            proptest::prop_assert_eq!(scanner.value(), Ok(span(range.start, range.end)), "{}", text);
            proptest::prop_assert_eq!(scanner.end(), Ok(()), "{}", text);
        }
    }

    #[test]
    fn never_panics(bytes: Vec<u8>) {
        let _ = value(&bytes);
        let _ = Scanner::of_checked(&bytes).value();
    }
}
