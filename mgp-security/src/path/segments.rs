//! The check that no segment of a path leads upwards.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::encoding::expression;
use super::{Refusal, refuse_if};
use crate::Finding;

/// The way in which the dots and slashes of a path are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathSpelling {
    /// The usual characters, not encoded.
    Plain,
    /// Encoded characters, or others that look like dots and slashes.
    Other,
}

/// Checks that a path does not lead upwards, in any of the spellings that programs understand. A plainly written path
/// may lead up again as far as it led down before.
pub(super) fn check(path: &str, spelling: PathSpelling) -> Result<(), Finding> {
    check_dots(path, spelling)?;
    match hexadecimal(path) {
        Cow::Borrowed(_) => Ok(()),
        Cow::Owned(spelled) => check_dots(&spelled, PathSpelling::Other),
    }
}

fn check_dots(path: &str, spelling: PathSpelling) -> Result<(), Finding> {
    let mut three_dots = 0;
    let mut depth = 0_usize;
    let mut segments = path.split(is_separator).peekable();
    while let Some(segment) = segments.next() {
        // A single segment of three dots is a pattern of Go, or an ordinary name. Several of them, or one before an
        // empty or `.` segment, can become `..` when a filter removes two dots and a slash.
        if spelling == PathSpelling::Plain
            && segment == ".."
            && depth > 0
            && segments.peek().is_some_and(|next| !next.is_empty())
        {
            depth -= 1;
            continue;
        }
        depth += usize::from(segment.chars().any(char::is_alphanumeric));
        let three = segment == "...";
        three_dots += usize::from(three);
        let nested = three && segments.peek().is_some_and(|next| matches!(*next, "" | "."));
        refuse_if(three_dots > 1 || nested || (!three && leads_up(segment)), TRAVERSAL)?;
    }
    Ok(())
}

const TRAVERSAL: Refusal = ("traversal", "the path leads upwards: write it from the directory down");

/// Returns whether some program takes the segment for the parent directory.
fn leads_up(segment: &str) -> bool {
    if !segment.contains(['.', '?']) {
        return false;
    }
    // If the segment is appended to a prefix without its final slash, as in the alias of a server, two dots at its end
    // lead upwards.
    let ends_in_two = segment.ends_with("..") && !segment.ends_with("...");
    ends_in_two || is_dots(segment) || is_dot_pattern(segment) || continues_encoded(segment)
}

/// Returns whether the segment consists of two or more dots, up to a character at which servers, shells or Windows cut
/// a name off: `..`, `.. `, `..;x`, `..%`.
fn is_dots(segment: &str) -> bool {
    let name = segment.split(is_cut).next().unwrap_or_default();
    let dots = name.bytes().filter(|byte| *byte == b'.').count();
    dots > 1 && name.chars().all(|character| character == '.' || character.is_whitespace())
}

/// Returns whether the segment is a pattern that matches the parent directory: `.?`, `.*`, `[.].`.
fn is_dot_pattern(segment: &str) -> bool {
    let all = |set: &[char]| segment.contains(|character| !set.contains(&character));
    segment.len() > 1
        && match () {
            () if !all(&['.', '?']) => segment.contains('?'),
            () if !all(&['.', '[', ']']) => segment.contains("[.]"),
            () => segment == ".*" || segment == "..*",
        }
}

/// Returns whether the segment consists of dots before an encoded separator that lost its percent sign in a filter:
/// `..2f`.
fn continues_encoded(segment: &str) -> bool {
    let behind = segment.strip_prefix("..").or_else(|| strip_ignoring_case(segment, "2e2e"));
    behind.is_some_and(|rest| {
        strip_ignoring_case(rest, "2f").is_some() || strip_ignoring_case(rest, "5c").is_some()
    })
}

fn strip_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Returns the path with `0x2e`, `0x2f` and `0x5c` decoded. Such text can occur in ordinary names, so only the decoded
/// path as a whole is judged.
fn hexadecimal(path: &str) -> Cow<'_, str> {
    HEXADECIMAL
        .replace_all(path, |code: &Captures<'_>| if code[1].eq_ignore_ascii_case("2e") { "." } else { "/" })
}

static HEXADECIMAL: LazyLock<Regex> = LazyLock::new(|| expression("(?i)0x(2e|2f|5c)"));

/// Returns whether the character is a slash, or looks like one so that some programs convert it to one.
pub(super) fn is_separator(character: char) -> bool {
    matches!(
        character,
        '/' | '\\' | '\u{2044}' | '\u{2215}' | '\u{2216}' | '\u{29f8}' | '\u{29f9}' | '\u{2571}' | '\u{2572}'
    )
}

/// Returns whether parameters, queries, fragments, streams or commands can begin with the character.
fn is_cut(character: char) -> bool {
    matches!(
        character,
        ';' | '?' | '#' | '&' | '|' | ':' | '!' | ',' | '"' | '\'' | '<' | '>' | '*' | '%' | '`' | '$' | '='
    )
}
