//! Tests of the word index.

mod hostile;
mod names;
mod scripts;

use std::borrow::Cow;
use std::sync::Arc;

use super::*;
use crate::server_tools::ToolText;
use crate::slot::Slot;
use crate::text::QueryWords;

fn tool<'a>(name: &'a str, description: &'a str) -> ToolText<'a> {
    ToolText {
        name: name.into(),
        title: "".into(),
        description: description.into(),
        parameters: Vec::new(),
        server: "server".into(),
        server_description: "".into(),
        keywords: Cow::Borrowed(&[]),
        categories: Vec::new(),
    }
}

/// Returns an index whose slots are the positions in `tools`.
fn index(tools: &[ToolText<'_>]) -> (KeywordWriter, Arc<KeywordReader>) {
    let mut writer = KeywordWriter::new().unwrap();
    for (slot, tool) in (0..).zip(tools) {
        writer.put(Slot(slot), tool).unwrap();
    }
    let reader = writer.commit().unwrap();
    (writer, reader)
}

fn best(reader: &KeywordReader, text: &str) -> Vec<u32> {
    let words = QueryWords::of(text);
    reader.ask(&words).best(10, &mut |_| true).into_iter().map(|(slot, _)| slot.0).collect()
}

fn library() -> [ToolText<'static>; 4] {
    [
        tool("read_file", "Reads the contents of a file at a path."),
        tool("write_file", "Writes text to a file."),
        tool("get_forecast", "Weather of the coming days for a city."),
        tool("createIssue", "Opens an issue in a GitHub repository."),
    ]
}

// covers: MGP-16.4-01, MGP-16.4-10
#[test]
fn tools_are_found_by_words_in_any_form_and_the_best_come_first() {
    let (_writer, reader) = index(&library());
    assert_eq!(best(&reader, "reading files"), [0, 1]);
    assert_eq!(best(&reader, "what will the WEATHER be in the cities?"), [2]);
    assert_eq!(best(&reader, "github issues"), [3]);
    assert!(best(&reader, "what is this for?").is_empty());
    assert!(best(&reader, "spaceship").is_empty());
}

#[test]
fn a_word_in_the_name_counts_more_than_one_in_the_description() {
    let (_writer, reader) =
        index(&[tool("other", "archive something else"), tool("archive", "something else")]);
    assert_eq!(best(&reader, "archive"), [1, 0]);
}

// covers: MGP-16.4-04, MGP-16.4-05, MGP-16.4-06, MGP-16.4-07
#[test]
fn everything_a_server_says_of_a_tool_is_searched() {
    let keywords = ["alpha".to_owned()];
    let mut all = tool("bravo", "charlie");
    all.title = "delta".into();
    all.server = "echo".into();
    all.server_description = "foxtrot".into();
    all.keywords = Cow::Borrowed(&keywords);
    all.categories = vec!["golf/hotel".into()];
    let (_writer, reader) = index(&[all, tool("other", "other")]);
    for word in ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"] {
        assert_eq!(best(&reader, word), [0], "{word}");
    }
}

#[test]
fn what_does_not_fit_takes_no_place_and_is_not_asked_about_if_it_could_not_win() {
    let tools: Vec<String> = (0..500).map(|n| format!("t{n}")).collect();
    let tools: Vec<_> = tools.iter().map(|name| tool(name, "common word")).collect();
    let (_writer, reader) = index(&tools);
    let words = QueryWords::of("common");
    let found = reader.ask(&words).best(3, &mut |slot| slot.0 >= 400);
    assert_eq!(found.iter().map(|(slot, _)| slot.0).collect::<Vec<_>>(), [400, 401, 402]);
    let mut asked = 0;
    reader.ask(&words).best(3, &mut |_| {
        asked += 1;
        true
    });
    assert_eq!(asked, 3);
    assert!(reader.ask(&words).best(0, &mut |_| true).is_empty());
}

#[test]
fn scores_of_chosen_tools_are_those_of_the_search() {
    let (_writer, reader) = index(&library());
    let words = QueryWords::of("write a file in the repository of the city");
    let asked = reader.ask(&words);
    let found = asked.best(10, &mut |_| true);
    let slots: Vec<Slot> = found.iter().rev().map(|(slot, _)| *slot).chain([Slot(99)]).collect();
    let scores = asked.scores(&slots);
    assert_eq!(scores.len(), found.len() + 1);
    for ((_, expected), score) in found.iter().rev().zip(&scores) {
        assert!((expected - score).abs() < 1e-5);
    }
    assert!(scores.last().unwrap().abs() < f32::EPSILON);
}

#[test]
fn coverage_is_the_share_of_rare_words_that_a_tool_has() {
    let (_writer, reader) = index(&library());
    let words = QueryWords::of("file path");
    let asked = reader.ask(&words);
    assert!(asked.worth[1] > asked.worth[0]);
    let coverage = asked.coverage(&[Slot(0), Slot(1), Slot(2)]);
    assert!((coverage[0] - 1.0).abs() < 1e-6);
    assert!(coverage[1] > 0.0 && coverage[1] < 0.5);
    assert!(coverage[2].abs() < f32::EPSILON);
    let unknown = QueryWords::of("file spaceship");
    assert!(reader.ask(&unknown).coverage(&[Slot(0)])[0] < 0.5);
}

#[test]
fn a_reader_keeps_what_it_saw() {
    let (mut writer, before) = index(&library());
    writer.put(Slot(0), &tool("delete_file", "Removes it.")).unwrap();
    writer.remove(Slot(1)).unwrap();
    let after = writer.commit().unwrap();
    assert_eq!(best(&before, "file").len(), 2);
    assert_eq!(best(&after, "file"), [0]);
    assert_eq!(best(&before, "removes"), [] as [u32; 0]);
    assert_eq!(best(&after, "removes"), [0]);
    assert!(after.ask(&QueryWords::of("write")).scores(&[Slot(1)])[0].abs() < f32::EPSILON);
}

#[test]
fn of_changes_before_a_commit_the_last_counts() {
    let mut writer = KeywordWriter::new().unwrap();
    writer.put(Slot(0), &tool("one", "")).unwrap();
    writer.put(Slot(0), &tool("two", "")).unwrap();
    writer.put(Slot(1), &tool("three", "")).unwrap();
    writer.remove(Slot(1)).unwrap();
    writer.remove(Slot(7)).unwrap();
    let reader = writer.commit().unwrap();
    assert_eq!(best(&reader, "one two three"), [0]);
    assert!(best(&reader, "one").is_empty());
}

#[test]
fn many_changes_lose_and_double_nothing() {
    let mut writer = KeywordWriter::new().unwrap();
    let put = |writer: &mut KeywordWriter, slot: u32, what: u32| {
        writer.put(Slot(slot), &tool("anything", &format!("common word{what}"))).unwrap();
    };
    for slot in 0..50 {
        put(&mut writer, slot, slot);
    }
    let words = QueryWords::of("common");
    for change in 0..60 {
        put(&mut writer, change * 7 % 50, 1000 + change);
        let committed = writer.commit().unwrap();
        let merged = writer.merged().unwrap();
        for reader in [&committed].into_iter().chain(&merged) {
            let found = reader.ask(&words).best(1000, &mut |_| true);
            assert_eq!(found.len(), 50, "after {change} changes: {reader:?}");
        }
    }
}

#[test]
fn an_empty_index_finds_nothing() {
    let (_writer, reader) = index(&[]);
    let words = QueryWords::of("file");
    let asked = reader.ask(&words);
    assert!(asked.best(5, &mut |_| true).is_empty());
    assert_eq!(asked.scores(&[Slot(0)]), [0.0]);
    assert_eq!(asked.coverage(&[Slot(0)]), [0.0]);
    assert!(reader.named("file", 5, &mut |_| true).is_empty());
}
