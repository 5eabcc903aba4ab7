//! The evidence that a text is a command and not prose, and the detection of disguised commands.

use super::super::{Trait, facts, is_listed};

/// The amount of evidence that is needed to take a text for a command and not for prose.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// The name of a program is enough.
    Any,
    /// A name that is also an English word needs arguments that prose does not have.
    Some,
    /// Every name needs such arguments.
    Strong,
}

/// Returns how the program name `name`, with or without directories, is known in prose: as an English word that makes
/// little sense without arguments (`word`) or that runs alone, or as nothing but a name; `None` if it is not one.
pub(super) fn kind_of(name: &str) -> Option<Trait> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or("");
    if name.len() > MAX_NAME {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let facts = facts(lower.strip_suffix(".exe").unwrap_or(&lower))?;
    // With a version behind it, the name is not an English word.
    if lower.ends_with(|c: char| c.is_ascii_digit()) && facts.has(Trait::Word) {
        return Some(Trait::Name);
    }
    [Trait::Alone, Trait::Word, Trait::Name].into_iter().find(|kind| facts.has(*kind))
}

pub(super) fn is_command(text: &str, evidence: Evidence) -> bool {
    let name = first_name(text);
    if name.is_empty() {
        return false;
    }
    let rest = &text[name.len()..];
    let path = ["./", "../", "~/"].iter().any(|start| name.starts_with(start))
        || name.strip_prefix('/').is_some_and(|rest| rest.contains('/'));
    let called = rest.starts_with("()") || rest.starts_with("('") || rest.starts_with("(\"");
    let kind = kind_of(name);
    if path {
        return evidence != Evidence::Strong || kind.is_some();
    }
    match (kind, evidence) {
        (None, _) => called && rest.contains(';'),
        (Some(_), Evidence::Any) => true,
        (Some(Trait::Name), Evidence::Some) if !is_title(name) || name.contains('-') => true,
        // A name with a capital letter is an ordinary word of a sentence.
        (Some(_), _) if is_title(name) => {
            called
                || has_arguments(rest, Trait::Word)
                    && !rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
        }
        (Some(kind), _) => called || has_arguments(rest, kind),
    }
}

fn is_title(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name[1..].bytes().all(|b| b.is_ascii_lowercase())
}

/// Returns whether the text after a name looks like arguments: options, paths, numbers, variables, or the end of the
/// text.
pub(super) fn has_arguments(rest: &str, kind: Trait) -> bool {
    let args = rest.trim_start();
    let closed = args.is_empty()
        || args.starts_with([';', '|', '&', '`', '#', '\'', '"', '%', '\n']) && args.len() <= 3;
    if closed || args.starts_with([';', '|', '&']) {
        return kind != Trait::Word || rest.starts_with([';', '|', '&']) && !rest.starts_with("; ");
    }
    if !rest.starts_with([' ', '\t', '<', '>']) {
        return false;
    }
    // In `wait 5 seconds`, the number counts something and is not an argument.
    let mut counted = args.split_whitespace();
    if kind == Trait::Word
        && counted.next().is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
        && counted.next().is_some_and(|unit| unit.len() > 2 && unit.starts_with(char::is_alphabetic))
    {
        return false;
    }
    let first = args.split_whitespace().next().unwrap_or("");
    let first = first.trim_end_matches([';', '|', '&', '#', '\'', '"', '`', ')']);
    let subcommand = is_listed("net-subcommands", first) && rest.len() < MAX_SUBCOMMAND;
    subcommand
        || rest.contains('>')
        || first.starts_with(['-', '/', '$', '%', '<', '>', '~', '\'', '"', '*', '?', '`', '\\'])
        || (kind == Trait::Name && first.len() > 2 && first.trim_matches('.').contains('.'))
        || first.contains("://")
        || first.as_bytes().get(1) == Some(&b':')
        || first.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        || (first.contains(['/', '\\']) && first.len() > 3)
}

/// Returns the program name that a text begins with, as far as it can be one.
pub(super) fn first_name(text: &str) -> &str {
    let end =
        text.find(|c: char| c.is_whitespace() || ";|&<>()`'\"$#%,{}[]*?!=".contains(c)).unwrap_or(text.len());
    &text[..end]
}

/// Returns whether `text` begins with the name of a program in pieces: `w\hoami`, `c""at`, `cat$u`, `/bin/c?t -x`.
pub(super) fn begins_disguised(text: &str) -> bool {
    let end = text.find(|c: char| c.is_whitespace() || ";|&<>()".contains(c)).unwrap_or(text.len());
    let (token, rest) = text.split_at(end);
    if token.len() > MAX_TOKEN {
        return false;
    }
    let program = token.starts_with("/bin/") || token.starts_with("/usr/bin/") || token.starts_with("/sbin/");
    if program && token.contains(['?', '*', '[']) && !rest.trim().is_empty() {
        return true;
    }
    if let Some((name, variable)) = token.split_once('$') {
        let plain = variable.bytes().all(|b| b.is_ascii_alphanumeric() || b"_@*!?".contains(&b));
        return plain && !variable.is_empty() && rest.starts_with([' ', '\t']) && kind_of(name).is_some();
    }
    let inner = token.trim_matches(['\'', '"', '\\']);
    let joined: String = inner.chars().filter(|c| !"'\"\\".contains(*c)).collect();
    joined.len() < inner.len() && !inner.contains(":\\") && kind_of(&joined).is_some() && {
        // The last name of a Windows path is not a disguised program.
        !inner.contains('\\') || inner.rsplit('\\').next().is_none_or(|last| kind_of(last).is_none())
    }
}

/// The largest length in bytes of a name in pieces; longer names are not program names.
const MAX_TOKEN: usize = 64;

const MAX_SUBCOMMAND: usize = 60;

const MAX_NAME: usize = 24;
