use std::borrow::Cow;

use mgp_types::RawJson;
use proptest::prelude::*;

use super::*;
use crate::Finding;

fn rule(text: &str) -> Option<&'static str> {
    check(text).err().map(|finding| finding.rule)
}

#[test]
fn what_people_write_passes() {
    for text in [
        "",
        "fn main() {\n\tprintln!(\"hi\");\r\n}",
        "naïve café, Straße, Ελληνικά, русский",
        "日本語のテキスト\u{3000}全角",
        "non\u{a0}breaking, thin\u{2009}space, 1\u{202f}000",
        "می\u{200c}خواهم",
        "क\u{94d}\u{200d}ष",
        "ශ\u{dca}\u{200d}රී",
        "👨\u{200d}👩\u{200d}👧\u{200d}👦 👩🏽\u{200d}💻 🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f}\u{200d}🔥",
        "1\u{fe0f}\u{20e3} ❤\u{fe0f} ☎\u{fe0e} ©\u{fe0f}",
        "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
        "葛\u{e0100}城",
        "שלום\u{200f}!",
        "ภาษา\u{200b}ไทย",
        "\u{feff}using System;",
        "\u{2801}\u{2800}\u{2803}",
        "e\u{301} combining",
        "\u{fffd}",
    ] {
        assert_eq!(check(text), Ok(()), "{text:?}");
    }
}

#[test]
fn what_hides_is_refused_by_its_class() {
    for (text, expected) in [
        ("a\0b", "control-character"),
        ("a\u{1b}[31m", "control-character"),
        ("\u{7f}", "control-character"),
        ("a\u{85}b", "control-character"),
        ("a\u{202e}b", "bidirectional-control"),
        ("a\u{2066}b", "bidirectional-control"),
        ("שלום \u{202b}שלום", "bidirectional-control"),
        ("a\u{200e}b", "bidirectional-control"),
        ("a\u{e0041}b", "tag-character"),
        ("\u{1f3f4}\u{e0075}\u{e0073}\u{e0063}\u{e0061}\u{e007f}", "tag-character"),
        ("\u{1f3f4}\u{e0067}\u{e0062}", "tag-character"),
        ("pass\u{200b}word", "invisible-character"),
        ("pass\u{200d}word", "invisible-character"),
        ("pass\u{200c}word", "invisible-character"),
        ("می\u{200c}\u{200c}خواهم", "invisible-character"),
        ("a\u{feff}b", "invisible-character"),
        ("a\u{2060}b", "invisible-character"),
        ("loc\u{ad}alhost", "invisible-character"),
        ("a\u{3164}b", "invisible-character"),
        ("a\u{2800}b", "invisible-character"),
        ("a\u{fe0f}b", "variation-selector"),
        ("1\u{fe0f}2", "variation-selector"),
        ("😀\u{fe01}", "variation-selector"),
        ("😀\u{e0110}\u{e0111}", "variation-selector"),
        ("❤\u{fe0f}\u{fe0f}", "variation-selector"),
        ("a\u{2028}b", "line-separator"),
        ("a\u{fff9}b\u{fffa}c\u{fffb}", "annotation-character"),
        ("\u{e000}", "private-character"),
        ("\u{f8ff}", "private-character"),
        ("\u{10ff00}", "private-character"),
        ("\u{ffff}", "noncharacter"),
        ("\u{fdd0}", "noncharacter"),
        ("\u{10fffe}", "noncharacter"),
    ] {
        assert_eq!(rule(text), Some(expected), "{text:?}");
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

fn walked(json: &str) -> Vec<(String, Option<String>, StringPart, String)> {
    let mut seen = Vec::new();
    walk(&serde_json::from_str(json).unwrap(), &mut |place, text| {
        seen.push((place.pointer.to_owned(), place.member.map(str::to_owned), place.part, text.to_owned()));
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
            ("/a~1b~0", Some("a/b~"), StringPart::Name, "a/b~"),
            ("/a~1b~0/0", Some("a/b~"), StringPart::Value, "x"),
            ("/a~1b~0/1/name", Some("name"), StringPart::Name, "name"),
            ("/a~1b~0/1/name", Some("name"), StringPart::Value, "y\n"),
            ("/n", Some("n"), StringPart::Name, "n"),
        ]
    );
    assert_eq!(walked(r#""top""#), [(String::new(), None, StringPart::Value, "top".to_owned())]);
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
