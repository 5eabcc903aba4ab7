//! The directories and files of clients on each system, and the clients that are installed on a machine.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::{ClientKind, ImportError, MAX_FILE_BYTES, import};
use crate::document;

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

/// Reads a client's file; `None` if there is no such file. Of a file longer than [`MAX_FILE_BYTES`] it reads one byte
/// more than that.
///
/// # Errors
/// The system refuses, or the file is not UTF-8.
pub fn read_file(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(why) => return Err(why),
    };
    let mut text = String::new();
    file.take(MAX_FILE_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// A client that is on the machine.
#[derive(Debug)]
#[non_exhaustive]
pub struct DetectedClient {
    /// The client that is installed.
    pub kind: ClientKind,
    /// The path of its file, which need not exist yet.
    pub path: PathBuf,
    /// The scope of the file.
    pub scope: FileScope,
    /// The state of the file.
    pub state: FileState,
}

/// The state of a client's file.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileState {
    /// The file does not exist, but the client is installed.
    Missing,
    /// The file has this number of servers.
    Servers(usize),
    /// The file cannot be understood.
    Broken(ImportError),
    /// The file cannot be read.
    Unreadable(io::Error),
}

/// Returns the installed clients, each with its existing files; for a client without any, with the file to create.
pub fn detect(places: &ClientDirectories) -> Vec<DetectedClient> {
    let mut detected = Vec::new();
    for kind in ClientKind::ALL {
        let candidates = places.candidates(kind);
        let found_before = detected.len();
        for CandidateFile { path, scope, .. } in &candidates {
            let state = match read_file(path) {
                Ok(None) => continue,
                Ok(Some(text)) => state(kind, &text),
                Err(why) => FileState::Unreadable(why),
            };
            detected.push(DetectedClient { kind, path: path.clone(), scope: *scope, state });
        }
        let has_user_file = detected[found_before..].iter().any(|found| found.scope == FileScope::User);
        let sign = candidates.iter().find(|candidate| {
            candidate.scope == FileScope::User && !has_user_file && candidate.sign.is_dir()
        });
        if let Some(candidate) = sign {
            let (path, scope) = (candidate.path.clone(), candidate.scope);
            detected.push(DetectedClient { kind, path, scope, state: FileState::Missing });
        }
    }
    detected
}

fn state(kind: ClientKind, text: &str) -> FileState {
    let text = document::without_bom(text);
    let counted = import::parse(kind, text).and_then(|root| Ok(import::entries(kind, text, &root)?.len()));
    counted.map_or_else(FileState::Broken, FileState::Servers)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn clients_are_found_with_how_many_servers_they_have() {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("h/.cursor/mcp.json", r#"{"mcpServers": {"a": {}, "b": {}}}"#),
            ("h/.codex/history", ""),
            ("h/.config/goose/config.yaml", "extensions: ["),
            ("p/.mcp.json", "{}"),
        ] {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let (home, project) = (folder.path().join("h"), folder.path().join("p"));
        let mut places = ClientDirectories::new(OperatingSystem::Linux, &home);
        places.project = Some(project);
        let found = detect(&places);
        let kinds: Vec<&str> = found.iter().map(|found| found.kind.name()).collect();
        assert_eq!(kinds, ["claude-code", "cursor", "goose", "codex"]);
        assert!(matches!(found[0].state, FileState::Servers(0)));
        assert!(matches!(found[1].state, FileState::Servers(2)));
        assert!(matches!(found[2].state, FileState::Broken(_)));
        assert!(matches!(found[3].state, FileState::Missing));
        assert_eq!(found[3].path, home.join(".codex/config.toml"));
    }

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
