//! The directories and files of clients on each system.

use std::path::{Path, PathBuf};

use super::ClientKind;

/// A kind of system, by which the paths of clients' files differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OperatingSystem {
    /// Linux and similar systems.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl OperatingSystem {
    /// Returns the system that this program was built for.
    pub const fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

/// The directories in which the files of clients lie.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientDirectories {
    system: OperatingSystem,
    home: PathBuf,
    config: PathBuf,
    claude: Option<PathBuf>,
    project: Option<PathBuf>,
}

impl ClientDirectories {
    /// Creates the usual places of a system below the directory of a user.
    pub fn new(system: OperatingSystem, home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        let config = match system {
            OperatingSystem::Linux => home.join(".config"),
            OperatingSystem::MacOs => home.join("Library/Application Support"),
            OperatingSystem::Windows => home.join("AppData").join("Roaming"),
        };
        Self { system, home, config, claude: None, project: None }
    }

    /// Sets the directory for settings, if it is not the usual one: `$XDG_CONFIG_HOME`, `%APPDATA%`.
    #[must_use]
    pub fn config(mut self, directory: impl Into<PathBuf>) -> Self {
        self.config = directory.into();
        self
    }

    /// Sets the directory of the settings of Claude Code, if it is not the usual one: `$CLAUDE_CONFIG_DIR`.
    #[must_use]
    pub fn claude(mut self, directory: impl Into<PathBuf>) -> Self {
        self.claude = Some(directory.into());
        self
    }

    /// Adds the files of a project.
    #[must_use]
    pub fn project(mut self, directory: impl Into<PathBuf>) -> Self {
        self.project = Some(directory.into());
        self
    }

    /// Returns the files in which a client may have servers, those of the user first. A new file is created at the
    /// first path.
    pub fn candidates(&self, kind: ClientKind) -> Vec<CandidateFile> {
        let mut found = Vec::new();
        let mut user =
            |path: PathBuf, sign: PathBuf| found.push(CandidateFile { path, sign, scope: FileScope::User });
        let home = |path: &str| self.home.join(path);
        match kind {
            ClientKind::ClaudeDesktop => {
                user(self.config.join("Claude/claude_desktop_config.json"), self.config.join("Claude"));
                if self.system == OperatingSystem::Linux {
                    user(self.config.join("claude/claude_desktop_config.json"), self.config.join("claude"));
                }
            }
            ClientKind::ClaudeCode => match &self.claude {
                Some(directory) => user(directory.join(".claude.json"), directory.clone()),
                None => user(home(".claude.json"), home(".claude")),
            },
            ClientKind::Cursor => user(home(".cursor/mcp.json"), home(".cursor")),
            ClientKind::VsCode => {
                for name in ["Code", "Code - Insiders"] {
                    let directory = self.config.join(name).join("User");
                    user(directory.join("mcp.json"), directory.clone());
                    user(directory.join("settings.json"), directory);
                }
            }
            ClientKind::Zed => {
                // Zed keeps to `~/.config` on macOS as well.
                let directory = match self.system {
                    OperatingSystem::MacOs => home(".config/zed"),
                    OperatingSystem::Linux => self.config.join("zed"),
                    OperatingSystem::Windows => self.config.join("Zed"),
                };
                user(directory.join("settings.json"), directory);
            }
            ClientKind::Windsurf => {
                user(home(".codeium/windsurf/mcp_config.json"), home(".codeium/windsurf"));
            }
            ClientKind::Gemini => user(home(".gemini/settings.json"), home(".gemini")),
            ClientKind::Cline => {
                let storage = self.config.join("Code/User/globalStorage/saoudrizwan.claude-dev");
                user(storage.join("settings/cline_mcp_settings.json"), storage);
            }
            ClientKind::Continue => user(home(".continue/config.yaml"), home(".continue")),
            ClientKind::Goose => {
                let directory = match self.system {
                    OperatingSystem::MacOs => home(".config/goose"),
                    OperatingSystem::Linux => self.config.join("goose"),
                    OperatingSystem::Windows => self.config.join("Block/goose/config"),
                };
                user(directory.join("config.yaml"), directory);
            }
            ClientKind::Codex => user(home(".codex/config.toml"), home(".codex")),
            ClientKind::Opencode | ClientKind::Crush => {
                let name = kind.name();
                let directory = if self.system == OperatingSystem::Linux {
                    self.config.join(name)
                } else {
                    home(".config").join(name)
                };
                user(directory.join(format!("{name}.json")), directory.clone());
                if kind == ClientKind::Opencode {
                    user(directory.join("opencode.jsonc"), directory);
                }
            }
            ClientKind::LmStudio => user(home(".lmstudio/mcp.json"), home(".lmstudio")),
            ClientKind::Kiro => user(home(".kiro/settings/mcp.json"), home(".kiro")),
            ClientKind::Sema4 => {
                let directory = match self.system {
                    OperatingSystem::Windows => home("AppData/Local/sema4ai/sema4ai-studio"),
                    OperatingSystem::Linux | OperatingSystem::MacOs => home(".sema4ai/sema4ai-studio"),
                };
                user(directory.join("mcp_servers.json"), directory);
            }
        }
        if let Some(project) = &self.project {
            found.extend(project_files(kind).iter().map(|file| CandidateFile {
                path: project.join(file),
                sign: Path::new(file).parent().map_or_else(|| project.clone(), |parent| project.join(parent)),
                scope: FileScope::Project,
            }));
        }
        found
    }
}

/// A file in which a client may have servers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CandidateFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The directory that exists if the client is installed.
    pub sign: PathBuf,
    /// The scope of the file.
    pub scope: FileScope,
}

/// The scope of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileScope {
    /// A user, in all projects.
    User,
    /// All users of a project.
    Project,
}

fn project_files(kind: ClientKind) -> &'static [&'static str] {
    match kind {
        ClientKind::ClaudeCode => &[".mcp.json"],
        ClientKind::Cursor => &[".cursor/mcp.json"],
        ClientKind::VsCode => &[".vscode/mcp.json", ".vscode/settings.json"],
        ClientKind::Zed => &[".zed/settings.json"],
        ClientKind::Gemini => &[".gemini/settings.json"],
        ClientKind::Codex => &[".codex/config.toml"],
        ClientKind::Opencode => &["opencode.json", "opencode.jsonc"],
        ClientKind::Crush => &["crush.json", ".crush.json"],
        ClientKind::Kiro => &[".kiro/settings/mcp.json"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(system: OperatingSystem, kind: ClientKind) -> String {
        let path = ClientDirectories::new(system, "/h").candidates(kind).remove(0).path;
        path.to_str().unwrap().replace('\\', "/")
    }

    #[test]
    fn claude_desktop_lies_elsewhere_on_every_system() {
        let kind = ClientKind::ClaudeDesktop;
        assert_eq!(first(OperatingSystem::Linux, kind), "/h/.config/Claude/claude_desktop_config.json");
        assert_eq!(
            first(OperatingSystem::MacOs, kind),
            "/h/Library/Application Support/Claude/claude_desktop_config.json"
        );
        assert_eq!(
            first(OperatingSystem::Windows, kind),
            "/h/AppData/Roaming/Claude/claude_desktop_config.json"
        );
    }

    #[test]
    fn directories_that_were_moved_are_honoured() {
        let places =
            ClientDirectories::new(OperatingSystem::Linux, "/h").config("/x").claude("/c").project("/p");
        assert_eq!(places.candidates(ClientKind::Goose)[0].path, Path::new("/x/goose/config.yaml"));
        let code = places.candidates(ClientKind::ClaudeCode);
        assert_eq!(code[0].path, Path::new("/c/.claude.json"));
        assert_eq!(code[1].path, Path::new("/p/.mcp.json"));
        assert_eq!(code[1].scope, FileScope::Project);
    }

    #[test]
    fn every_client_has_a_file_on_every_system() {
        for system in [OperatingSystem::Linux, OperatingSystem::MacOs, OperatingSystem::Windows] {
            for kind in ClientKind::ALL {
                let candidates = ClientDirectories::new(system, "/h").candidates(kind);
                assert!(candidates.iter().all(|candidate| candidate.path.starts_with("/h")), "{kind}");
                assert!(!candidates.is_empty(), "{kind}");
            }
        }
    }
}
