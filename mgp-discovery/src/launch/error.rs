//! Errors of making a start command.

use super::RequiredInput;
use crate::registry::visible;

/// The reason why a server cannot be started as it is described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The document is no `server.json`.
    #[error("line {line}, column {column}: {what}")]
    Document {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The error in the document.
        what: String,
    },
    /// The document has no such package or remote.
    #[error("there is no such way to use the server: the document has {ways}")]
    NoSuchWay {
        /// The number of packages and remotes in the document.
        ways: usize,
    },
    /// The document asks for something that is not done, in words.
    #[error("{0}")]
    Refused(String),
    /// Values have to be filled in.
    #[error("still needed: {}", needed.iter().map(|needed| needed.name.as_str()).collect::<Vec<_>>().join(", "))]
    Missing {
        /// The values that are missing.
        needed: Vec<RequiredInput>,
    },
    /// An answer is not valid.
    #[error("`{name}`: {why}")]
    BadAnswer {
        /// The name of the value.
        name: String,
        /// The error, and what to answer instead.
        why: String,
    },
}

impl LaunchError {
    /// Returns the refusal of a text of the document with invalid characters, which are shown as escapes.
    pub(super) fn malformed(what: &str, text: &str) -> Self {
        Self::Refused(format!("`{}` is no {what}", visible(text)))
    }

    pub(super) fn too_large(what: &str, limit: usize) -> Self {
        Self::Refused(format!("the document has more than {limit} {what}"))
    }
}
