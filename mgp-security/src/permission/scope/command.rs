//! The check of commands against a scope, the splitting of a command line into words, and the lists of words by which
//! arguments are read.

use std::sync::LazyLock;

use mgp_types::{WordLists, word_lists};

use super::arguments::{ArgumentFacts, CommandLine};
use super::glob::{Glob, GlobKind};
use super::{ScopeError, refuse_if};
use crate::Finding;

/// The bounds of a scope on commands.
#[derive(Debug, Clone)]
pub(super) struct CommandScope {
    allowed: Box<[CommandPattern]>,
    denied: Box<[CommandPattern]>,
    /// True if raising privileges is allowed; `None` if the scope does not say, which forbids it where commands are
    /// bounded at all.
    sudo: Option<bool>,
}

#[derive(Debug, Clone)]
enum CommandPattern {
    /// A pattern for the command's name.
    Name(Glob),
    /// A pattern for the command with its arguments, and the same pattern for the end of a line that runs the
    /// command.
    Line { whole: Glob, within: Glob },
}

impl CommandScope {
    pub(super) fn new(allowed: &[String], denied: &[String], sudo: Option<bool>) -> Result<Self, ScopeError> {
        let read = |patterns: &[String], kind| {
            patterns.iter().map(|pattern| CommandPattern::new(pattern, kind)).collect::<Result<_, _>>()
        };
        let (allowed, denied) = (read(allowed, GlobKind::Text)?, read(denied, GlobKind::FoldedText)?);
        Ok(Self { allowed, denied, sudo })
    }

    pub(super) fn check(&self, facts: &ArgumentFacts<'_>) -> Result<(), Finding> {
        let bounded = !self.allowed.is_empty() || !self.denied.is_empty() || self.sudo == Some(false);
        if !bounded {
            return Ok(());
        }
        let opaque = "only certain commands were granted, and code does not show which it runs";
        refuse_if(facts.code, ("scope-opaque", opaque))?;
        let is_missing = facts.commands.is_empty() && (!self.allowed.is_empty() || !facts.others.is_empty());
        let missing = "the arguments do not show which command is meant; give it as `command`";
        refuse_if(is_missing, ("scope-command", missing))?;
        facts.commands.iter().try_for_each(|line| self.check_line(line))
    }

    fn check_line(&self, line: &CommandLine<'_>) -> Result<(), Finding> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let words = match line {
            CommandLine::Text(text, more) => split(text).map(|mut words| {
                words.words.extend(owned(more));
                words
            }),
            CommandLine::Words(words) if words.is_empty() => None,
            CommandLine::Words(words) => Some(ShellWords { words: owned(words), ..ShellWords::default() }),
        };
        let simple = words.filter(|words| words.words.len() <= MAX_WORDS && !words.words[0].contains(BLANKS));
        let Some(words) = simple else {
            let form = "give one command with its arguments, without pipes, redirections, substitutions or variables";
            return Err(Finding::new("scope-command-form", form));
        };
        let chosen = words.expands_command || (words.expands && !self.denied.is_empty());
        refuse_if(chosen, ("scope-command-form", "write out what a pattern would stand for, or quote it"))?;
        self.check_words(&words.words)
    }

    fn check_words(&self, words: &[String]) -> Result<(), Finding> {
        let Some((first, rest)) = words.split_first() else { return Ok(()) };
        let name = base(first);
        if is_listed(RAISING, &name) {
            refuse_if(self.sudo != Some(true), SUDO)?;
            // Its options could mean anything; without options, the words that follow are the command.
            let is_bare = rest.first().is_some_and(|word| !word.starts_with('-') && !word.contains('='));
            refuse_if(!is_bare, ("scope-command-form", "give the command right after it, without options"))?;
            return self.check_words(rest);
        }
        let line = words.join(" ");
        let bare_line = format!("{name}{}", &line[first.len()..]);
        // A denied command is denied under any path; a granted one is granted as it is written.
        let is_denied = |pattern: &CommandPattern| pattern.matches(&[first, &name], &[&line, &bare_line]);
        refuse_if(self.denied.iter().any(is_denied), CLOSED)?;
        if is_listed("programs that run others", &name) || is_interpreter(&name) {
            self.check_run_by(rest, &line)?;
        }
        let is_allowed = |pattern: &CommandPattern| pattern.matches(&[first], &[&line]);
        let is_granted = self.allowed.is_empty() || self.allowed.iter().any(is_allowed);
        refuse_if(!is_granted, ("scope-command", "this command was not granted"))
    }

    /// Checks the arguments of a command that runs other commands. A grant of such a command by name includes the
    /// commands that it runs, unless these are denied.
    fn check_run_by(&self, rest: &[String], line: &str) -> Result<(), Finding> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '\\');
        for part in rest.iter().flat_map(|word| word.split(|c| !is_part(c))) {
            let name = base(part);
            refuse_if(self.sudo != Some(true) && is_listed(RAISING, &name), SUDO)?;
            refuse_if(self.denied.iter().any(|pattern| pattern.matches(&[part, &name], &[])), CLOSED)?;
        }
        let within = |pattern: &CommandPattern| matches!(pattern, CommandPattern::Line { within, .. } if within.matches(line));
        refuse_if(self.denied.iter().any(within), CLOSED)?;
        // A word that contains blanks is a command line or a program of its own, which can write names in other ways.
        let is_program =
            |word: &String| word.contains(|c: char| c.is_whitespace() || matches!(c, '(' | ';' | '|'));
        let is_hidden = !self.denied.is_empty() && rest.iter().any(is_program);
        refuse_if(is_hidden, ("scope-command", "run the command itself, not through another"))
    }
}

/// The findings about a command that is denied, and about one that raises privileges.
const CLOSED: (&str, &str) = ("scope-command", "this command is closed");
const SUDO: (&str, &str) = ("scope-sudo", "raising privileges was not granted; run it without");

impl CommandPattern {
    fn new(pattern: &str, kind: GlobKind) -> Result<Self, ScopeError> {
        let whole = Glob::new(pattern, kind)?;
        if !pattern.contains(BLANKS) {
            return Ok(Self::Name(whole));
        }
        Ok(Self::Line { whole, within: Glob::new(&format!("*[ /]{pattern}"), kind)? })
    }

    /// Returns whether this is a pattern of one of `names`, or of one of `lines`.
    fn matches(&self, names: &[&str], lines: &[&str]) -> bool {
        match self {
            Self::Name(glob) => names.iter().any(|name| glob.matches(name)),
            Self::Line { whole, .. } => lines.iter().any(|line| whole.matches(line)),
        }
    }
}

/// Returns the name of a command without its directory and Windows file extensions, in lower case.
fn base(command: &str) -> String {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command).to_lowercase();
    let ending = [".exe", ".com", ".bat", ".cmd"].into_iter().find(|ending| name.ends_with(ending));
    ending.map_or(&*name, |ending| &name[..name.len() - ending.len()]).to_owned()
}

/// Returns whether a program runs code; a version may follow its name.
fn is_interpreter(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    is_listed("interpreters", stem)
}

/// The characters that separate words in a pattern.
const BLANKS: [char; 2] = [' ', '\t'];

/// The heading of the programs that raise privileges.
const RAISING: &str = "programs that raise privileges";

/// The words of a command line, as a POSIX shell splits it.
#[derive(Debug, Default, PartialEq, Eq)]
struct ShellWords {
    words: Vec<String>,
    /// True if the shell would replace some words, by patterns, braces or the home directory.
    expands: bool,
    /// True if the shell would replace the first word, and so choose the command.
    expands_command: bool,
}

/// Splits `line`; returns `None` if it is more than one simple command, or cannot be read without running a shell.
fn split(line: &str) -> Option<ShellWords> {
    let mut words = ShellWords::default();
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
            // Characters by which a shell, or PowerShell and cmd (the last three), substitute and escape.
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '!' | '#' | '%' | '^' | '@' => return None,
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
