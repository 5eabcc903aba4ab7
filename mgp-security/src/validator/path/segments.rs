use std::borrow::Cow;

use crate::Finding;

/// How the dots and slashes of a path are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathSpelling {
    /// As everybody writes them.
    Plain,
    /// Encoded, or with signs that look like them.
    Other,
}

/// Refuses a path that leads upwards, whichever of the ways to write it programs understand. Written plainly, it may lead
/// up as far as it led down before.
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
        // One segment of three dots is a pattern of Go and a name like others. More of them, or one before what a
        // filter takes out together with two of its dots, are `..` once the filter has been there.
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
        if three_dots > 1 || nested || (!three && leads_up(segment)) {
            return Err(Finding::new(
                "traversal",
                "the path leads upwards: write it from the directory down",
            ));
        }
    }
    Ok(())
}

/// Whether some program takes the segment for the parent directory.
fn leads_up(segment: &str) -> bool {
    if !segment.contains(['.', '?']) {
        return false;
    }
    // Joined to a prefix that lacks its slash, as in a server's alias, two dots at the end of a name lead out of it.
    let ends_in_two = segment.ends_with("..") && !segment.ends_with("...");
    ends_in_two || is_dots(segment) || is_dot_pattern(segment) || continues_encoded(segment)
}

/// Two or more dots, up to something that servers, shells and Windows cut a name at: `..`, `.. `, `..;x`, `..%`.
fn is_dots(segment: &str) -> bool {
    let name = segment.split(is_cut).next().unwrap_or_default();
    let dots = name.bytes().filter(|byte| *byte == b'.').count();
    dots > 1 && name.chars().all(|character| character == '.' || character.is_whitespace())
}

/// A pattern that the parent directory matches: `.?`, `.*`, `[.].`.
fn is_dot_pattern(segment: &str) -> bool {
    let all = |set: &[char]| segment.contains(|character| !set.contains(&character));
    segment.len() > 1
        && match () {
            () if !all(&['.', '?']) => segment.contains('?'),
            () if !all(&['.', '[', ']']) => segment.contains("[.]"),
            () => segment == ".*" || segment == "..*",
        }
}

/// Dots before a separator of which a filter has taken the percent sign: `..2f`.
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

/// The path with `0x2e`, `0x2f` and `0x5c` resolved. Such names exist, so only what they add up to counts.
fn hexadecimal(path: &str) -> Cow<'_, str> {
    let mut spelled = Cow::Borrowed(path);
    if path.contains("0x") || path.contains("0X") {
        for (code, character) in
            [("2e", "."), ("2E", "."), ("2f", "/"), ("2F", "/"), ("5c", "/"), ("5C", "/")]
        {
            for prefix in ["0x", "0X"] {
                let code = format!("{prefix}{code}");
                if spelled.contains(&code) {
                    spelled = Cow::Owned(spelled.replace(&code, character));
                }
            }
        }
    }
    spelled
}

/// Slashes, and what looks like them: some programs map it to one.
pub(super) fn is_separator(character: char) -> bool {
    matches!(
        character,
        '/' | '\\' | '\u{2044}' | '\u{2215}' | '\u{2216}' | '\u{29f8}' | '\u{29f9}' | '\u{2571}' | '\u{2572}'
    )
}

/// Where parameters, queries, fragments, streams and commands begin.
fn is_cut(character: char) -> bool {
    matches!(
        character,
        ';' | '?' | '#' | '&' | '|' | ':' | '!' | ',' | '"' | '\'' | '<' | '>' | '*' | '%' | '`' | '$' | '='
    )
}
