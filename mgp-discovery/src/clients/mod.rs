//! Files of other clients.
//!
//! [`detect`] finds them. [`read`] turns the entries of one into servers of `mgp.toml`. A [`Concealer`] leaves their secrets
//! behind: in their place, the server refers to a secret of the user. [`plan`] shows the text that a file would have with
//! mgp in it, and [`ExportPlan::apply`] writes it, with a way back.

mod detect;
mod export;
mod import;
mod secret;

use std::str::FromStr;

pub use self::detect::{
    CandidateFile, ClientDirectories, DetectedClient, FileScope, FileState, OperatingSystem, detect,
    read_file,
};
pub use self::export::{ApplyError, ClientEntry, ClientFileChange, ExportError, ExportPlan, plan, roll_back};
pub use self::import::{
    Concealer, ImportError, Imported, ImportedServer, MAX_FILE_BYTES, MAX_SERVERS, MovedSecret, OtherSection,
    Skipped, read,
};
pub use self::secret::{args_without_secrets, line_without_secrets, without_secrets};
pub use crate::document::Format;
pub use crate::names::ReferenceKind;

/// An MCP client whose files are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ClientKind {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// VS Code.
    VsCode,
    /// Zed.
    Zed,
    /// Windsurf.
    Windsurf,
    /// Gemini CLI.
    Gemini,
    /// Cline.
    Cline,
    /// Continue.
    Continue,
    /// Goose.
    Goose,
    /// Codex.
    Codex,
    /// opencode.
    Opencode,
    /// Crush.
    Crush,
    /// LM Studio.
    LmStudio,
    /// Kiro.
    Kiro,
    /// Sema4.
    Sema4,
}

impl ClientKind {
    /// All clients.
    pub const ALL: [Self; 16] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::VsCode,
        Self::Zed,
        Self::Windsurf,
        Self::Gemini,
        Self::Cline,
        Self::Continue,
        Self::Goose,
        Self::Codex,
        Self::Opencode,
        Self::Crush,
        Self::LmStudio,
        Self::Kiro,
        Self::Sema4,
    ];

    /// Returns what `kinds.txt` says about the client.
    fn facts(self) -> [&'static str; 7] {
        let mut lines = include_str!("kinds.txt").lines().filter(|line| !line.starts_with('#'));
        let mut facts = lines.nth(self as usize).unwrap_or_default().split(": ");
        [(); 7].map(|()| facts.next().unwrap_or_default())
    }

    /// Returns the name of the client on the command line.
    pub fn name(self) -> &'static str {
        self.facts()[0]
    }

    /// Returns the name that the makers of the client give it.
    pub fn title(self) -> &'static str {
        self.facts()[1]
    }

    /// Returns the format of the client's file.
    pub fn format(self) -> Format {
        match self.facts()[2] {
            "yaml" => Format::Yaml,
            "toml" => Format::Toml,
            _ => Format::Json,
        }
    }

    /// Returns the tables that may hold servers, the usual one first.
    pub(crate) fn homes(self) -> Vec<Vec<&'static str>> {
        self.facts()[3].split(", ").map(|home| home.split('.').collect()).collect()
    }

    /// Returns the milliseconds in the unit of `timeout`.
    pub(crate) fn timeout_unit_ms(self) -> f64 {
        self.facts()[4].parse().unwrap_or(1.0)
    }
}

mgp_types::write_as!(Display of ClientKind, self => "{}", self.name());

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
        let is_meant = |kind: &Self| [kind.name(), kind.title()].map(plain).contains(&plain(given));
        Self::ALL.into_iter().find(is_meant).ok_or_else(|| UnknownClient { given: given.to_owned() })
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
