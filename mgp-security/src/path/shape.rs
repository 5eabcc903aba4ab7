//! Checks of the form of a path: variables, schemes, drives, streams, devices and system files. `shapes.txt` has most of
//! them.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::RegexSet;

use crate::Finding;
use crate::data_file::{Section, sections, split};

use super::segments::{SEPARATORS, is_separator};
use super::{Refusal, refuse_if};

/// Refuses paths that do not begin in the directory they are resolved in, or do not end at an ordinary file in it.
pub(super) fn check(path: &str, takes_absolute: bool) -> Result<(), Finding> {
    let begins_at_root = path.starts_with(is_separator) || has_drive(path);
    refuse_if(begins_at_root && !takes_absolute, ABSOLUTE)?;
    check_shapes("form", path)?;
    if !begins_at_root {
        check_shapes("beginning", &beginning(path))?;
    }
    check_shapes("names", path)
}

const ABSOLUTE: Refusal = ("absolute-path", "the path begins at the root: write it from the open directory");

/// Refuses paths of a shape below `heading` in `shapes.txt`.
pub(super) fn check_shapes(heading: &str, path: &str) -> Result<(), Finding> {
    let found = SHAPES[heading].iter().find(|(_, expressions)| expressions.is_match(path));
    found.map_or(Ok(()), |((class, advice), _)| Err(Finding::new(class, *advice)))
}

/// Returns whether the path begins at a drive. On systems without drives, `a:b` is an ordinary name.
fn has_drive(path: &str) -> bool {
    let [letter, b':', rest @ ..] = path.as_bytes() else { return false };
    letter.is_ascii_alphabetic() && (cfg!(windows) || matches!(rest, [] | [b'/' | b'\\', ..]))
}

/// Returns the first two names of the path in lower case, up and down resolved, without parameters and queries.
fn beginning(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/').filter(|name| !name.is_empty() && *name != ".") {
        if name == ".." {
            names.pop();
        } else {
            names.push(name);
        }
    }
    let bare = |name: &&str| name.split(['?', ';', '#', '|']).next().unwrap_or_default().to_ascii_lowercase();
    names.iter().take(2).map(bare).collect::<Vec<_>>().join("/")
}

/// The shapes that are refused, by the headings of `shapes.txt`.
static SHAPES: LazyLock<HashMap<&'static str, Vec<(Refusal, RegexSet)>>> = LazyLock::new(|| {
    let separator = format!("[{}]", regex::escape(&String::from_iter(SEPARATORS)));
    let dropped = if cfg!(windows) { r"(?: |[^/.][^/]*\.)" } else { " " };
    let expression = |text: &&str| text.replace("SEP", &separator).replace("DROPPED", dropped);
    let shapes = |section: Section| {
        let shapes = section.entries.iter().map(|entry| {
            let expressions = RegexSet::new(entry.below.iter().map(expression));
            (
                split(entry.line, " | "),
                expressions.expect("the expressions are constants, and the tests compile them"),
            )
        });
        (section.heading, shapes.collect())
    };
    sections(include_str!("shapes.txt")).into_iter().map(shapes).collect()
});
