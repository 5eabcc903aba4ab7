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

fn shelves() -> Hierarchy {
    let mut hierarchy = Hierarchy::default();
    hierarchy.add(Slot(0), &declared(&["filesystem/read", "filesystem"]));
    hierarchy.add(Slot(1), &declared(&["filesystem/write"]));
    hierarchy.add(Slot(2), &declared(&["filesystem2"]));
    hierarchy.add(Slot(3), &declared(&["communication/email"]));
    hierarchy
}

fn found(hierarchy: &Hierarchy, text: &str) -> Vec<String> {
    find::find(&hierarchy.root, text).iter().map(|found| found.path.to_string()).collect()
}

fn count(hierarchy: &Hierarchy, path: &CategoryPath) -> usize {
    let mut node = Some(&hierarchy.root);
    for level in path.levels() {
        node = node.and_then(|node| node.below.get(level));
    }
    node.map_or(0, |node| node.count)
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
    let hierarchy = shelves();
    assert_eq!(found(&hierarchy, "Filesystem.Read")[0], "filesystem/read");
    assert_eq!(found(&hierarchy, "email"), ["communication/email"]);
    assert_eq!(found(&hierarchy, "comm/ema"), ["communication/email"]);
    assert_eq!(found(&hierarchy, "fliesystem/write"), ["filesystem/write"]);
    assert_eq!(found(&hierarchy, "please read what it says"), ["filesystem/read"]);
    assert_eq!(found(&hierarchy, "filesystem")[0], "filesystem");
    assert!(found(&hierarchy, "astronomy").is_empty());
    assert_eq!(found(&hierarchy, ""), ["communication", "filesystem", "filesystem2", "server"]);
}

// covers: MGP-16.4-12
#[test]
fn browsing_gives_the_closest_tools_first_and_then_by_name() {
    let hierarchy = shelves();
    let names = ["d", "c", "b", "a"];
    let browse = |text, limit| -> Vec<u32> {
        let found = hierarchy.browse(text, limit, |slot| slot.0 != 3, |slot| names[slot.index()]);
        found.into_iter().map(|(slot, _)| slot.0).collect()
    };
    assert_eq!(browse("filesystem", 9), [0, 1, 2]);
    assert_eq!(browse("filesystem", 2), [0, 1]);
    assert_eq!(browse("server/s", 9), [2, 1, 0]);
    assert!(browse("email", 9).is_empty(), "it does not fit");
}

#[test]
fn a_copy_keeps_what_it_had() {
    let mut hierarchy = shelves();
    let before = hierarchy.clone();
    hierarchy.remove(Slot(3), &declared(&["communication/email"]));
    assert_eq!(count(&before, &path("communication")), 1);
    assert_eq!(count(&hierarchy, &path("communication")), 0);
    assert!(found(&hierarchy, "communication").is_empty(), "an empty category is none");
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
        let _found = found(&shelves(), &text);
    }

    #[test]
    fn counts_are_those_of_the_tools_that_are_there(
        tools in prop::collection::vec((prop::collection::vec("[a-c](/[a-c]){0,3}", 1..4), any::<bool>()), 0..20),
    ) {
        let mut hierarchy = Hierarchy::default();
        let categories: Vec<_> = tools
            .iter()
            .map(|(paths, _)| declared(&paths.iter().map(String::as_str).collect::<Vec<_>>()))
            .collect();
        for (slot, categories) in (0..).map(Slot).zip(&categories) {
            hierarchy.add(slot, categories);
        }
        for ((slot, categories), (_, stays)) in (0..).map(Slot).zip(&categories).zip(&tools) {
            if !stays {
                hierarchy.remove(slot, categories);
            }
        }
        for asked in ["a", "b/c", "a/a/a", "server/s"].map(path) {
            let there = categories.iter().zip(&tools).filter(|(_, (_, stays))| *stays);
            let expected = there.filter(|(paths, _)| paths.iter().any(|path| path.is_in(&asked))).count();
            prop_assert_eq!(count(&hierarchy, &asked), expected);
        }
    }
}
