//! The clients that are installed on a machine, and their files.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::{ClientDirectories, ClientKind, FileScope, ImportError, MAX_FILE_BYTES, import};
use crate::document;

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
        for candidate in &candidates {
            let state = match read_file(&candidate.path) {
                Ok(None) => continue,
                Ok(Some(text)) => state(kind, &text),
                Err(why) => FileState::Unreadable(why),
            };
            detected.push(DetectedClient {
                kind,
                path: candidate.path.clone(),
                scope: candidate.scope,
                state,
            });
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
    match counted {
        Ok(servers) => FileState::Servers(servers),
        Err(why) => FileState::Broken(why),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::clients::OperatingSystem;

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
}
