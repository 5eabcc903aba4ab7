//! The directories and files of clients on each system.

use std::path::PathBuf;

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

    fn is_among(self, systems: &str) -> bool {
        let name = match self {
            Self::Linux => "linux",
            Self::MacOs => "macos",
            Self::Windows => "windows",
        };
        systems == "any" || systems.split(' ').any(|system| system == name)
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
        if kind == ClientKind::ClaudeCode && self.claude.is_none() {
            let (path, sign) = (self.home.join(".claude.json"), self.home.join(".claude"));
            found.push(CandidateFile { path, sign, scope: FileScope::User });
        }
        for line in include_str!("clients.txt").lines() {
            let [client, systems, directory, files] = *line.split(": ").collect::<Vec<_>>() else { continue };
            if client != kind.name() || !self.system.is_among(systems) {
                continue;
            }
            if let Some((scope, sign)) = self.directory(directory) {
                found.extend(files.split(", ").map(|file| {
                    let (path, sign) = (sign.join(file), sign.clone());
                    CandidateFile { path, sign, scope }
                }));
            }
        }
        found
    }

    /// Returns a directory that `clients.txt` names, and the scope of the files in it.
    fn directory(&self, written: &str) -> Option<(FileScope, PathBuf)> {
        let (root, below) = written.split_once('/').unwrap_or((written, ""));
        let (scope, root) = match root {
            "CONFIG" => (FileScope::User, &self.config),
            "CLAUDE" => (FileScope::User, self.claude.as_ref()?),
            "PROJECT" => (FileScope::Project, self.project.as_ref()?),
            _ => (FileScope::User, &self.home),
        };
        Some((scope, root.join(below)))
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

#[cfg(test)]
mod tests {
    use std::path::Path;

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
