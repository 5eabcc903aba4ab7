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
    /// The directory for settings: `$XDG_CONFIG_HOME`, `%APPDATA%`, or the usual one.
    pub config: PathBuf,
    /// The directory of the settings of Claude Code, if it is not the usual one: `$CLAUDE_CONFIG_DIR`.
    pub claude: Option<PathBuf>,
    /// The directory of a project, whose files count as well.
    pub project: Option<PathBuf>,
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

    /// Returns the files in which a client may have servers, those of the user first. A new file is created at the
    /// first path.
    pub fn candidates(&self, kind: ClientKind) -> Vec<CandidateFile> {
        let mut found = Vec::new();
        for (directory, files) in self.user_directories(kind) {
            found.extend(files.iter().map(|file| CandidateFile {
                path: directory.join(file),
                sign: directory.clone(),
                scope: FileScope::User,
            }));
        }
        if kind == ClientKind::ClaudeCode && self.claude.is_none() {
            let (path, sign) = (self.home.join(".claude.json"), self.home.join(".claude"));
            found.push(CandidateFile { path, sign, scope: FileScope::User });
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

    /// Returns the directories of a client for its user, each with the files in it that may have servers.
    fn user_directories(&self, kind: ClientKind) -> Vec<(PathBuf, &'static [&'static str])> {
        let home = |path: &str| self.home.join(path);
        let config = |path: &str| self.config.join(path);
        // Some clients keep to `~/.config` on macOS as well.
        let dot_config = |path: &str| match self.system {
            OperatingSystem::MacOs => home(".config").join(path),
            _ => config(path),
        };
        let is_windows = self.system == OperatingSystem::Windows;
        let one = |directory: PathBuf, files: &'static [&'static str]| vec![(directory, files)];
        match kind {
            ClientKind::ClaudeDesktop => {
                let names = if self.system == OperatingSystem::Linux {
                    &["Claude", "claude"][..]
                } else {
                    &["Claude"]
                };
                names.iter().map(|name| (config(name), &["claude_desktop_config.json"][..])).collect()
            }
            ClientKind::ClaudeCode => {
                self.claude.iter().map(|directory| (directory.clone(), &[".claude.json"][..])).collect()
            }
            ClientKind::Cursor => one(home(".cursor"), &["mcp.json"]),
            ClientKind::VsCode => ["Code", "Code - Insiders"]
                .map(|name| (config(name).join("User"), &["mcp.json", "settings.json"][..]))
                .into(),
            ClientKind::Zed => one(dot_config(if is_windows { "Zed" } else { "zed" }), &["settings.json"]),
            ClientKind::Windsurf => one(home(".codeium/windsurf"), &["mcp_config.json"]),
            ClientKind::Gemini => one(home(".gemini"), &["settings.json"]),
            ClientKind::Cline => one(
                config("Code/User/globalStorage/saoudrizwan.claude-dev"),
                &["settings/cline_mcp_settings.json"],
            ),
            ClientKind::Continue => one(home(".continue"), &["config.yaml"]),
            ClientKind::Goose => {
                one(dot_config(if is_windows { "Block/goose/config" } else { "goose" }), &["config.yaml"])
            }
            ClientKind::Codex => one(home(".codex"), &["config.toml"]),
            ClientKind::Opencode | ClientKind::Crush => {
                let directory =
                    if is_windows { home(".config").join(kind.name()) } else { dot_config(kind.name()) };
                let is_crush = kind == ClientKind::Crush;
                one(directory, if is_crush { &["crush.json"] } else { &["opencode.json", "opencode.jsonc"] })
            }
            ClientKind::LmStudio => one(home(".lmstudio"), &["mcp.json"]),
            ClientKind::Kiro => one(home(".kiro"), &["settings/mcp.json"]),
            ClientKind::Sema4 => {
                let directory = if is_windows {
                    "AppData/Local/sema4ai/sema4ai-studio"
                } else {
                    ".sema4ai/sema4ai-studio"
                };
                one(home(directory), &["mcp_servers.json"])
            }
        }
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
        let mut places = ClientDirectories::new(OperatingSystem::Linux, "/h");
        (places.config, places.claude, places.project) = ("/x".into(), Some("/c".into()), Some("/p".into()));
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
