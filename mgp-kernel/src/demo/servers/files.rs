//! The demo's file server.

use std::fs;
use std::path::{Component, Path, PathBuf};

use mgp_server_sdk::{Server, ToolError};
use mgp_types::mgp::{ExtensionSet, Offer, Permission};

use super::{here, scripted};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct FilePath {
    /// The file, as a path within the folder.
    path: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Write {
    /// The file, as a path within the folder.
    path: String,
    /// What will stand in it.
    content: String,
}

/// Returns a server of the files of the working directory. The kernel checks paths before they come here; this checks them
/// again.
pub(super) fn server() -> anyhow::Result<Server> {
    let offer = Offer::new(ExtensionSet::from_names(["security"])).with_permissions_required([
        Permission::FilesystemRead.as_str(),
        Permission::FilesystemWrite.as_str(),
    ]);
    let server = Server::new("files", "1.0.0").mgp(offer);
    scripted(server, include_str!("files.json"), |server, tool, name| match name {
        "read_file" => server.tool(tool, async |FilePath { path }: FilePath| read(&here()?, &path)),
        _ => server.tool(tool, async |Write { path, content }: Write| write(&here()?, &path, &content)),
    })
}

fn file(folder: &Path, path: &str) -> Result<PathBuf, ToolError> {
    let path = Path::new(path);
    let within = path.strip_prefix(folder).unwrap_or(path);
    if within.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(ToolError::new("the path leaves the folder"));
    }
    Ok(folder.join(within))
}

fn read(folder: &Path, path: &str) -> Result<String, ToolError> {
    let file = file(folder, path)?;
    if fs::metadata(&file)?.len() > LONGEST {
        return Err(ToolError::new("the file is too long"));
    }
    Ok(fs::read_to_string(file)?)
}

fn write(folder: &Path, path: &str, content: &str) -> Result<String, ToolError> {
    fs::write(file(folder, path)?, content)?;
    Ok(format!("{} bytes written", content.len()))
}

const LONGEST: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_and_read() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        write(folder, "a.txt", "one\ntwo\n").unwrap();
        assert_eq!(read(folder, "./a.txt").unwrap(), "one\ntwo\n");
        assert_eq!(read(folder, place.path().join("a.txt").to_str().unwrap()).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn no_path_leaves_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        for path in ["../x", "/etc/passwd", "a/../../x"] {
            assert!(file(folder, path).is_err(), "{path}");
        }
    }
}
