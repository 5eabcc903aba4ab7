//! The check whether the server or tool of a new rule exists, and the error that suggests the one probably meant.

use std::fmt;

use mgp_types::mgp::ToolPattern;
use mgp_types::{Error, RawJson};
use serde::Serialize;
use serde_json::json;

/// A directory of the existing servers and tools, by which an entry that matches none of them is noticed before it is
/// made.
pub trait KnownTargets: Send + Sync {
    /// Checks that the server or tool exists, or may exist. Both names may be patterns.
    ///
    /// # Errors
    /// Fails if there is no such server or tool.
    fn check(&self, server: &str, tool: Option<&str>) -> Result<(), UnmatchedTarget>;
}

/// The error of a rule that matches nothing, with the target that is probably meant. Its text is for the author of
/// the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedTarget {
    what: String,
    meant: Option<MeantTarget>,
}

/// The target that is probably meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct MeantTarget {
    server_id: String,
    tool_name: Option<String>,
}

impl UnmatchedTarget {
    /// Returns the error for the missing server or tool that `what` describes.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), meant: None }
    }

    /// Adds the server or tool that is probably meant.
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

    /// Returns the target that is probably meant, written as `server` or `server.tool`.
    pub fn suggestion(&self) -> Option<String> {
        let MeantTarget { server_id, tool_name } = self.meant.as_ref()?;
        Some(match tool_name {
            Some(tool) => ToolPattern::new(server_id, tool).ok()?.to_string(),
            None => server_id.clone(),
        })
    }

    fn reason(&self) -> String {
        format!("{}, so this would stand for nothing", self.what)
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

impl std::error::Error for UnmatchedTarget {}

impl From<UnmatchedTarget> for Error {
    /// Returns the error for the answer to a request: its `data` holds the target that is probably meant, under the
    /// names of the request's parameters.
    fn from(unmatched: UnmatchedTarget) -> Self {
        let error = Self::invalid_params(format!("{unmatched} (`force` makes it all the same)"));
        let data = json!({ "reason": unmatched.reason(), "did_you_mean": unmatched.meant });
        match RawJson::from_value(&data) {
            Ok(data) => error.with_data(data),
            Err(_) => error,
        }
    }
}
