//! Tests of categories.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;
use crate::slot::Slot;

fn text<'a>(server: &'a str, name: &'a str, description: &'a str, categories: &[&'a str]) -> ToolText<'a> {
    ToolText {
        name: name.into(),
        title: Cow::default(),
        description: description.into(),
        parameters: Vec::new(),
        server: server.into(),
        server_description: Cow::default(),
        keywords: Cow::default(),
        categories: categories.iter().map(|category| (*category).into()).collect(),
    }
}

fn of(server: &str, name: &str, description: &str, categories: &[&str]) -> Vec<String> {
    let categories = super::of(&text(server, name, description, categories), &ToolAnnotations::default());
    categories.iter().map(ToString::to_string).collect()
}

fn path(text: &str) -> CategoryPath {
    CategoryPath::read(text).unwrap()
}

fn declared(categories: &[&str]) -> Box<[CategoryPath]> {
    super::of(&text("s", "x", "", categories), &ToolAnnotations::default())
}

fn browsed(text: &str, limit: usize, names: [&str; 4], hidden: Option<u32>) -> Vec<u32> {
    let shelves: [&[&str]; 4] = [
        &["filesystem/read", "filesystem"],
        &["filesystem/write"],
        &["filesystem2"],
        &["communication/email"],
    ];
    let shelves = shelves.map(declared);
    let tools = || (0..).map(Slot).zip(shelves.iter().map(|paths| &**paths));
    let fits = |slot: Slot| Some(slot.0) != hidden;
    let found = browse(tools, text, limit, fits, |slot| names[slot.index()]);
    found.into_iter().map(|(slot, _)| slot.0).collect()
}

fn found(text: &str) -> Vec<u32> {
    browsed(text, 9, [""; 4], None)
}

// covers: MGP-16.4-06
#[test]
fn what_is_declared_counts_and_is_bounded() {
    assert_eq!(
        of("fs", "read_file", "", &["Docs.Internal", "docs > internal"]),
        ["docs/internal", "server/fs"]
    );
    let many: Vec<String> = (0..1000).map(|n| format!("c{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(of("fs", "x", "", &many).len(), 8);
    assert_eq!(of("fs", "x", "", &["", " / . > "]), ["server/fs"]);
}

#[test]
fn words_of_a_plain_tool_say_where_it_belongs() {
    for (server, name, description, wanted) in [
        ("a", "read_file", "Read a file", "filesystem/read"),
        ("a", "deleteFiles", "", "filesystem/delete"),
        ("a", "list_directory", "", "filesystem/read"),
        ("a", "web_search", "Search the web", "web/search"),
        ("a", "query_database", "Run SQL", "database/query"),
        ("gmail", "send_message", "Send an email to somebody", "communication/email"),
        ("a", "execute_command", "Run a shell command", "code/execute"),
        ("a", "generate_image", "", "media/image"),
        ("a", "get_current_time", "", "time/clock"),
        ("a", "get_directions", "From one place to another on the map", "maps"),
        ("a", "get_forecast", "Weather for a city", "weather"),
        ("a", "create_pull_request", "In a GitHub repository", "code/repository"),
    ] {
        assert_eq!(of(server, name, description, &[])[0], wanted, "{name}");
    }
}

#[test]
fn hints_tell_what_is_done_where_the_name_does_not() {
    let mut annotations = ToolAnnotations::default();
    annotations.read_only_hint = Some(true);
    let categories = super::of(&text("s", "file_metadata", "", &[]), &annotations);
    assert_eq!(categories.iter().next().unwrap().as_str(), "filesystem/read");
    assert_eq!(of("s", "file_metadata", "", &[])[0], "filesystem");
}

#[test]
fn a_tool_that_speaks_of_nothing_known_is_found_by_its_server() {
    assert_eq!(of("acme.tools", "frobnicate", "It frobnicates the file.", &[]), ["server/acme/tools"]);
    assert_eq!(of("s", "天気", "天気を調べる", &[]), ["server/s"]);
}

#[test]
fn a_filter_takes_what_is_below_and_nothing_beside() {
    let asked = path("FileSystem");
    assert!(path("filesystem").is_in(&asked) && path("filesystem.read").is_in(&asked));
    assert!(!path("filesystem2").is_in(&asked) && !path("my/filesystem").is_in(&asked));
    assert!(!asked.is_in(&path("filesystem/read")));
}

// covers: MGP-16.4-12
#[test]
fn categories_are_found_by_path_level_beginning_and_in_spite_of_slips() {
    assert_eq!(found("Filesystem.Read"), [0]);
    assert_eq!(found("email"), [3]);
    assert_eq!(found("comm/ema"), [3]);
    assert_eq!(found("fliesystem/write"), [1]);
    assert_eq!(found("please read what it says"), [0]);
    assert_eq!(found("filesystem"), [0, 1, 2]);
    assert!(found("astronomy").is_empty());
    assert_eq!(found(""), [0, 2, 1, 3]);
}

// covers: MGP-16.4-12
#[test]
fn browsing_gives_the_closest_tools_first_and_then_by_name() {
    let browse = |text, limit| browsed(text, limit, ["d", "c", "b", "a"], Some(3));
    assert_eq!(browse("filesystem", 9), [0, 1, 2]);
    assert_eq!(browse("filesystem", 2), [0, 1]);
    assert_eq!(browse("server/s", 9), [2, 1, 0]);
    assert!(browse("email", 9).is_empty(), "it does not fit");
}

proptest! {
    #[test]
    fn any_text_is_a_bounded_path_or_none(text in ".{0,400}") {
        if let Some(path) = CategoryPath::read(&text) {
            prop_assert!((1..=6).contains(&path.levels().count()));
            prop_assert!(path.levels().all(|level| (1..=64).contains(&level.chars().count())));
            prop_assert!(path.is_in(&path));
        }
        prop_assert!(of(&text, &text, &text, &[&text]).len() <= 8);
        let _found = found(&text);
    }
}
