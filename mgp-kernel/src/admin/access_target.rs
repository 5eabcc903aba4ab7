//! The server or tool that a command line names, in one word or in two.

use mgp_types::mgp::{ServerId, ToolName, ToolPattern};
use serde::Deserialize;

use crate::terminal::Failure;

/// A server or a tool, each of which may be a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct NamedTarget {
    #[serde(rename = "server_id")]
    pub(crate) server: String,
    /// The tool, or `None` for all tools of the server.
    #[serde(rename = "tool_name")]
    pub(crate) tool: Option<String>,
}

impl NamedTarget {
    pub(crate) fn new(server: &ServerId, tool: Option<&ToolName>) -> Self {
        Self { server: server.to_string(), tool: tool.map(ToString::to_string) }
    }

    /// Returns the target that two words name. No dot in either word separates a server from a tool.
    pub(crate) fn in_two(server: String, tool: String) -> Self {
        Self { server, tool: Some(tool).filter(|tool| tool != "*") }
    }

    /// Returns the target of one word whose form is unambiguous: `server`, `server.*`, `*.tool` or `server/tool`.
    /// Returns `None` for a word with dots and without `*` or `/`.
    pub(crate) fn in_one(word: &str) -> Result<Option<Self>, Failure> {
        if !word.contains(['.', '/']) {
            return Ok(Some(Self { server: word.to_owned(), tool: None }));
        }
        if !word.contains(['*', '/']) {
            return Ok(None);
        }
        Self::pattern(word).map(Some)
    }

    /// Returns the target of one word with dots and without a `*`: the server with that id, or else the tool of a
    /// server whose id is the beginning of the word. `known` are the servers and tools that there are, because the id of
    /// a server may contain dots. A word that is both is refused. A word that is neither is taken as a server, or refused
    /// if `unseen` says that the rule is to be made even for unknown names.
    pub(crate) fn by(word: &str, known: &[Self], unseen: bool) -> Result<Self, Failure> {
        let whole = Self { server: word.to_owned(), tool: None };
        let of_server = Self::pattern(word)?;
        let server = Self { server: of_server.server.clone(), tool: None };
        match (known.contains(&whole), known.contains(&of_server), known.contains(&server)) {
            (true, false, _) => Ok(whole),
            (false, _, true) => Ok(of_server),
            (false, _, false) if !unseen => Ok(whole),
            _ => {
                let (server, tool) = (server.server, of_server.tool.unwrap_or_default());
                Err(Failure::usage(format!("`{word}` is either a server or a tool of `{server}`"))
                    .hint(format!("write `{word}.*` for the server, or `{server}/{tool}` for the tool")))
            }
        }
    }

    pub(crate) fn ids(self) -> (ServerId, Option<ToolName>) {
        (self.server.as_str().into(), self.tool.as_deref().map(ToolName::new))
    }

    fn pattern(word: &str) -> Result<Self, Failure> {
        let pattern: ToolPattern = word.parse().map_err(|error| Failure::usage(format!("{error}")))?;
        Ok(Self::in_two(pattern.server().as_str().to_owned(), pattern.tool().as_str().to_owned()))
    }
}

/// The data of the error by which the kernel refuses a rule that matches nothing.
#[derive(Debug, Deserialize)]
struct RuleSuggestion {
    /// The reason of the refusal, without advice.
    reason: Option<String>,
    /// The target that is probably meant. A refusal without this member, which may be `null`, has another reason.
    #[serde(deserialize_with = "Option::deserialize")]
    did_you_mean: Option<NamedTarget>,
}

/// Adds a hint to the refusal of a rule that matches nothing: the command that is probably meant, and the option that
/// accepts the name as written. `command` returns the command for the suggested target, which it gets as one word.
pub(crate) fn advised(failure: Failure, command: impl Fn(&str) -> String) -> Failure {
    let Some(RuleSuggestion { reason, did_you_mean }) = failure.data() else { return failure };
    // The hint contains the suggestion, so the message need not.
    let failure = match reason {
        Some(reason) => failure.with_message(reason),
        None => failure,
    };
    let Some(NamedTarget { server, tool }) = did_you_mean else {
        return failure
            .hint("`mgp servers` and `mgp tools` show the names; `--force` accepts the name as written");
    };
    let word = match &tool {
        None => server,
        Some(tool) => ToolPattern::new(&server, tool).map_or(server, |pattern| pattern.to_string()),
    };
    failure.hint(format!("did you mean `{}`? `--force` accepts the name as written", command(&word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(word: &str, unseen: bool) -> Result<NamedTarget, Failure> {
        let known = |server: &str, tool: Option<&str>| NamedTarget {
            server: server.to_owned(),
            tool: tool.map(str::to_owned),
        };
        let servers = ["one", "one.admin", "one.two", "mind.cerebras"].map(|server| known(server, None));
        let known = [&servers[..], &[known("one", Some("two"))]].concat();
        NamedTarget::in_one(word)
            .and_then(|named| named.map_or_else(|| NamedTarget::by(word, &known, unseen), Ok))
    }

    #[test]
    fn a_word_is_a_server_or_a_tool_by_what_there_is() {
        for (word, server, tool) in [
            ("one", "one", None),
            ("delete_*", "delete_*", None),
            ("*", "*", None),
            ("one.*", "one", None),
            ("*.delete_*", "*", Some("delete_*")),
            ("one.read*", "one", Some("read*")),
            ("one/a.b", "one", Some("a.b")),
            ("one.admin", "one.admin", None),
            ("one.admin.*", "one.admin", None),
            ("one.read", "one", Some("read")),
            ("mind.cerebras.think", "mind.cerebras", Some("think")),
            ("mind.cerebra", "mind.cerebra", None),
        ] {
            let expected = NamedTarget { server: server.to_owned(), tool: tool.map(str::to_owned) };
            assert_eq!(named(word, false).unwrap(), expected, "{word}");
        }
    }

    #[test]
    fn what_may_be_both_is_refused_with_both_ways_to_write_it() {
        for (word, unseen) in [("one.two", false), ("one.two", true), ("later.x", true)] {
            let failure = named(word, unseen).unwrap_err();
            let advice = failure.advice().unwrap_or_default();
            let slash = word.replace('.', "/");
            assert!(advice.contains(&format!("`{word}.*`")) && advice.contains(&slash), "{advice}");
        }
    }
}
