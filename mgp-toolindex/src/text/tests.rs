//! Tests of text analysis.

use proptest::prelude::*;

use super::*;

fn words(text: &str) -> Vec<String> {
    QueryWords::of(text).terms.iter().map(|term| term.text.to_string()).collect()
}

#[test]
fn names_come_apart_where_case_digits_and_marks_say_so() {
    assert_eq!(words("readFile"), ["read", "file", "readfil"]);
    assert_eq!(words("read_file-now.quick/ly"), ["read", "file", "now", "quick", "ly"]);
    assert_eq!(words("HTTPServer"), ["http", "server", "httpserver"]);
    assert_eq!(words("URLs OAuth"), ["url", "oauth"]);
    assert_eq!(words("sha256"), ["sha", "256", "sha256"]);
    assert_eq!(words("get_v2_of_s3"), ["get", "2", "v2", "3", "s3"]);
}

#[test]
fn those_who_write_a_name_as_one_word_meet_those_who_do_not() {
    for text in ["GitHub", "github", "GITHUB"] {
        assert!(words(text).contains(&"github".to_owned()), "{text}");
    }
}

#[test]
fn words_that_say_nothing_are_left_out() {
    assert_eq!(words("What is the weather? I don't know it's user's"), ["weather", "know", "user"]);
    assert!(words("can you please do this for me").is_empty());
}

#[test]
fn han_is_taken_in_pairs_and_alone_and_endings_say_little() {
    let weighed: Vec<_> =
        QueryWords::of("天気は").terms.iter().map(|term| (term.text.to_string(), term.weight)).collect();
    assert_eq!(
        weighed,
        [("天気".into(), 1.0), ("気は".into(), 0.3), ("天".into(), 0.3), ("気".into(), 0.3)]
            as [(String, f32); 4]
    );
    assert_eq!(words("猫"), ["猫"]);
    assert_eq!(words("날씨"), ["날씨"]);
}

#[test]
fn each_word_is_searched_for_once() {
    assert_eq!(words("files file FILE filing"), ["file"]);
}

proptest! {
    #[test]
    fn words_are_words_and_few(text in ".{0,400}") {
        let words = QueryWords::of(&text);
        prop_assert!(words.terms.len() <= 64);
        for term in &words.terms {
            prop_assert!(!term.text.is_empty() && !term.text.contains(char::is_whitespace));
            prop_assert!(term.weight > 0.0 && term.weight <= 1.0);
        }
    }
}
