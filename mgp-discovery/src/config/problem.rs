//! Errors and warnings about configuration files, with the lines they quote.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Position;

/// An error or a warning about a configuration file. The output looks like that of compilers:
///
/// ```text
/// error: `studio` is not a known value here
///   --> mgp.toml:4:13 (servers[0].transport)
///    |
///  4 | transport = "studio"
///    |             ^^^^^^^^
///    = help: did you mean `stdio`?
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The weight of the problem: an error refuses the file, a warning does not.
    pub severity: Severity,
    /// The path of the file.
    pub file: PathBuf,
    /// The position in the file, unless the problem concerns the whole file.
    pub position: Option<Position>,
    /// The key, such as `servers[0].transport`.
    pub key: Option<String>,
    /// The description of the problem.
    pub what: String,
    /// The text to write instead.
    pub instead: Option<String>,
    /// The line of the file, and the part of it that is marked.
    quoted: Option<Quoted>,
}

/// The weight of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "a file is used, or it is not")]
pub enum Severity {
    /// The file is refused.
    Error,
    /// The file is used, and somebody should look at the problem.
    Warning,
}

/// The errors of a configuration, of which no part is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n"))]
pub struct ConfigError {
    problems: Vec<Problem>,
}

impl Severity {
    /// Returns the word for the severity.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl Problem {
    /// Returns a problem of a whole file.
    pub(super) fn of_file(severity: Severity, file: &Path, what: impl Into<String>) -> Self {
        let (file, what) = (file.to_owned(), what.into());
        Self { severity, file, position: None, key: None, what, instead: None, quoted: None }
    }

    /// Returns a problem of the bytes `span` of `text`. The rest of the line is veiled, because it may hold secrets.
    pub(super) fn at(
        severity: Severity,
        file: &Path,
        text: &str,
        span: std::ops::Range<usize>,
        what: impl Into<String>,
    ) -> Self {
        let (position, quoted) = locate(text, span);
        Self { position: Some(position), quoted: Some(quoted), ..Self::of_file(severity, file, what) }
    }

    /// Returns the problem with its own text veiled too, because it may be a secret.
    pub(super) fn veiled(mut self) -> Self {
        if let Some(quoted) = &mut self.quoted {
            quoted.veil(0..0);
        }
        self
    }

    mgp_types::setters! { self =>
        pub(super) fn key(key: String) => self.key = (!key.is_empty()).then_some(key);

        pub(super) fn instead(instead: impl Into<String>) => self.instead = Some(instead.into());
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = self.severity.as_str();
        write!(f, "{severity}: {}\n  --> {}", self.what, self.file.display())?;
        if let Some(Position { line, column }) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        if let Some(key) = &self.key {
            write!(f, " ({key})")?;
        }
        let mut margin = 1;
        if let (Some(Position { line, .. }), Some(quoted)) = (self.position, &self.quoted) {
            let number = line.to_string();
            margin = number.len();
            write!(f, "\n {:margin$} |\n {number} | {}", "", quoted.line)?;
            let (before, width) = (quoted.before, quoted.width);
            write!(f, "\n {0:margin$} | {0:before$}{0:^<width$}", "")?;
        }
        self.instead.iter().try_for_each(|instead| write!(f, "\n {:margin$} = help: {instead}", ""))
    }
}

/// The largest number of problems of a severity that are told.
pub(super) const MAX_PROBLEMS: usize = 50;

impl ConfigError {
    /// Returns the error of these problems, of which there is at least one.
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        problems.truncate(MAX_PROBLEMS);
        Self { problems }
    }

    /// Returns the problems in the order of the file, at most 50.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

mgp_types::convert!(Problem => ConfigError, problem => Self { problems: vec![problem] });

const LONGEST_QUOTE: usize = 160;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Quoted {
    line: String,
    /// Set where the line begins before the quoted part.
    is_cut: bool,
    before: usize,
    width: usize,
}

const VEIL: char = '·';

impl Quoted {
    /// Hides the letters and digits of all values but the characters `meant`: the form of a line shows where a mistake
    /// is, and its values may be secret.
    fn veil(&mut self, meant: std::ops::Range<usize>) {
        let key = if self.is_cut { 0 } else { key_length(&self.line) };
        let inline = if self.is_cut { Vec::new() } else { inline_keys(&self.line) };
        let veiled = |(at, character): (usize, char)| {
            let is_key = at < key || inline.iter().any(|key| key.contains(&at));
            let is_open = is_key || meant.contains(&at) || !character.is_alphanumeric();
            if is_open { character } else { VEIL }
        };
        self.line = self.line.chars().enumerate().map(veiled).collect();
    }
}

/// The length of the longest key, in characters. A longer one is no key but, for example, a line of a certificate.
const LONGEST_KEY: usize = 48;

/// Returns the number of characters of a line that are its key, or a header.
fn key_length(line: &str) -> usize {
    let is_name = |text: &str| {
        let name = text.trim();
        name.len() <= LONGEST_KEY
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    let (start, end) = line.split_once('=').unwrap_or((line, ""));
    if end.starts_with('=') {
        // The text is the end of an encoded value.
        return 0;
    }
    let header = start.trim().trim_start_matches('[').trim_end_matches(']');
    let is_header = start.trim_start().starts_with('[') && end.is_empty() && is_name(header);
    if is_header || (is_name(start) && !end.is_empty()) { start.chars().count() } else { 0 }
}

/// Returns the places, in characters, of the keys of inline tables in a line. What stands in quotation marks is no key, and
/// neither is what does not follow a brace or a comma: it may be a part of a longer text.
fn inline_keys(line: &str) -> Vec<std::ops::Range<usize>> {
    let characters: Vec<char> = line.chars().collect();
    let (mut keys, mut quote, mut may_begin, mut at) = (Vec::new(), None, false, 0);
    while let Some(&character) = characters.get(at) {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => (quote, may_begin) = (Some(character), false),
            (None, '{' | ',') => may_begin = true,
            (None, _) if may_begin && !character.is_whitespace() => {
                let name =
                    characters[at..].iter().take_while(|c| c.is_ascii_alphanumeric() || "_-".contains(**c));
                let end = at + name.count();
                let mut rest = characters[end..].iter().skip_while(|c| c.is_whitespace());
                let is_key = rest.next() == Some(&'=') && rest.next().is_some_and(|after| *after != '=');
                if is_key && (1..=LONGEST_KEY).contains(&(end - at)) {
                    keys.push(at..end);
                }
                (may_begin, at) = (false, end.max(at + 1) - 1);
            }
            _ => {}
        }
        at += 1;
    }
    keys
}

/// Returns the position of the bytes `span`, and the line in which they begin. A span outside the text counts as its
/// end.
fn locate(text: &str, span: std::ops::Range<usize>) -> (Position, Quoted) {
    let start = text.floor_char_boundary(span.start);
    let end = text.floor_char_boundary(span.end.max(start));
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let column = text[line_start..start].chars().count();
    let width = text[start..end.min(line_end).max(start)].trim_end().chars().count().max(1);
    // Of a very long line the relevant part is quoted.
    let skipped = if column < LONGEST_QUOTE { 0 } else { column - LONGEST_QUOTE / 2 };
    let shown: String =
        text[line_start..line_end].chars().skip(skipped).take(LONGEST_QUOTE).map(printable).collect();
    let before = column - skipped;
    let width = width.min(LONGEST_QUOTE - before);
    let mut quoted = Quoted { line: shown.trim_end().into(), before, width, is_cut: skipped > 0 };
    quoted.veil(before..before + width);
    (Position::of(text, start), quoted)
}

/// Replaces characters that a terminal would act upon; a tab is one column.
fn printable(character: char) -> char {
    match character {
        '\t' => ' ',
        control if control.is_control() => '\u{fffd}',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_shown_as_compilers_show_it() {
        let text = "[[servers]]\nid = \"a\"\ntransport = \"studio\"\n";
        let start = text.find("\"studio\"").unwrap();
        let problem =
            Problem::at(Severity::Error, Path::new("mgp.toml"), text, start..start + 8, "no such transport")
                .key("servers[0].transport".into())
                .instead("did you mean `stdio`?");
        let expected = "error: no such transport\n  --> mgp.toml:3:13 (servers[0].transport)\n   |\n \
                        3 | transport = \"studio\"\n   |             ^^^^^^^^\n   = help: did you mean `stdio`?";
        assert_eq!(problem.to_string(), expected);
    }

    #[test]
    fn columns_count_characters_and_spans_beyond_the_text_are_its_end() {
        let text = "ä = \"ö\"";
        assert_eq!(locate(text, 5..9).0, Position { line: 1, column: 5 });
        assert_eq!(
            locate(text, 6..6).0,
            Position { line: 1, column: 6 },
            "the middle of a character is its start"
        );
        assert_eq!(locate(text, 500..900).0, Position { line: 1, column: 8 });
        assert_eq!(locate("", 0..0).0, Position { line: 1, column: 1 });
    }

    #[test]
    fn of_a_very_long_line_only_the_part_that_is_meant_is_quoted() {
        let text = format!("{}here{}", "x".repeat(10_000), "y".repeat(10_000));
        let quoted = locate(&text, 10_000..10_004).1;
        assert_eq!(quoted.line.chars().count(), LONGEST_QUOTE);
        let meant: String = quoted.line.chars().skip(quoted.before).take(quoted.width).collect();
        assert_eq!(meant, "here");
    }

    #[test]
    fn what_else_stands_in_the_line_is_veiled() {
        let quoted = |text: &str, meant: &str| {
            let start = text.find(meant).unwrap();
            locate(text, start..start + meant.len()).1.line
        };
        let inline = "servers = [{ id = \"a\", env = { T = \"s3cret\" }, transport = \"studio\" }]";
        let shown = quoted(inline, "\"studio\"");
        assert_eq!(shown, "servers = [{ id = \"·\", env = { T = \"······\" }, transport = \"studio\" }]");
        let texts = "args = [\"{ k3y = 1\", \"--t0ken=s3cret\", \"a, b=c\"], x = 1";
        assert_eq!(quoted(texts, " x"), "args = [\"{ ··· = ·\", \"--·····=······\", \"·, ·=·\"], x = ·");
        assert_eq!(quoted("[servers.env]", "env"), "[servers.env]");
        // The line is part of a list or a text.
        assert_eq!(quoted("  \"--key\", \"s3cret\", \"-v\",", "\"-v\""), "  \"--···\", \"······\", \"-v\",");
        assert_eq!(quoted("c2VjcmV0==", "=="), "········==");
        let long = format!("cert = \"{}c2VjcmV0=\" x", "y".repeat(200));
        assert!(!quoted(&long, " x").contains("c2V"), "{}", quoted(&long, " x"));
        let line = "c2VjcmV0".repeat(8) + "==";
        assert_eq!(quoted(&line, "=="), "·".repeat(64) + "==");
    }
}
