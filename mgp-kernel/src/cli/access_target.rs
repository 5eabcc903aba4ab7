//! What a command line names a server or tools by, in one word or in two.

use mgp_types::mgp::{ServerId, ToolName, ToolPattern};
use serde::Deserialize;

use super::exit::Failure;

/// A server or a tool, each perhaps a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedTarget {
    pub(super) server: String,
    /// All of the server's, if there is none.
    pub(super) tool: Option<String>,
}

/// What is known of names with dots, for the id of a server may have some.
pub(super) trait NameLookup {
    /// Whether a server has this id.
    fn has_server(&self, id: &str) -> bool;
    /// Whether the server is known to have the tool.
    fn has_tool(&self, server: &str, tool: &str) -> bool;
}

impl NamedTarget {
    /// Returns what two words name: nothing in either is taken for a border.
    pub(super) fn in_two(server: String, tool: String) -> Self {
        Self { server, tool: Some(tool).filter(|tool| tool != "*") }
    }

    /// Returns what one word names, if it says so itself: `server`, `server.*`, `*.tool`, `server/tool`.
    pub(super) fn in_one(word: &str) -> Result<Option<Self>, Failure> {
        if !word.contains(['.', '/']) {
            return Ok(Some(Self { server: word.to_owned(), tool: None }));
        }
        if !word.contains(['*', '/']) {
            return Ok(None);
        }
        Self::pattern(word).map(Some)
    }

    /// Returns what one word with dots and without a `*` names. A server whose id it is goes before a tool of a server whose id
    /// is its beginning; where both are there it is refused, and so it is where neither is and `unseen` tells that the
    /// rule is to be made all the same.
    pub(super) fn by(word: &str, names: &impl NameLookup, unseen: bool) -> Result<Self, Failure> {
        let pattern = Self::pattern(word)?;
        let tool = pattern.tool.as_deref().unwrap_or_default();
        let is_server = names.has_server(word);
        let whole = Self { server: word.to_owned(), tool: None };
        if is_server && names.has_tool(&pattern.server, tool) {
            return Err(ambiguous(word, &pattern.server, tool));
        }
        if is_server {
            return Ok(whole);
        }
        if names.has_server(&pattern.server) {
            return Ok(pattern);
        }
        if unseen {
            return Err(ambiguous(word, &pattern.server, tool));
        }
        Ok(whole)
    }

    pub(super) fn ids(self) -> (ServerId, Option<ToolName>) {
        (self.server.as_str().into(), self.tool.as_deref().map(ToolName::new))
    }

    fn pattern(word: &str) -> Result<Self, Failure> {
        let pattern: ToolPattern = word.parse().map_err(|error| Failure::usage(format!("{error}")))?;
        Ok(Self::in_two(pattern.server().as_str().to_owned(), pattern.tool().as_str().to_owned()))
    }
}

fn ambiguous(word: &str, server: &str, tool: &str) -> Failure {
    Failure::usage(format!("`{word}` is either a server or a tool of `{server}`"))
        .hint(format!("write `{word}.*` for the server, or `{server}/{tool}` for the tool"))
}

/// What the kernel takes for meant by a rule that stands for nothing.
#[derive(Debug, Deserialize)]
struct RuleSuggestion {
    /// Why the rule is refused, without advice.
    reason: Option<String>,
    /// Always there, or the refusal has another reason.
    #[serde(deserialize_with = "Option::deserialize")]
    did_you_mean: Option<MeantTarget>,
}

#[derive(Debug, Deserialize)]
struct MeantTarget {
    server_id: String,
    tool_name: Option<String>,
}

/// Adds to the refusal of a rule that stands for nothing the command that is probably meant, and how to insist. `command` is
/// told what is meant, written in one word.
pub(super) fn advised(failure: Failure, command: impl Fn(&str) -> String) -> Failure {
    let Some(RuleSuggestion { reason, did_you_mean }) = failure.data() else { return failure };
    // The command says what is meant, so the message need not.
    let failure = match reason {
        Some(reason) => failure.told(reason),
        None => failure,
    };
    let Some(MeantTarget { server_id, tool_name }) = did_you_mean else {
        return failure
            .hint("`mgp servers` and `mgp tools` show the names; `--force` accepts the name as written");
    };
    let word = match &tool_name {
        None => server_id,
        Some(tool) => ToolPattern::new(&server_id, tool).map_or(server_id, |pattern| pattern.to_string()),
    };
    meant(failure, &command(&word))
}

/// Adds to a refusal the command that is probably meant, and how to insist.
fn meant(failure: Failure, command: &str) -> Failure {
    failure.hint(format!("did you mean `{command}`? `--force` accepts the name as written"))
}

/// What the kernel takes for meant by a permission that no server asks for.
#[derive(Debug, Deserialize)]
struct SuggestedPermission {
    reason: String,
    did_you_mean: Option<MeantPermission>,
    /// The permissions that there are.
    known: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct MeantPermission {
    permission: String,
}

/// Adds to the refusal of a permission that no server asks for the command that is probably meant, or the permissions that
/// there are. `command` is told the permission that is meant.
pub(super) fn advised_permission(failure: Failure, command: impl Fn(&str) -> String) -> Failure {
    let Some(SuggestedPermission { reason, did_you_mean, known }) = failure.data() else { return failure };
    let failure = failure.told(reason);
    match did_you_mean {
        Some(MeantPermission { permission }) => meant(failure, &command(&permission)),
        None => failure.hint(format!(
            "the known permissions are {}; `--force` accepts the name as written",
            known.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;

    impl NameLookup for Known {
        fn has_server(&self, id: &str) -> bool {
            ["one", "one.admin", "one.two", "mind.cerebras"].contains(&id)
        }

        fn has_tool(&self, server: &str, tool: &str) -> bool {
            (server, tool) == ("one", "two")
        }
    }

    fn named(word: &str, unseen: bool) -> Result<NamedTarget, Failure> {
        NamedTarget::in_one(word)
            .and_then(|named| named.map_or_else(|| NamedTarget::by(word, &Known, unseen), Ok))
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
