//! The check that no segment of a path leads upwards.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{Refusal, refuse_if};
use crate::Finding;
use crate::data_file::expression;

/// Checks that a path does not lead upwards, in any of the spellings that programs understand. A plainly written path
/// may lead up again as far as it led down before; one that is encoded, or has characters that only look like dots and
/// slashes, is not plain.
pub(super) fn check(path: &str, is_plain: bool) -> Result<(), Finding> {
    check_dots(path, is_plain)?;
    match hexadecimal(path) {
        Cow::Borrowed(_) => Ok(()),
        Cow::Owned(spelled) => check_dots(&spelled, false),
    }
}

fn check_dots(path: &str, is_plain: bool) -> Result<(), Finding> {
    let mut three_dots = 0;
    let mut depth = 0_usize;
    let mut segments = path.split(is_separator).peekable();
    while let Some(segment) = segments.next() {
        // A single segment of three dots is a pattern of Go, or an ordinary name. Several of them, or one before an
        // empty or `.` segment, can become `..` when a filter removes two dots and a slash.
        if is_plain && segment == ".." && depth > 0 && segments.peek().is_some_and(|next| !next.is_empty()) {
            depth -= 1;
            continue;
        }
        depth += usize::from(segment.chars().any(char::is_alphanumeric));
        let three = segment == "...";
        three_dots += usize::from(three);
        let nested = three && segments.peek().is_some_and(|next| matches!(*next, "" | "."));
        refuse_if(
            three_dots > 1 || nested || (!three && segment.contains(['.', '?']) && UPWARD.is_match(segment)),
            TRAVERSAL,
        )?;
    }
    Ok(())
}

const TRAVERSAL: Refusal = ("traversal", "the path leads upwards: write it from the directory down");

/// A segment that some program takes for the parent directory.
static UPWARD: LazyLock<Regex> = LazyLock::new(|| {
    expression(concat!(
        // If the segment is appended to a prefix without its final slash, as in the alias of a server, two dots at its end
        // lead upwards.
        r"(?:^|[^.])\.\.\z|",
        // Two or more dots, up to a character at which servers, shells or Windows cut a name off: parameters, queries,
        // fragments, streams or commands can begin there.
        r#"^[.\s]*\.[.\s]*\.[.\s]*(?:\z|[;?#&|:!,"'<>*%`$=])|"#,
        // A pattern that matches the parent directory: `.?`, `.*`, `[.].`.
        r"^(?:\?[.?]+|[.?]+\?[.?]*|[.\[\]]*\[\.\][.\[\]]*|\.\.?\*)\z|",
        // Dots before an encoded separator that lost its percent sign in a filter: `..2f`.
        r"(?i-u:^(?:\.\.|2e2e)(?:2f|5c))",
    ))
});

/// Returns the path with `0x2e`, `0x2f` and `0x5c` decoded. Such text can occur in ordinary names, so only the decoded
/// path as a whole is judged.
fn hexadecimal(path: &str) -> Cow<'_, str> {
    HEXADECIMAL
        .replace_all(path, |code: &Captures<'_>| if code[1].eq_ignore_ascii_case("2e") { "." } else { "/" })
}

static HEXADECIMAL: LazyLock<Regex> = LazyLock::new(|| expression("(?i)0x(2e|2f|5c)"));

/// Returns whether the character is a slash, or looks like one so that some programs convert it to one.
pub(super) fn is_separator(character: char) -> bool {
    SEPARATORS.contains(&character)
}

/// The slashes, and the characters that look like one.
pub(super) const SEPARATORS: [char; 9] =
    ['/', '\\', '\u{2044}', '\u{2215}', '\u{2216}', '\u{29f8}', '\u{29f9}', '\u{2571}', '\u{2572}'];
