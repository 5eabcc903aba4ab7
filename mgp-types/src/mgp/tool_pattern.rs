//! Patterns of tools and agents, and the order in which they decide.

use std::fmt;
use std::str::FromStr;

use crate::macros::text_traits;

/// A text in which `*` stands for any characters, also none. No other character has a special meaning.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Glob(Box<str>);

/// A pattern of tools: a [`Glob`] for the id of their server and one for their own name. The two are matched apart from
/// each other, so that no server's id can look like the beginning of another server's tools.
///
/// | written | stands for |
/// |---|---|
/// | `server.tool` | the tool of the server |
/// | `server.*` | all tools of the server |
/// | `*.tool` | the tool of any server |
/// | `*` | all tools of all servers |
/// | `git*.delete_*` | the tools that begin with `delete_` of servers that begin with `git` |
/// | `server/some.tool` | the tool `some.tool` of the server |
///
/// The **last** dot separates the two, as in the names that clients see: `mind.cerebras.think` is `think` of
/// `mind.cerebras`. A tool whose own name has a dot is written with `/`, which no server's id has.
///
/// ```
/// use mgp_types::mgp::ToolPattern;
///
/// let one: ToolPattern = "one.*".parse()?;
/// assert!(one.matches("one", "read"));
/// assert!(!one.matches("one.admin", "read"));
/// assert!("one".parse::<ToolPattern>().is_err());
/// # Ok::<(), mgp_types::mgp::ToolPatternError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolPattern {
    server: Glob,
    tool: Glob,
}

/// A pattern of agents by their ids. The parts of an id lie between its dots, and a `*` stands for any characters of
/// one part: `team.*` is `team.ada` and not `team.ada.admin`. A `*` alone is every agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentPattern {
    parts: Box<[Glob]>,
}

/// The narrowness of a pattern. The greater one decides: a whole name before a pattern, and of two patterns the one
/// with more characters that stand for themselves. The tool counts before the server (§5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Specificity {
    tool: (bool, usize),
    server: (bool, usize),
}

/// The reasons why a text is no pattern of tools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolPatternError {
    /// The text has only one part.
    #[error(
        "`{0}` names no server and tool: write `{0}.*` for all tools of that server, `*.{0}` for that tool of any server, or `*` for everything"
    )]
    OnePart(Box<str>),
    /// A part is missing.
    #[error("`{0}` lacks a server or a tool: write `server.tool`, `server.*`, `*.tool` or `*`")]
    Empty(Box<str>),
    /// No server can have such an id.
    #[error(
        "`{0}` fits no server: ids have letters, digits, `.`, `_` and `-`, and `*` stands for any of them"
    )]
    NoServer(Box<str>),
}

impl Glob {
    /// Creates the pattern `text`.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the pattern stands for one name only: its own.
    pub fn is_exact(&self) -> bool {
        !self.0.contains('*')
    }

    /// Returns whether the pattern stands for `text`. The time is at most the product of both lengths.
    pub fn matches(&self, text: &str) -> bool {
        matches_stars(&self.0, text, |pattern, byte| (pattern[0] == byte).then_some(1))
    }

    fn rank(&self) -> (bool, usize) {
        (self.is_exact(), self.0.bytes().filter(|byte| *byte != b'*').count())
    }
}

/// Returns whether `pattern`, in which `*` stands for any characters, stands for `text`. The function `one` gets the rest
/// of the pattern and a byte of the text, and returns how many bytes of the pattern stand for that byte, if any do.
///
/// The time is at most the product of both lengths.
pub fn matches_stars(pattern: &str, text: &str, one: impl Fn(&[u8], u8) -> Option<usize>) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    // Where the rest does not fit, the search goes back behind the last star, one character later than last time.
    let (mut at, mut seen, mut retry) = (0, 0, None);
    while let Some(byte) = text.get(seen) {
        let rest = &pattern[at..];
        if rest.first() == Some(&b'*') {
            at += 1;
            retry = Some((at, seen));
        } else if let Some(length) = rest.first().and_then(|_| one(rest, *byte)) {
            (at, seen) = (at + length, seen + 1);
        } else if let Some((star, from)) = retry {
            (at, seen) = (star, from + 1);
            retry = Some((star, from + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

impl ToolPattern {
    /// Creates the pattern of the tools `tool` of the servers `server`.
    ///
    /// # Errors
    /// The part for the server or for the tool is empty, or no server can have such an id.
    pub fn new(server: &str, tool: &str) -> Result<Self, ToolPatternError> {
        if server.is_empty() || tool.is_empty() {
            return Err(ToolPatternError::Empty(format!("{server}.{tool}").into()));
        }
        if !server.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-*".contains(&byte)) {
            return Err(ToolPatternError::NoServer(server.into()));
        }
        Ok(Self { server: Glob::new(server), tool: Glob::new(tool) })
    }

    /// Creates the pattern of every tool.
    pub fn every() -> Self {
        Self { server: Glob::new("*"), tool: Glob::new("*") }
    }

    /// Returns the pattern of the server.
    pub fn server(&self) -> &Glob {
        &self.server
    }

    /// Returns the pattern of the tool.
    pub fn tool(&self) -> &Glob {
        &self.tool
    }

    /// Returns whether the pattern stands for this tool of this server.
    pub fn matches(&self, server: &str, tool: &str) -> bool {
        self.server.matches(server) && self.tool.matches(tool)
    }

    /// Splits the name of a tool, as clients call it, at its last dot; a name without a dot has no server.
    pub fn split(name: &str) -> (&str, &str) {
        name.rsplit_once('.').unwrap_or(("", name))
    }
}

impl Specificity {
    /// Returns the narrowness of a server and a tool.
    pub fn new(server: &Glob, tool: &Glob) -> Self {
        Self { tool: tool.rank(), server: server.rank() }
    }
}

impl FromStr for ToolPattern {
    type Err = ToolPatternError;

    fn from_str(text: &str) -> Result<Self, ToolPatternError> {
        if text == "*" {
            return Ok(Self::every());
        }
        let parts = text.split_once('/').or_else(|| text.rsplit_once('.'));
        match parts {
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => Self::new(server, tool),
            None if !text.is_empty() => Err(ToolPatternError::OnePart(text.into())),
            _ => Err(ToolPatternError::Empty(text.into())),
        }
    }
}

impl AgentPattern {
    /// Creates the pattern `text`.
    pub fn new(text: &str) -> Self {
        Self { parts: text.split('.').map(Glob::new).collect() }
    }

    /// Returns whether the pattern stands for `agent`.
    pub fn matches(&self, agent: &str) -> bool {
        if matches!(&*self.parts, [only] if only.as_str() == "*") {
            return true;
        }
        let parts = agent.split('.');
        parts.clone().count() == self.parts.len()
            && parts.zip(&self.parts).all(|(part, pattern)| pattern.matches(part))
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (server, tool) = (self.server.as_str(), self.tool.as_str());
        if (server, tool) == ("*", "*") {
            f.write_str("*")
        } else if tool.contains(['.', '/']) {
            write!(f, "{server}/{tool}")
        } else {
            write!(f, "{server}.{tool}")
        }
    }
}

text_traits!(Glob: Display, Debug);
text_traits!(ToolPattern: DebugAsDisplay, SerializeDisplay, DeserializeFromStr);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> ToolPattern {
        text.parse().unwrap()
    }

    #[test]
    fn the_last_dot_or_the_first_slash_is_the_border() {
        for (text, server, tool) in [
            ("one.read", "one", "read"),
            ("one.admin.read", "one.admin", "read"),
            ("one/admin.read", "one", "admin.read"),
            ("one/a/b", "one", "a/b"),
            ("*", "*", "*"),
            ("*.*", "*", "*"),
            ("*.read", "*", "read"),
            ("git*.delete_*", "git*", "delete_*"),
        ] {
            let parsed = pattern(text);
            assert_eq!((parsed.server().as_str(), parsed.tool().as_str()), (server, tool), "{text}");
        }
        for text in ["", "one", "one*", ".read", "one.", "/read", "one/", "o ne.read", "o\u{e9}.x"] {
            assert!(text.parse::<ToolPattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_server_is_never_taken_for_the_beginning_of_another() {
        for (text, matched, others) in [
            (
                "one.*",
                &[("one", "read"), ("one", "admin.read")][..],
                &[("one.admin", "read"), ("onetwo", "x")][..],
            ),
            ("one.admin.*", &[("one.admin", "read")], &[("one", "admin.read"), ("one", "admin")]),
            ("*.read", &[("a", "read"), ("a.b", "read")], &[("a", "b.read"), ("a", "reader")]),
            (
                "*.delete_*",
                &[("a", "delete_"), ("b", "delete_all")],
                &[("a", "undelete_x"), ("delete_", "x")],
            ),
            ("*", &[("a", "b"), ("", "b")], &[]),
        ] {
            let pattern = pattern(text);
            for (server, tool) in matched {
                assert!(pattern.matches(server, tool), "{text}: {server} {tool}");
            }
            for (server, tool) in others {
                assert!(!pattern.matches(server, tool), "{text}: {server} {tool}");
            }
        }
    }

    #[test]
    fn what_is_narrower_decides() {
        let order = ["*", "o*.*", "one.*", "*.r*", "one.r*", "*.rea*", "*.read", "o*.read", "one.read"];
        for pair in order.windows(2) {
            let [one, other] = [pair[0], pair[1]].map(|text| {
                let pattern = pattern(text);
                Specificity::new(pattern.server(), pattern.tool())
            });
            assert!(one < other, "{pair:?}");
        }
    }

    #[test]
    fn an_agent_pattern_stays_within_the_parts_of_an_id() {
        for (text, matched, others) in [
            ("team.*", &["team.ada", "team."][..], &["team", "team.ada.admin", "steam.ada"][..]),
            ("*", &["a", "a.b"], &[]),
            ("t*.a", &["team.a"], &["team.b", "t.x.a"]),
            ("helper", &["helper"], &["helper2", "Helper"]),
        ] {
            let pattern = AgentPattern::new(text);
            assert!(matched.iter().all(|agent| pattern.matches(agent)), "{text}");
            assert!(!others.iter().any(|agent| pattern.matches(agent)), "{text}");
        }
    }

    /// By trying each way to divide the text.
    fn matches_slowly(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|skipped| matches_slowly(rest, &text[skipped..])),
            Some((byte, rest)) => text.first() == Some(byte) && matches_slowly(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn a_glob_stands_for_what_it_says(pattern in "[ab*]{0,8}", text in "[ab]{0,10}") {
            let expected = matches_slowly(pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(Glob::new(pattern).matches(&text), expected);
        }

        #[test]
        fn a_pattern_is_read_as_it_is_written(server in "[a-z*.]{1,6}", tool in "[a-z*./ ]{1,6}") {
            let pattern = ToolPattern::new(&server, &tool).unwrap();
            prop_assert_eq!(pattern.to_string().parse::<ToolPattern>().unwrap(), pattern);
        }
    }
}
