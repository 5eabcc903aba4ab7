use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words;

/// The transport to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = words::transport_aliases)]
#[non_exhaustive]
pub enum TransportKind {
    /// Standard input and output of a program.
    Stdio,
    /// Streamable HTTP, or the older HTTP+SSE where the server supports nothing else.
    #[serde(alias = "streamable-http", alias = "streamable_http")]
    Http,
    /// HTTP+SSE.
    Sse,
    /// A Unix socket.
    Unix,
}

impl TransportKind {
    /// Returns the word that stands for the transport in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Unix => "unix",
        }
    }
}
