//! Tests with queries and tools of any text.

use super::{best, index, tool};

#[test]
fn nothing_in_a_question_is_a_command() {
    let (_writer, reader) = index(&[tool("read_file", "Reads a file."), tool("star", "Shows stars.")]);
    for text in [
        "name:*", "*", "[* TO *]", "\"", "((((", "NOT", "+ - && ||", "~2^5", "(a+)+$", "\\", "{}",
        "name:[a TO z]",
    ] {
        assert!(best(&reader, text).is_empty(), "{text}");
        assert!(reader.named(text, 5, &mut |_| true).is_empty(), "{text}");
    }
    assert_eq!(best(&reader, "+(file) AND \"read\"~9 OR words:x*"), [0]);
}

#[test]
fn every_text_is_taken_as_it_is() {
    let (_writer, reader) = index(&[
        tool("\u{0}\u{1}\u{ffff}", "\u{202e}elif eht sdaer\u{202c} \u{fffd}"),
        tool("👩‍👩‍👧‍👦🚀", "🚀🚀 launches"),
        tool("שלום", "קורא קובץ"),
        tool("e\u{301}\u{301}\u{301}tat", &"a\u{300}".repeat(10_000)),
        tool("", ""),
        tool("\u{fdfa}", &"\u{fdfa}".repeat(1000)),
    ]);
    assert_eq!(best(&reader, "🚀 launch"), [1]);
    assert_eq!(best(&reader, "קובץ"), [2]);
    assert_eq!(best(&reader, "état"), [3]);
}
