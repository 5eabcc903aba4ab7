//! The demo's file server.

use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use mgp_server_sdk::{Server, Tool, ToolError};
use mgp_types::mgp::{ExtensionSet, Offer, Permission, RiskLevel, SideEffect, ToolSecurity};

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

/// A folder whose files are served. The kernel checks paths before they come here; this checks them again.
#[derive(Debug, Clone)]
struct Folder(Arc<Path>);

impl Folder {
    fn file(&self, path: &str) -> Result<PathBuf, ToolError> {
        let path = Path::new(path);
        let within = path.strip_prefix(&*self.0).unwrap_or(path);
        if within.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(ToolError::new("the path leaves the folder"));
        }
        Ok(self.0.join(within))
    }

    fn names(&self) -> Result<Vec<String>, ToolError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&*self.0)?.take(MAX_ENTRIES) {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn list(&self) -> Result<String, ToolError> {
        Ok(self.names()?.join("\n"))
    }

    fn read(&self, path: &str) -> Result<String, ToolError> {
        let file = self.file(path)?;
        if fs::metadata(&file)?.len() > LONGEST {
            return Err(ToolError::new("the file is too long"));
        }
        Ok(fs::read_to_string(file)?)
    }

    fn write(&self, path: &str, content: &str) -> Result<String, ToolError> {
        fs::write(self.file(path)?, content)?;
        Ok(format!("{} bytes written", content.len()))
    }

    fn size(&self, path: &str) -> Result<String, ToolError> {
        Ok(format!("{} bytes", fs::metadata(self.file(path)?)?.len()))
    }

    fn search(&self, query: &str) -> Result<String, ToolError> {
        let mut found = String::new();
        for name in self.names()? {
            let Ok(text) = self.read(&name) else { continue };
            for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| line.contains(query)) {
                // Writing to a text cannot fail.
                let _ = writeln!(found, "{name}:{number}: {line}");
            }
        }
        Ok(found)
    }
}

/// Serves the working directory.
pub(super) fn server() -> anyhow::Result<Server> {
    let folder = Folder(std::env::current_dir().context("there is no working directory")?.into());
    let on = || folder.clone();
    let (list, read, write, size, search) = (on(), on(), on(), on(), on());
    let offer = Offer::new(ExtensionSet::from_names(["security"])).with_permissions_required([
        Permission::FilesystemRead.as_str(),
        Permission::FilesystemWrite.as_str(),
    ]);
    let reads = ToolSecurity::new(RiskLevel::Safe).with_permissions([Permission::FilesystemRead]);
    let writes = ToolSecurity::new(RiskLevel::Moderate)
        .with_permissions([Permission::FilesystemWrite])
        .with_side_effects([SideEffect::Filesystem]);
    let reading = |name: &str, what: &str| Tool::new(name, what).read_only().security(&reads);
    Ok(Server::new("files", "1.0.0")
        .mgp(offer)
        .tool(reading("list_files", "Lists the files of the folder."), move || {
            std::future::ready(list.list())
        })
        .tool(reading("read_file", "Reads the text of a file."), move |FilePath { path }: FilePath| {
            std::future::ready(read.read(&path))
        })
        .tool(
            Tool::new("write_file", "Writes a text to a file, in place of what was in it.").security(&writes),
            move |Write { path, content }: Write| std::future::ready(write.write(&path, &content)),
        )
        .tool(reading("file_size", "Tells how long a file is."), move |FilePath { path }: FilePath| {
            std::future::ready(size.size(&path))
        })
        .tool(reading("search_files", "Finds lines in all files."), move |FileQuery { query }: FileQuery| {
            std::future::ready(search.search(&query))
        }))
}

const LONGEST: u64 = 1024 * 1024;
const MAX_ENTRIES: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_found_and_read() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder(place.path().into());
        folder.write("a.txt", "one\ntwo\n").unwrap();
        assert_eq!(folder.list().unwrap(), "a.txt");
        assert_eq!(folder.read("./a.txt").unwrap(), "one\ntwo\n");
        assert_eq!(folder.read(place.path().join("a.txt").to_str().unwrap()).unwrap(), "one\ntwo\n");
        assert_eq!(folder.search("tw").unwrap(), "a.txt:2: two\n");
        assert_eq!(folder.size("a.txt").unwrap(), "8 bytes");
    }

    #[test]
    fn no_path_leaves_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder(place.path().into());
        for path in ["../x", "/etc/passwd", "a/../../x"] {
            assert!(folder.file(path).is_err(), "{path}");
        }
    }
}
