use std::fmt;

use mgp_types::mgp::ToolPattern;
use mgp_types::{Error, RawJson};
use serde::Serialize;

/// Knows which servers and tools there are, so that an entry that stands for none of them is not made unnoticed.
pub trait KnownTargets: Send + Sync {
    /// Looks whether there is such a server or tool, or may be. Both may be patterns.
    ///
    /// # Errors
    /// There is none.
    fn check(&self, server: &str, tool: Option<&str>) -> Result<(), UnmatchedTarget>;
}

/// That a rule stands for nothing, and what is probably meant. Its text is for whoever wrote the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedTarget {
    what: String,
    meant: Option<MeantTarget>,
}

/// What is probably meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct MeantTarget {
    server_id: String,
    tool_name: Option<String>,
}

impl UnmatchedTarget {
    /// States which server or tool there is not.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), meant: None }
    }

    /// Adds what is probably meant: a server, or a tool.
    #[must_use]
    pub fn meant(mut self, server: &str, tool: Option<&str>) -> Self {
        self.meant = Some(MeantTarget { server_id: server.to_owned(), tool_name: tool.map(str::to_owned) });
        self
    }

    /// Turns a suggested server into all of its tools, for rules that are about tools.
    #[must_use]
    pub fn of_tools(mut self) -> Self {
        if let Some(meant) = &mut self.meant {
            meant.tool_name.get_or_insert_with(|| "*".to_owned());
        }
        self
    }

    /// Returns what is probably meant, as it is written in one piece: `server` or `server.tool`.
    pub fn suggestion(&self) -> Option<String> {
        let MeantTarget { server_id, tool_name } = self.meant.as_ref()?;
        Some(match tool_name {
            Some(tool) => ToolPattern::new(server_id, tool).ok()?.to_string(),
            None => server_id.clone(),
        })
    }
}

impl fmt::Display for UnmatchedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason())?;
        match self.suggestion() {
            Some(meant) => write!(f, "; did you mean `{meant}`?"),
            None => Ok(()),
        }
    }
}

impl UnmatchedTarget {
    fn reason(&self) -> String {
        format!("{}, so this would stand for nothing", self.what)
    }
}

impl std::error::Error for UnmatchedTarget {}

impl From<UnmatchedTarget> for Error {
    /// The error of a request: its `data` names what is probably meant, in the words of a request.
    fn from(unmatched: UnmatchedTarget) -> Self {
        let error = Self::invalid_params(format!("{unmatched} (`force` makes it all the same)"));
        let reason = unmatched.reason();
        match RawJson::from_value(&TargetSuggestion {
            reason: &reason,
            did_you_mean: unmatched.meant.as_ref(),
        }) {
            Ok(data) => error.with_data(data),
            Err(_) => error,
        }
    }
}

#[derive(Serialize)]
struct TargetSuggestion<'a> {
    /// Why the rule is refused, without advice.
    reason: &'a str,
    did_you_mean: Option<&'a MeantTarget>,
}
