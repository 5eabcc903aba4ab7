//! The names of programs that are run by whoever gets a command line into a value.

use super::known::{Trait, facts};

/// Whether the name of a program can be mistaken for something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// No other text begins with it.
    Name,
    /// It is a word of English that makes little sense without arguments.
    Word,
    /// It is a word of English, or a short name, that runs alone too.
    Both,
}

/// What `name`, with or without directories, is the name of.
pub(super) fn kind_of(name: &str) -> Option<Kind> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or("");
    if name.len() > MAX_NAME {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let facts = facts(lower.strip_suffix(".exe").unwrap_or(&lower))?;
    // With a version behind it, it is a word no more.
    if lower.ends_with(|c: char| c.is_ascii_digit()) && facts.has(Trait::Word) {
        return Some(Kind::Name);
    }
    let kinds = [(Trait::Alone, Kind::Both), (Trait::Word, Kind::Word), (Trait::Name, Kind::Name)];
    kinds.into_iter().find(|(name, _)| facts.has(*name)).map(|(_, kind)| kind)
}

const MAX_NAME: usize = 24;
