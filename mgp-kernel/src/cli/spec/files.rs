//! The files of `mgp spec`: their texts, and the specification documents in a folder.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use mgp_discovery::tool_spec::SpecDocument;

use crate::terminal::{Exit, Failure};

/// Returns the text of a file, or of standard input if the path is `-`.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let unread = |error: io::Error| Failure::usage(format!("{} cannot be read: {error}", path.display()));
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        io::stdin().lock().take(MAX_BYTES + 1).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
    };
    if read.map_err(unread)? as u64 > MAX_BYTES {
        return Err(Failure::usage(format!("{} is longer than {MAX_BYTES} bytes", path.display())));
    }
    Ok(text)
}

/// Returns the specification documents that the paths name, and those in the folders among them.
pub(super) fn documents(paths: &[PathBuf]) -> Result<Vec<SpecDocument>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        find(path, DEEPEST, &mut files)?;
        if files.len() == before {
            let what = format!("{} has no {}", path.display(), SpecDocument::FILE_NAME);
            return Err(Failure::new(Exit::Tool, what).hint("`mgp spec generate SERVER` writes one"));
        }
    }
    files.iter().map(|file| Ok(SpecDocument::read(file, &text(file)?))).collect()
}

/// Adds the specification documents in a folder, in the order of their paths. Links are not followed, and folders whose
/// content is made by programs are left out.
fn find(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let unread = |error: io::Error| Failure::usage(format!("{} cannot be read: {error}", folder.display()));
    let mut entries = fs::read_dir(folder).map_err(unread)?.collect::<Result<Vec<_>, _>>().map_err(unread)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (kind, name) = (entry.file_type().map_err(unread)?, entry.file_name());
        let name = name.to_string_lossy();
        if kind.is_file() && name == SpecDocument::FILE_NAME {
            files.push(entry.path());
            if files.len() > MAX_FILES {
                return Err(Failure::usage(format!(
                    "there are more than {MAX_FILES} specification documents"
                )));
            }
        } else if kind.is_dir() && depth > 0 && !name.starts_with('.') && !MADE.contains(&&*name) {
            find(&entry.path(), depth - 1, files)?;
        }
    }
    Ok(())
}

/// The largest length of a file.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The largest number of documents of one command.
const MAX_FILES: usize = 10_000;

/// The largest number of folders within each other that are searched.
const DEEPEST: usize = 32;

/// The names of folders whose content is made by programs.
const MADE: [&str; 2] = ["node_modules", "target"];
