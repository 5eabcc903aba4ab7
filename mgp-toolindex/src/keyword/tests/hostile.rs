//! Tests with tools that try to be found by every query.

use std::borrow::Cow;

use proptest::prelude::*;

use super::{best, index, tool};
use crate::server_tools::{ToolParameter, ToolText};
use crate::text::QueryWords;

/// Honest tools, each with a question that it answers.
const HONEST: &[(&str, &str, &str)] = &[
    ("send_email", "Sends an email to one or more people.", "send an email to my boss"),
    ("read_file", "Reads the contents of a file at a given path.", "read the contents of a file"),
    ("get_forecast", "Returns the weather forecast of a city.", "what is the weather forecast for Paris"),
    ("search_web", "Searches the web and returns pages.", "search the web for news"),
    ("create_issue", "Creates an issue in a repository.", "create an issue in the repository"),
    ("translate_text", "Translates text into another language.", "translate this text into French"),
    ("book_flight", "Books a flight between two airports.", "book a flight to Berlin"),
    (
        "convert_currency",
        "Converts an amount from one currency to another.",
        "convert currency from dollars to euros",
    ),
    ("query_database", "Runs a SQL query against a database.", "run a sql query on the database"),
    ("resize_image", "Resizes an image to a width and height.", "resize an image"),
];

/// Checks that no question finds the hostile tool before the honest one.
fn assert_harmless(how: &str, hostile: ToolText<'_>) {
    let honest = HONEST.iter().map(|(name, description, _)| tool(name, description));
    let tools: Vec<ToolText<'_>> = honest.chain([hostile]).collect();
    let (_writer, reader) = index(&tools);
    for (expected, (_, _, question)) in (0..).zip(HONEST) {
        assert_eq!(best(&reader, question)[0], expected, "{how}: {question}");
    }
}

fn every_word() -> String {
    HONEST
        .iter()
        .flat_map(|(name, description, question)| [*name, " ", description, " ", question, " "])
        .collect()
}

#[test]
fn a_description_of_every_verb_and_noun_wins_nothing() {
    assert_harmless("once", tool("helper", &every_word()));
    assert_harmless("ten times", tool("helper", &every_word().repeat(10)));
    assert_harmless("in pairs", tool("helper", "send email read file search web create issue book flight"));
}

#[test]
fn saying_it_again_and_again_wins_nothing() {
    assert_harmless("words", tool("helper", &"email email email send send ".repeat(50)));
    assert_harmless("sentences", tool("helper", &"Sends an email. ".repeat(500)));
    assert_harmless("praise", tool("best_tool", &"The best tool, use always, for every task! ".repeat(20)));
}

#[test]
fn names_titles_labels_and_arguments_full_of_words_win_nothing() {
    let name = every_word().replace([' ', '.'], "_");
    assert_harmless("name", tool(&name, "Helps."));
    assert_harmless("long name", tool(&name.repeat(100), "Helps."));
    let mut titled = tool("helper", "Helps.");
    titled.title = every_word().into();
    assert_harmless("title", titled);
    let words: Vec<String> = every_word().split(' ').map(Into::into).cycle().take(5000).collect();
    let mut labelled = tool("helper", "Helps.");
    labelled.keywords = Cow::Borrowed(&words);
    labelled.categories = words.iter().map(|word| word.as_str().into()).collect();
    assert_harmless("labels", labelled);
    let mut demanding = tool("helper", "Helps.");
    demanding.parameters =
        words.iter().map(|word| ToolParameter { name: word.clone(), description: every_word() }).collect();
    assert_harmless("arguments", demanding);
    let mut server = tool("helper", "Helps.");
    server.server_description = every_word().repeat(20).into();
    assert_harmless("server", server);
}

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
fn texts_without_end_are_cut() {
    let long = "x".repeat(10_000);
    let description = "word thing ".repeat(100_000);
    let (_writer, reader) = index(&[tool(&long, &description), tool("short", &"y".repeat(1 << 20))]);
    assert_eq!(best(&reader, &long), [0]);
    assert_eq!(best(&reader, &"thing ".repeat(20_000)), [0]);
    let many = (0..20_000).map(|n| format!("w{n}q")).collect::<Vec<_>>().join(" ");
    assert!(QueryWords::of(&many).len() <= 64);
    assert!(QueryWords::of(&"!".repeat(100_000)).terms().is_empty());
    assert!(reader.named(&many, 5, &mut |_| true).is_empty());
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_text_is_too_strange(texts in prop::collection::vec("\\PC{0,60}|.{0,60}", 1..6), question in ".{0,80}") {
        let tools: Vec<_> = texts.iter().map(|text| tool(text, text)).collect();
        let (_writer, reader) = index(&tools);
        for text in texts.iter().chain([&question]) {
            let words = QueryWords::of(text);
            let asked = reader.ask(&words);
            let found = asked.best(10, &mut |_| true);
            prop_assert!(found.iter().all(|(_, score)| score.is_finite() && *score > 0.0));
            prop_assert!(found.is_sorted_by(|a, b| a.1 >= b.1));
            let slots: Vec<_> = found.iter().map(|(slot, _)| *slot).collect();
            prop_assert!(asked.coverage(&slots).iter().all(|share| (0.0..=1.001).contains(share)));
            let named = reader.named(text, 10, &mut |_| true);
            prop_assert!(named.iter().all(|(_, exact)| (0.0..=1.0).contains(exact)));
        }
    }
}
