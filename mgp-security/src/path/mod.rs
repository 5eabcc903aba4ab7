//! Checks of the paths that a call may reach in the file system.
//!
//! The text of a path is refused if it leads out of any directory, in every spelling that some program on the way may
//! decode. [`Roots`] holds the open directories, and asks the operating system where a path really ends.
//! [`ProtectedPaths`] holds the files that no call may touch.

mod later;
mod protected;
mod roots;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Captures, Regex, RegexSet};

use crate::data_file::{Section, expression, sections, split};
use crate::{Finding, text};

pub(crate) use later::{is_run_later, may_be_there};
pub(crate) use protected::ProtectedKind;
pub use protected::{PathAccess, ProtectedPaths};
pub(crate) use roots::{CallFolders, UNASKED, declared_roots};
pub use roots::{Roots, usable_folder};

/// Returns whether the text is a `file:` URI.
pub(crate) fn is_file_address(text: &str) -> bool {
    text.trim().get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

/// Checks the text of a path: it must be relative, must stay below the directory it is resolved in, whichever program
/// decodes it, and must not be [protected](ProtectedPaths).
pub(crate) fn check_text(path: &str) -> Result<(), Finding> {
    check(path, false)?;
    // The use of the file is not known, so it may be changed.
    ProtectedPaths::default().check(path, PathAccess::Write)
}

/// Checks the text of a path, which may begin at the root of the file system if `takes_absolute`: then [`Roots`] decide.
fn check(path: &str, takes_absolute: bool) -> Result<(), Finding> {
    let is_long = path.len() > MAX_BYTES || path.split('/').any(|segment| segment.len() > MAX_SEGMENT_BYTES);
    refuse_if(is_long, TOO_LONG)?;
    text::check(path)?;
    check_shapes("written", path)?;
    let mut form = Cow::Borrowed(path);
    // A path that is refused in one layer of encoding is refused in all, because it is not known which programs on the
    // way decode it. `Roots` only sees a root that is written plainly.
    let inside = takes_absolute && path.starts_with('/');
    let mut takes_absolute = takes_absolute;
    for layer in 0..MAX_LAYERS {
        let is_plain = layer == 0 && !path.chars().any(|sign| sign != '/' && is_separator(sign));
        check_form(&form, takes_absolute, is_plain)?;
        let Some(decoded) = decode(&form)? else { return Ok(()) };
        form = Cow::Owned(decoded);
        takes_absolute = inside;
    }
    Err(refused())
}

/// Checks the path in one layer of its encoding: it has to begin in the directory it is resolved in, unless it
/// `takes_absolute`, and to end at an ordinary file in it.
fn check_form(form: &str, takes_absolute: bool, is_plain: bool) -> Result<(), Finding> {
    refuse_if(form.contains(|character: char| character.is_ascii_control()), CONTROL)?;
    text::check(form)?;
    let folded = text::fold(form);
    check_segments(&folded, is_plain && folded == form)?;
    let begins_at_root = form.starts_with(is_separator) || has_drive(form);
    refuse_if(begins_at_root && !takes_absolute, ABSOLUTE)?;
    check_shapes("form", form)?;
    if !begins_at_root {
        check_shapes("beginning", &beginning(form))?;
    }
    check_shapes("names", form)
}

/// The class of a refusal, and the advice that its finding gives.
type Refusal = (&'static str, &'static str);

const TOO_LONG: Refusal = ("path-too-long", "the path, or a name in it, is longer than file systems allow");
const CONTROL: Refusal = ("control-character", "the path contains a control character: leave it out");
const ABSOLUTE: Refusal = ("absolute-path", "the path begins at the root: write it from the open directory");

fn refuse_if(condition: bool, (class, advice): Refusal) -> Result<(), Finding> {
    if condition { Err(Finding::new(class, advice)) } else { Ok(()) }
}

/// Refuses paths of a shape below `heading` in `shapes.txt`.
fn check_shapes(heading: &str, path: &str) -> Result<(), Finding> {
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

/// Checks that a path does not lead upwards, in any of the spellings that programs understand. A plainly written path
/// may lead up again as far as it led down before; one that is encoded, or has characters that only look like dots and
/// slashes, is not plain.
fn check_segments(path: &str, is_plain: bool) -> Result<(), Finding> {
    check_dots(path, is_plain)?;
    // `0x2e`, `0x2f` and `0x5c` can occur in ordinary names, so only the decoded path as a whole is judged.
    let sign = |code: &Captures<'_>| if code[1].eq_ignore_ascii_case("2e") { "." } else { "/" };
    match HEXADECIMAL.replace_all(path, sign) {
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
        let leads_up =
            three_dots > 1 || nested || (!three && segment.contains(['.', '?']) && UPWARD.is_match(segment));
        refuse_if(leads_up, TRAVERSAL)?;
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

static HEXADECIMAL: LazyLock<Regex> = LazyLock::new(|| expression("(?i)0x(2e|2f|5c)"));

/// Returns whether the character is a slash, or looks like one so that some programs convert it to one.
fn is_separator(character: char) -> bool {
    SEPARATORS.contains(&character)
}

/// The slashes, and the characters that look like one.
const SEPARATORS: [char; 9] =
    ['/', '\\', '\u{2044}', '\u{2215}', '\u{2216}', '\u{29f8}', '\u{29f9}', '\u{2571}', '\u{2572}'];

/// Decodes one layer of encoding (`%2e`, `%u002e`, and nothing else); returns `None` if nothing was encoded.
///
/// Encodings that programs decode in different ways are refused: overlong and other sequences that are not UTF-8,
/// escapes that are truncated or malformed in a way that lenient decoders repair, and character references.
pub(crate) fn decode(form: &str) -> Result<Option<String>, Finding> {
    if form.contains("&#") {
        return Err(refused());
    }
    if !form.contains('%') {
        return Ok(None);
    }
    let mut pieces = form.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    let (mut broken, mut changed) = (0, false);
    for piece in pieces {
        if let Some((unit, digits)) = encoded(piece) {
            bytes.extend(unit);
            bytes.extend_from_slice(&piece.as_bytes()[digits..]);
            changed = true;
        } else {
            broken += usize::from(BROKEN.is_match(piece));
            bytes.push(b'%');
            bytes.extend_from_slice(piece.as_bytes());
        }
    }
    if broken > 1 {
        return Err(refused());
    }
    let decoded = String::from_utf8(bytes).map_err(|_| refused())?;
    Ok(changed.then_some(decoded))
}

fn refused() -> Finding {
    Finding::new("encoding", "the path is encoded in a way that programs read differently: write it plainly")
}

/// Returns the bytes that the text behind a percent sign encodes, and the number of characters that encode them.
fn encoded(text: &str) -> Option<(Vec<u8>, usize)> {
    let found = ENCODED.captures(text)?;
    let number = |group| u32::from_str_radix(found.get(group)?.as_str(), 16).ok();
    let unit = match number(1) {
        Some(code) => char::from_u32(code)?.to_string().into_bytes(),
        None => vec![u8::try_from(number(2)?).ok()?],
    };
    Some((unit, found[0].len()))
}

static ENCODED: LazyLock<Regex> = LazyLock::new(|| expression("(?i-u)^(?:u([0-9a-f]{4})|([0-9a-f]{2}))"));

/// Text behind a percent sign that some programs take for an encoding.
static BROKEN: LazyLock<Regex> =
    LazyLock::new(|| expression("(?i-u)^(?:[0-9a-f][0-9a-z]|[0-9a-z][0-9a-f]|[0-9a-f]$)"));

/// The largest length of a path in bytes, which is the limit of Linux.
const MAX_BYTES: usize = 4095;

/// The largest length of a name in a path in bytes, which is the limit of the usual file systems.
const MAX_SEGMENT_BYTES: usize = 255;

/// The largest number of layers of encoding. Programs do not decode a path more often; a path with more is refused.
const MAX_LAYERS: usize = 6;

/// The names of folders at the root of file systems.
pub(crate) const ROOT_FOLDERS: &[&str] = &[
    "etc", "proc", "sys", "dev", "root", "home", "Users", "var", "usr", "tmp", "private", "boot", "run",
    "mnt", "media", "opt", "srv", "bin", "sbin", "lib", "Library", "System", "Volumes", "Windows",
];
