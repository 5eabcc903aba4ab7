//! The MCP clients on this machine, and the files in which they keep their servers.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use mgp_discovery::clients::{
    CandidateFile, ClientDirectories, ClientKind, DetectedClient, FileScope, Format, ImportedServer,
    MAX_FILE_BYTES, OperatingSystem, detect, read_file,
};
use mgp_kernel_core::admin::config_import::client_by_content;
use mgp_kernel_core::lifecycle::KERNEL;
use mgp_kernel_core::terminal::{Failure, Result};

/// The places of the configuration files of clients on this machine.
pub(super) struct ClientLocations {
    pub(super) places: ClientDirectories,
    /// The folder that `${workspaceFolder}` stands for.
    pub(super) project: PathBuf,
}

impl ClientLocations {
    pub(super) fn this() -> Result<Self> {
        let here = env::current_dir().map_err(Failure::with_error("the current folder cannot be found"))?;
        Self::of_project(here)
    }

    /// Returns the places of this machine, with those in the folder of a project.
    pub(super) fn of_project(project: PathBuf) -> Result<Self> {
        let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = env::home_dir().ok_or_else(|| {
            Failure::usage("there is no home directory, so no clients are found").hint("set HOME")
        })?;
        let system = OperatingSystem::current();
        let mut places = ClientDirectories::new(system, &home);
        let variable = if system == OperatingSystem::Windows { "APPDATA" } else { "XDG_CONFIG_HOME" };
        if let Some(directory) = set(variable).filter(|_| system != OperatingSystem::MacOs) {
            places.config = directory;
        }
        places.claude = set("CLAUDE_CONFIG_DIR");
        // The home directory is not a project: its files are the user's.
        places.project = (project != home).then(|| project.clone());
        Ok(Self { places, project })
    }

    /// Returns the clients that are found on this machine, with their files.
    pub(super) fn detected(&self) -> Vec<DetectedClient> {
        detect(&self.places)
    }

    /// Returns whether a file comes with the folder of the project, for whoever opens the folder.
    pub(super) fn is_of_project(&self, path: &Path) -> bool {
        let here = path.canonicalize().ok();
        let is_it =
            |file: &CandidateFile| file.scope == FileScope::Project && file.path.canonicalize().ok() == here;
        here.is_some()
            && ClientKind::ALL.into_iter().any(|kind| self.places.candidates(kind).iter().any(is_it))
    }

    /// Returns the client that a file belongs to: by its path, or else by its name, or else by its content.
    pub(super) fn kind_of(&self, path: &Path, text: &str) -> Option<ClientKind> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (here, folder) = (real(path), folder_of(path));
        let all = || {
            let of = |kind| self.places.candidates(kind).into_iter().map(move |file| (kind, file.path));
            ClientKind::ALL.into_iter().flat_map(of)
        };
        let by_place = all().find(|(_, file)| real(file) == here);
        let by_folder = || {
            all().find(|(_, file)| {
                file.file_name() == path.file_name() && folder.is_some() && folder_of(file) == folder
            })
        };
        if let Some((kind, _)) = by_place.or_else(by_folder) {
            return Some(kind);
        }
        let mut by_name: Vec<_> =
            all().filter(|(_, file)| file.file_name() == path.file_name()).map(|(kind, _)| kind).collect();
        by_name.dedup();
        if let [kind] = *by_name { Some(kind) } else { by_content(path, text) }
    }
}

/// Reads a client's file.
pub(super) fn text_of(path: &Path) -> Result<String> {
    let text = read_file(path).map_err(|error| Failure::file(path, error))?;
    let text = text.ok_or_else(|| Failure::file(path, "there is no such file"))?;
    if text.len() > MAX_FILE_BYTES {
        return Err(Failure::file(path, "the file is too long for a client's configuration"));
    }
    Ok(text)
}

/// Returns whether a server is mgp itself at a URL, which must not become a server of mgp. An entry by which a client
/// starts mgp is not among the client's servers in the first place.
pub(super) fn is_mgp(server: &ImportedServer) -> bool {
    server.config.url.is_some() && server.config.id == KERNEL
}

fn folder_of(path: &Path) -> Option<&OsStr> {
    path.parent().and_then(Path::file_name)
}

/// Returns the client that a file belongs to, as far as its content and the ending of its name tell.
fn by_content(path: &Path, text: &str) -> Option<ClientKind> {
    let format = match path.extension().and_then(OsStr::to_str) {
        Some("json" | "jsonc") => Some(Format::Json),
        Some("yaml" | "yml") => Some(Format::Yaml),
        Some("toml") => Some(Format::Toml),
        _ => None,
    };
    client_by_content(format, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> ClientLocations {
        let mut places = ClientDirectories::new(OperatingSystem::Linux, "/h");
        places.project = Some("/p".into());
        ClientLocations { places, project: "/p".into() }
    }

    #[test]
    fn a_file_is_known_by_its_place_its_name_or_what_it_says() {
        let usual = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
        for (path, text, kind) in [
            ("/h/.cursor/mcp.json", "", "cursor"),
            ("/elsewhere/.cursor/mcp.json", "", "cursor"),
            ("/elsewhere/claude_desktop_config.json", "", "claude-desktop"),
            ("/elsewhere/.mcp.json", "", "claude-code"),
            ("/elsewhere/mine.json", usual, "claude-desktop"),
            ("/elsewhere/mine", usual, "claude-desktop"),
            ("/elsewhere/mcp.json", r#"{"servers": {"a": {"command": "x"}}}"#, "vscode"),
            ("/elsewhere/mine.json", r#"{"context_servers": {"a": {"command": "x"}}}"#, "zed"),
            ("/elsewhere/mine.toml", "[mcp_servers.a]\ncommand = 'x'\n", "codex"),
            (
                "/elsewhere/mine.yaml",
                "extensions:\n  a:\n    type: stdio\n    enabled: true\n    cmd: x\n    args: []\n",
                "goose",
            ),
        ] {
            let found = machine().kind_of(Path::new(path), text);
            assert_eq!(found.map(ClientKind::name), Some(kind), "{path}");
        }
        assert_eq!(machine().kind_of(Path::new("/elsewhere/notes.json"), "{}"), None);
    }
}
