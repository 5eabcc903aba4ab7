//! The splitting of a command line into words, and the lists of words by which arguments are read.

use std::sync::LazyLock;

use mgp_types::{WordLists, word_lists};

/// The words of a command line, as a POSIX shell splits it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShellWords {
    pub(super) words: Vec<String>,
    /// True if the shell would replace some words, by patterns, braces or the home directory.
    pub(super) expands: bool,
    /// True if the shell would replace the first word, and so choose the command.
    pub(super) expands_command: bool,
}

/// Splits `line`; returns `None` if it is more than one simple command, or cannot be read without running a shell.
pub(super) fn split(line: &str) -> Option<ShellWords> {
    let mut words = ShellWords { words: Vec::new(), expands: false, expands_command: false };
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.words.extend(word.take()),
            '\'' => {
                let (quoted, behind) = chars.as_str().split_once('\'')?;
                word.get_or_insert_default().push_str(quoted);
                chars = behind.chars();
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' | '!' => return None,
                        '\\' => match chars.next()? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            _ => return None,
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => match chars.next()? {
                '\n' => return None,
                c => word.get_or_insert_default().push(c),
            },
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '!' | '#' => return None,
            // Characters by which PowerShell and cmd substitute and escape.
            '%' | '^' | '@' => return None,
            c if c.is_control() => return None,
            c => {
                if matches!(c, '*' | '?' | '[' | '{' | '~') {
                    words.expands = true;
                    words.expands_command |= words.words.is_empty();
                }
                word.get_or_insert_default().push(c);
            }
        }
        if words.words.len() > MAX_WORDS {
            return None;
        }
    }
    words.words.extend(word);
    // An assignment before a command can change which command it is.
    (!words.words.first()?.contains('=')).then_some(words)
}

/// Returns whether `word` is in the list with this heading.
pub(super) fn is_listed(heading: &str, word: &str) -> bool {
    LISTS[heading].contains(&word)
}

static LISTS: LazyLock<WordLists> = LazyLock::new(|| word_lists(include_str!("words.txt")));

/// The largest number of words that are read: more than people write.
pub(super) const MAX_WORDS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<Vec<String>> {
        split(line).map(|words| words.words)
    }

    #[test]
    fn quotes_and_backslashes_are_taken_away() {
        assert_eq!(
            of(r#"git  commit -m "a | b; c" 'd $e' f\ g"#).unwrap(),
            ["git", "commit", "-m", "a | b; c", "d $e", "f g"]
        );
        assert_eq!(of(r#""r"m 'x'y"#).unwrap(), ["rm", "xy"]);
        assert!(split("ls *.rs").unwrap().expands && !split("ls '*.rs'").unwrap().expands);
        assert!(split("/bin/r? x").unwrap().expands_command);
    }

    #[test]
    fn what_is_more_than_one_simple_command_is_not_read() {
        for line in [
            "", "  ", "a; b", "a && b", "a | b", "a & b", "a > b", "a < b", "a $(b)", "a `b`", "a $B",
            "a\nb", "(a)", "a \"$B\"", "A=1 b", "'a", "\"a", "a\\", "a # b", "a \"\\n\"", "!a", "%COMSPEC%",
            "a\u{1b}b",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
