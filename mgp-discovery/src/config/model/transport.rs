use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words;

/// How to talk to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = words::transport_aliases)]
#[non_exhaustive]
pub enum TransportKind {
    /// Over standard input and output.
    Stdio,
    /// Streamable HTTP, and the older HTTP+SSE where the server knows no other.
    #[serde(alias = "streamable-http", alias = "streamable_http")]
    Http,
    /// HTTP+SSE.
    Sse,
    /// Over a Unix socket.
    Unix,
}

impl TransportKind {
    /// The word in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Unix => "unix",
        }
    }
}
