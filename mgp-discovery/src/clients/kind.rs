//! The clients whose files are known, with their differences.

use std::{fmt, str::FromStr};

use crate::document::Format;

/// Defines the clients with their names on the command line and the names that their makers give them.
macro_rules! clients {
    ($($kind:ident = $name:literal, $title:literal;)+) => {
        /// An MCP client whose files are read and written.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ClientKind {
            $(#[doc = concat!($title, ".")] $kind,)+
        }

        impl ClientKind {
            /// All clients.
            pub const ALL: [Self; 16] = [$(Self::$kind),+];

            /// Returns the name of the client on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }

            /// Returns the name that the makers of the client give it.
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$kind => $title,)+
                }
            }
        }
    };
}

clients! {
    ClaudeDesktop = "claude-desktop", "Claude Desktop";
    ClaudeCode = "claude-code", "Claude Code";
    Cursor = "cursor", "Cursor";
    VsCode = "vscode", "VS Code";
    Zed = "zed", "Zed";
    Windsurf = "windsurf", "Windsurf";
    Gemini = "gemini", "Gemini CLI";
    Cline = "cline", "Cline";
    Continue = "continue", "Continue";
    Goose = "goose", "Goose";
    Codex = "codex", "Codex";
    Opencode = "opencode", "opencode";
    Crush = "crush", "Crush";
    LmStudio = "lm-studio", "LM Studio";
    Kiro = "kiro", "Kiro";
    Sema4 = "sema4", "Sema4";
}

impl ClientKind {
    /// Returns the format of the client's file.
    pub const fn format(self) -> Format {
        match self {
            Self::Continue | Self::Goose => Format::Yaml,
            Self::Codex => Format::Toml,
            _ => Format::Json,
        }
    }

    /// Returns the keys of the tables that hold the client's servers. Of several, the first is the one to write to.
    pub(crate) const fn homes(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::VsCode => &[&["servers"], &["mcp", "servers"]],
            Self::Zed => &[&["context_servers"]],
            Self::Goose => &[&["extensions"]],
            Self::Codex => &[&["mcp_servers"]],
            Self::Opencode | Self::Crush => &[&["mcp"]],
            _ => &[&["mcpServers"]],
        }
    }

    /// Returns the unit of the client's `timeout`, in milliseconds.
    pub(crate) const fn timeout_unit_ms(self) -> f64 {
        match self {
            Self::Cline | Self::Goose | Self::Crush => 1000.0,
            _ => 1.0,
        }
    }
}

impl fmt::Display for ClientKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text is not the name of a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no client is called `{given}`: it is one of {}", ClientKind::ALL.map(ClientKind::name).join(", "))]
#[non_exhaustive]
pub struct UnknownClient {
    /// The text that was given.
    pub given: String,
}

impl FromStr for ClientKind {
    type Err = UnknownClient;

    fn from_str(given: &str) -> Result<Self, UnknownClient> {
        let plain = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "");
        Self::ALL
            .into_iter()
            .find(|kind| plain(kind.name()) == plain(given) || plain(kind.title()) == plain(given))
            .ok_or_else(|| UnknownClient { given: given.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_found_by_name_and_title() {
        for kind in ClientKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(kind.title().parse(), Ok(kind));
        }
        assert!("emacs".parse::<ClientKind>().unwrap_err().to_string().contains("claude-desktop"));
    }
}
