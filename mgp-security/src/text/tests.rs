use std::borrow::Cow;

use mgp_types::RawJson;
use proptest::prelude::*;

use super::*;
use crate::Finding;
use crate::doubles::cases;

fn rule(text: &str) -> Option<&'static str> {
    check(text).err().map(|finding| finding.rule)
}

/// Returns the text with each `\u{…}` replaced by the character of that number.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split("\\u{");
    let mut plain = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (number, rest) = piece.split_once('}').unwrap();
        plain.push(char::from_u32(u32::from_str_radix(number, 16).unwrap()).unwrap());
        plain.push_str(rest);
    }
    plain
}

#[test]
fn every_row_of_the_table_passes_or_is_refused_by_its_class() {
    for (class, text) in cases(include_str!("cases.txt")) {
        assert_eq!(rule(&unescaped(&text)).unwrap_or("passes"), class, "{text:?}");
    }
}

#[test]
fn a_finding_names_the_code_point() {
    let finding = check("a\u{202e}").unwrap_err();
    assert!(finding.message.contains("U+202E"), "{finding}");
}

#[test]
fn folding_gives_the_plain_spelling_and_copies_only_what_changes() {
    assert_eq!(fold("ｒｍ －ｒｆ ①"), "rm -rf 1");
    assert!(matches!(fold("plain"), Cow::Borrowed(_)));
    assert!(matches!(fold("schön"), Cow::Borrowed(_)));
}

fn walked(json: &str) -> Vec<(String, Option<String>, bool, String)> {
    let mut seen = Vec::new();
    walk(&serde_json::from_str(json).unwrap(), &mut |place, text| {
        seen.push((
            place.pointer.to_owned(),
            place.member.map(str::to_owned),
            place.is_name,
            text.to_owned(),
        ));
        Ok(())
    })
    .unwrap();
    seen
}

#[test]
fn every_string_is_visited_with_its_place() {
    let seen = walked(r#"{"a/b~":["x",{"n\u0061me":"y\n"}],"n":[1,true,null,1.5,-2]}"#);
    let seen: Vec<_> = seen
        .iter()
        .map(|(at, member, part, text)| (at.as_str(), member.as_deref(), *part, text.as_str()))
        .collect();
    assert_eq!(
        seen,
        [
            ("/a~1b~0", Some("a/b~"), true, "a/b~"),
            ("/a~1b~0/0", Some("a/b~"), false, "x"),
            ("/a~1b~0/1/name", Some("name"), true, "name"),
            ("/a~1b~0/1/name", Some("name"), false, "y\n"),
            ("/n", Some("n"), true, "n"),
        ]
    );
    assert_eq!(walked(r#""top""#), [(String::new(), None, false, "top".to_owned())]);
}

#[test]
fn the_first_finding_ends_the_walk() {
    let value = serde_json::json!({"a":"stop","b":"never"});
    let mut count = 0;
    let found = walk(&value, &mut |_, text| {
        count += 1;
        if text == "stop" { Err(Finding::new("stopped", "here")) } else { Ok(()) }
    });
    assert_eq!(found.unwrap_err().rule, "stopped");
    assert_eq!(count, 2);
}

#[test]
fn what_cannot_be_read_is_refused() {
    let value = RawJson::parse(r#"{"a":1e999,"b":"text"}"#).unwrap();
    assert_eq!(read(&value).unwrap_err().rule, "unreadable-json");
}

proptest! {
    #[test]
    fn no_text_panics_and_printable_ascii_passes(any in ".*", plain in "[ -~\t\n\r]*") {
        let _ = check(&any);
        let _ = fold(&any);
        prop_assert!(check(&plain).is_ok());
    }

    #[test]
    fn every_control_is_refused_wherever_it_stands(
        before in "[a-z]*", after in "[a-z]*", control in "[\u{0}-\u{8}\u{b}\u{c}\u{e}-\u{1f}\u{7f}-\u{9f}]",
    ) {
        let text = format!("{before}{control}{after}");
        prop_assert_eq!(rule(&text), Some("control-character"));
    }
}
