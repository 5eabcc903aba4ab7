//! The demo's file server.

use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use mgp_server_sdk::{Server, Tool, ToolError};
use mgp_types::mgp::{ExtensionSet, Offer, Permission, RiskLevel, SideEffect, ToolSecurity};

use super::here;

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

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct FileQuery {
    /// A part of a line.
    query: String,
}

/// Returns a server of the files of the working directory. The kernel checks paths before they come here; this checks them
/// again.
pub(super) fn server() -> Server {
    let offer = Offer::new(ExtensionSet::from_names(["security"])).with_permissions_required([
        Permission::FilesystemRead.as_str(),
        Permission::FilesystemWrite.as_str(),
    ]);
    let reads = ToolSecurity::new(RiskLevel::Safe).with_permissions([Permission::FilesystemRead]);
    let writes = ToolSecurity::new(RiskLevel::Moderate)
        .with_permissions([Permission::FilesystemWrite])
        .with_side_effects([SideEffect::Filesystem]);
    let reading = |name: &str, what: &str| Tool::new(name, what).read_only().security(&reads);
    let writing =
        Tool::new("write_file", "Writes a text to a file, in place of what was in it.").security(&writes);
    Server::new("files", "1.0.0")
        .mgp(offer)
        .tool(reading("list_files", "Lists the files of the folder."), async || list(&here()?))
        .tool(reading("read_file", "Reads the text of a file."), async |FilePath { path }: FilePath| {
            read(&here()?, &path)
        })
        .tool(writing, async |Write { path, content }: Write| write(&here()?, &path, &content))
        .tool(reading("file_size", "Tells how long a file is."), async |FilePath { path }: FilePath| {
            size(&here()?, &path)
        })
        .tool(reading("search_files", "Finds lines in all files."), async |FileQuery { query }: FileQuery| {
            search(&here()?, &query)
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

fn names(folder: &Path) -> Result<Vec<String>, ToolError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)?.take(MAX_ENTRIES) {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn list(folder: &Path) -> Result<String, ToolError> {
    Ok(names(folder)?.join("\n"))
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

fn size(folder: &Path, path: &str) -> Result<String, ToolError> {
    Ok(format!("{} bytes", fs::metadata(file(folder, path)?)?.len()))
}

fn search(folder: &Path, query: &str) -> Result<String, ToolError> {
    let mut found = String::new();
    for name in names(folder)? {
        let Ok(text) = read(folder, &name) else { continue };
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| line.contains(query)) {
            // Writing to a text cannot fail.
            let _ = writeln!(found, "{name}:{number}: {line}");
        }
    }
    Ok(found)
}

const LONGEST: u64 = 1024 * 1024;
const MAX_ENTRIES: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_found_and_read() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        write(folder, "a.txt", "one\ntwo\n").unwrap();
        assert_eq!(list(folder).unwrap(), "a.txt");
        assert_eq!(read(folder, "./a.txt").unwrap(), "one\ntwo\n");
        assert_eq!(read(folder, place.path().join("a.txt").to_str().unwrap()).unwrap(), "one\ntwo\n");
        assert_eq!(search(folder, "tw").unwrap(), "a.txt:2: two\n");
        assert_eq!(size(folder, "a.txt").unwrap(), "8 bytes");
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
