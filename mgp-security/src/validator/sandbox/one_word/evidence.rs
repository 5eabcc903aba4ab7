//! How a text looks like a command and not like prose.

use super::super::program::{Kind, kind_of};

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
    let subcommand = SUBCOMMANDS.contains(&first) && rest.len() < MAX_SUBCOMMAND;
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

/// What follows `net`, `reg`, `sc` and their like in a short line.
const SUBCOMMANDS: [&str; 14] = [
    "user",
    "view",
    "share",
    "localgroup",
    "accounts",
    "query",
    "add",
    "use",
    "session",
    "config",
    "statistics",
    "process",
    "os",
    "interface",
];

const MAX_SUBCOMMAND: usize = 60;
