//! How a text looks like a command and not like prose.

use super::super::known::{Trait, facts, is_listed};

/// How sure it must be that a text is a command and no prose.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// The name of a program is enough.
    Any,
    /// A name that is a word of English too needs arguments that prose does not have.
    Some,
    /// Any name needs such arguments.
    Strong,
}

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

pub(super) fn is_command(text: &str, evidence: Evidence) -> bool {
    let name = first_name(text);
    if name.is_empty() {
        return false;
    }
    let rest = &text[name.len()..];
    let path = name.len() > 1
        && (name.starts_with("./")
            || name.starts_with("../")
            || name.starts_with("~/")
            || (name.starts_with('/') && name[1..].contains('/')));
    let called = rest.starts_with("()") || rest.starts_with("('") || rest.starts_with("(\"");
    let kind = kind_of(name);
    if path {
        return evidence != Evidence::Strong || kind.is_some();
    }
    match (kind, evidence) {
        (None, _) => called && rest.contains(';'),
        (Some(_), Evidence::Any) => true,
        (Some(Kind::Name), Evidence::Some) if !is_title(name) || name.contains('-') => true,
        // A name with a capital is one word of a sentence like others.
        (Some(_), _) if is_title(name) => {
            called || has_arguments(rest, Kind::Word) && !begins_with_number(rest)
        }
        (Some(kind), _) => called || has_arguments(rest, kind),
    }
}

fn is_title(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name[1..].bytes().all(|b| b.is_ascii_lowercase())
}

fn begins_with_number(rest: &str) -> bool {
    rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

/// Whether what follows a name looks like arguments: options, paths, numbers, variables, or the end.
pub(super) fn has_arguments(rest: &str, kind: Kind) -> bool {
    let args = rest.trim_start();
    let closed = args.is_empty()
        || args.starts_with([';', '|', '&', '`', '#', '\'', '"', '%', '\n']) && args.len() <= 3;
    if closed || args.starts_with([';', '|', '&']) {
        return kind != Kind::Word || rest.starts_with([';', '|', '&']) && !rest.starts_with("; ");
    }
    if !rest.starts_with([' ', '\t', '<', '>']) {
        return false;
    }
    // `wait 5 seconds` is a number of something.
    let mut counted = args.split_whitespace();
    if kind == Kind::Word
        && counted.next().is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
        && counted.next().is_some_and(|unit| unit.len() > 2 && unit.starts_with(char::is_alphabetic))
    {
        return false;
    }
    let first = args
        .split_whitespace()
        .next()
        .unwrap_or("")
        .trim_end_matches([';', '|', '&', '#', '\'', '"', '`', ')']);
    let subcommand = is_listed("net-subcommands", first) && rest.len() < MAX_SUBCOMMAND;
    subcommand
        || rest.contains('>')
        || first.starts_with(['-', '/', '$', '%', '<', '>', '~', '\'', '"', '*', '?', '`', '\\'])
        || (kind == Kind::Name && first.len() > 2 && first.trim_matches('.').contains('.'))
        || first.contains("://")
        || first.as_bytes().get(1) == Some(&b':')
        || first.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        || (first.contains(['/', '\\']) && first.len() > 3)
}

/// The program a text begins with, as far as it can be one.
pub(super) fn first_name(text: &str) -> &str {
    let end =
        text.find(|c: char| c.is_whitespace() || ";|&<>()`'\"$#%,{}[]*?!=".contains(c)).unwrap_or(text.len());
    &text[..end]
}

const MAX_SUBCOMMAND: usize = 60;

const MAX_NAME: usize = 24;
