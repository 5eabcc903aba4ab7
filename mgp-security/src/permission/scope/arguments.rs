//! The reading of a call's arguments: which of them are paths, commands, hosts and so on, by the names of their
//! members.

use mgp_types::words;
use serde_json::Value;

use super::command::{MAX_WORDS, is_listed};
use crate::named::{Named as _, named};

/// The paths, commands, hosts and other facts in the arguments of a call, found by the names of their members.
#[derive(Debug, Default)]
pub(super) struct ArgumentFacts<'a> {
    pub(super) paths: Vec<&'a str>,
    pub(super) commands: Vec<CommandLine<'a>>,
    pub(super) hosts: Vec<&'a str>,
    /// The ports; `None` for a value that should be a port and is not.
    pub(super) ports: Vec<Option<u16>>,
    pub(super) languages: Vec<&'a str>,
    pub(super) times_ms: Vec<u64>,
    /// The texts whose names tell nothing, and the names of such members.
    pub(super) others: Vec<&'a str>,
    /// True if there is code, or another value that only the server can read.
    pub(super) code: bool,
}

/// A command in the form in which it was given.
#[derive(Debug)]
pub(super) enum CommandLine<'a> {
    /// A command line as one text, with the separate words beside it.
    Text(&'a str, Vec<&'a str>),
    /// A command as a list of words.
    Words(Vec<&'a str>),
}

named! {
    /// The kind of a value, by the heading in `words.txt` of the words that tell it in the name of an argument.
    enum ArgumentKind {
        /// The name tells nothing.
        "" => Other,
        "paths" => Path,
        "commands" => Command,
        /// The words of a command that stands beside them.
        "words of a command" => Words,
        "hosts" => Host,
        "ports" => Port,
        "languages" => Language,
        "times" => Time,
        "code" => Code,
        /// A text that is stored or sent, in which a slash means nothing.
        "content" => Content,
    }
}

impl<'a> ArgumentFacts<'a> {
    pub(super) fn read(arguments: &'a Value) -> Self {
        let mut facts = Self::default();
        facts.walk(arguments, ArgumentKind::Other, 1);
        facts
    }

    /// Collects the facts in `value`. JSON is nested no deeper than a frame may be, so the recursion is bounded.
    fn walk(&mut self, value: &'a Value, kind: ArgumentKind, unit: u64) {
        match value {
            Value::Object(members) => {
                // An object within stored or sent content is searched by itself: the content may be a wrapper.
                let kind = if kind == ArgumentKind::Content { ArgumentKind::Other } else { kind };
                let own = |name: &str| match classify(name) {
                    (ArgumentKind::Other, _) => (kind, unit),
                    classified => classified,
                };
                let words: Vec<&str> = members
                    .iter()
                    .filter(|(name, _)| own(name).0 == ArgumentKind::Words)
                    .filter_map(|(_, value)| words_in(value))
                    .flatten()
                    .take(MAX_WORDS + 1)
                    .collect();
                let mut led = false;
                for (name, value) in members {
                    let outer = kind;
                    let (kind, unit) = own(name);
                    if kind == ArgumentKind::Other {
                        self.others.push(name);
                    }
                    match (kind, value) {
                        (ArgumentKind::Words, _) if words_in(value).is_some() => {}
                        // A member `arguments` may hold those of another call, with names of their own.
                        (ArgumentKind::Words, _) => {
                            let kind = if outer == ArgumentKind::Words { ArgumentKind::Other } else { outer };
                            self.walk(value, kind, unit);
                        }
                        (ArgumentKind::Command, Value::String(text)) => {
                            led = true;
                            self.command(CommandLine::Text(text, words.clone()));
                        }
                        _ => self.walk(value, kind, unit),
                    }
                }
                if !led && !words.is_empty() {
                    self.command(CommandLine::Words(words));
                }
            }
            Value::Array(items) if kind == ArgumentKind::Command && items.iter().all(Value::is_string) => {
                self.command(CommandLine::Words(items.iter().filter_map(Value::as_str).collect()));
            }
            Value::Array(items) => items.iter().for_each(|item| self.walk(item, kind, unit)),
            Value::String(text) => self.text(text, kind, unit),
            Value::Number(number) => match kind {
                ArgumentKind::Port => {
                    self.ports.push(number.as_u64().and_then(|port| u16::try_from(port).ok()));
                }
                ArgumentKind::Time => self.times_ms.push(millis(number.as_f64(), unit)),
                _ => {}
            },
            Value::Bool(_) | Value::Null => {}
        }
    }

    fn command(&mut self, line: CommandLine<'a>) {
        // Each command is checked with the words beside it, so many of both would take long.
        if self.commands.len() < MAX_COMMANDS {
            self.commands.push(line);
        } else {
            self.code = true;
        }
    }

    fn text(&mut self, text: &'a str, kind: ArgumentKind, unit: u64) {
        match kind {
            ArgumentKind::Path => self.paths.push(text),
            ArgumentKind::Command => self.command(CommandLine::Text(text, Vec::new())),
            ArgumentKind::Words => self.command(CommandLine::Words(vec![text])),
            ArgumentKind::Host => self.hosts.push(text),
            ArgumentKind::Port => self.ports.push(text.trim().parse().ok()),
            ArgumentKind::Language => {
                self.languages.push(text);
                self.others.push(text);
            }
            ArgumentKind::Time => self.times_ms.push(millis(text.trim().parse().ok(), unit)),
            ArgumentKind::Code => self.code = true,
            ArgumentKind::Content => {}
            ArgumentKind::Other => {
                // Something further on parses arguments within a text, in a way that is not visible here.
                self.code |= is_json(text);
                self.others.push(text);
            }
        }
    }
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Returns the words of a command that `value` holds; `None` if it holds something else.
fn words_in(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(text) => Some(vec![text]),
        Value::Array(items) => items.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

/// Returns a duration in milliseconds; a value that is no number counts as longer than any limit.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "such casts saturate, as they should"
)]
#[expect(clippy::cast_precision_loss, reason = "the unit is 1 or 1000")]
fn millis(number: Option<f64>, unit: u64) -> u64 {
    number.filter(|number| *number >= 0.0).map_or(u64::MAX, |number| (number * unit as f64).ceil() as u64)
}

/// Returns the kind of value that a member of this name holds and, for durations, the number of milliseconds in its
/// unit. The last telling word decides: a `file_content` is content, a `content_file` is a file.
fn classify(name: &str) -> (ArgumentKind, u64) {
    let words = words(name);
    let kind = words.iter().rev().find_map(|word| kind_of(word)).unwrap_or(ArgumentKind::Other);
    let is_time = words.iter().any(|word| is_listed("times", word))
        || (words.iter().any(|word| word == "max") && words.iter().any(|word| word == "time"));
    if !is_time {
        return (kind, 1);
    }
    // Seconds are assumed where the name has no unit: of the two usual ones, they make the longer duration.
    let last = words.last().map(String::as_str);
    let is_millis = matches!(last, Some("ms" | "millis" | "milliseconds" | "msec"));
    (ArgumentKind::Time, if is_millis { 1 } else { 1000 })
}

/// Returns the kind of argument that a word of its name tells, if it tells one.
fn kind_of(word: &str) -> Option<ArgumentKind> {
    // No word tells that nothing is known of a value.
    ArgumentKind::NAMES[1..].iter().find(|(heading, _)| is_listed(heading, word)).map(|(_, kind)| *kind)
}

/// The largest number of commands in the arguments of a call: more than one call runs.
const MAX_COMMANDS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_telling_word_of_a_name_decides() {
        for (name, kind) in [
            ("path", ArgumentKind::Path),
            ("filePath", ArgumentKind::Path),
            ("output-dir", ArgumentKind::Path),
            ("file_content", ArgumentKind::Content),
            ("contentFile", ArgumentKind::Path),
            ("baseURL", ArgumentKind::Host),
            ("target_url", ArgumentKind::Host),
            ("source_code", ArgumentKind::Code),
            ("command_line", ArgumentKind::Command),
            ("question", ArgumentKind::Other),
        ] {
            assert_eq!(classify(name).0, kind, "{name}");
        }
        assert_eq!(classify("max_execution_time_ms"), (ArgumentKind::Time, 1));
        assert_eq!(classify("timeout"), (ArgumentKind::Time, 1000));
    }

    #[test]
    fn members_without_a_telling_name_are_what_they_stand_in() {
        let value: Value = serde_json::from_str(
            r#"{"files":[{"name":"/a"},"/b"],"command":"git","args":["status"],"x":{"y":"z"},"port":"99999"}"#,
        )
        .unwrap();
        let facts = ArgumentFacts::read(&value);
        assert_eq!(facts.paths, ["/a", "/b"]);
        assert!(matches!(&facts.commands[..], [CommandLine::Text("git", words)] if words[..] == ["status"]));
        assert_eq!(facts.others, ["x", "y", "z"]);
        assert_eq!(facts.ports, [None]);
    }
}
