//! The table of protected files, read from `table.txt`: groups of patterns with the kind of the files and the use that
//! is forbidden, and the places that stand for others.

use std::sync::LazyLock;

use super::ProtectedKind;
use super::pattern::PathPattern;
use crate::data_file::{Named as _, Section, named, sections, split};

/// The contents of `table.txt`.
#[derive(Default)]
pub(super) struct ProtectedTable {
    pub(super) groups: Vec<Group>,
    /// The kinds of files, each with its description for messages to people.
    pub(super) kinds: Vec<(&'static str, &'static str)>,
    /// Environment variables, each with the beginning of the patterns that it stands for.
    pub(super) variables: Vec<(&'static str, &'static str)>,
    /// Directories below which a whole file system begins again.
    pub(super) mounts: Vec<&'static str>,
    /// Homes of users, and patterns of the directories that hold them.
    pub(super) homes: Vec<&'static str>,
}

/// A group of patterns with the same kind and the same forbidden use.
pub(super) struct Group {
    pub(super) kind: ProtectedKind,
    pub(super) forbids: ForbiddenUse,
    /// The patterns, each also as it is written.
    pub(super) patterns: Vec<(PathPattern, &'static str)>,
}

named! {
    /// The use that a group of patterns forbids.
    pub(super) enum ForbiddenUse {
        "nothing" => Nothing,
        "writing" => Writing,
        "everything" => Everything,
    }
}

/// The table of protected files.
pub(super) static TABLE: LazyLock<ProtectedTable> = LazyLock::new(|| {
    let mut table = ProtectedTable::default();
    for section in sections(include_str!("table.txt")) {
        match section.heading {
            "kinds" => table.kinds = pairs(&section).collect(),
            "variables" => table.variables = pairs(&section).collect(),
            "mounts" => table.mounts = patterns(&section).collect(),
            "homes" => table.homes = patterns(&section).collect(),
            group => {
                let (kind, forbids) = split(group, ": ");
                let named = ProtectedKind::named(kind).zip(ForbiddenUse::named(forbids));
                let (kind, forbids) = named.expect("a heading names a kind and a use");
                let patterns = patterns(&section).map(|text| (PathPattern::new(text), text)).collect();
                table.groups.push(Group { kind, forbids, patterns });
            }
        }
    }
    table
});

fn pairs(section: &Section) -> impl Iterator<Item = (&'static str, &'static str)> {
    section.entries.iter().map(|entry| split(entry.line, "="))
}

fn patterns(section: &Section) -> impl Iterator<Item = &'static str> {
    section.entries.iter().flat_map(|entry| entry.line.split(", "))
}
