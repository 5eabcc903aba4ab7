//! The files of a package, and the formats in which packages have them: the same files make the same bytes.

use std::{
    collections::BTreeMap,
    fs,
    io::{Cursor, Write as _},
    path::Path,
    rc::Rc,
};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// Files and folders by their paths, which are relative and have `/` between their parts.
#[derive(Debug, Clone, Default)]
pub(super) struct FileTree {
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    /// `None` for a folder.
    content: Option<Rc<[u8]>>,
    mode: u32,
    /// The number of the user and of the group.
    owner: u32,
}

impl FileTree {
    /// Adds a file that everybody may read.
    pub(super) fn add(&mut self, path: impl Into<String>, content: impl Into<Rc<[u8]>>) {
        self.insert(path.into(), Entry { content: Some(content.into()), mode: 0o644, owner: 0 });
    }

    /// Adds a program or script that everybody may run.
    pub(super) fn add_program(&mut self, path: impl Into<String>, content: impl Into<Rc<[u8]>>) {
        self.insert(path.into(), Entry { content: Some(content.into()), mode: 0o755, owner: 0 });
    }

    /// Adds a folder with the number of its owner.
    pub(super) fn add_folder(&mut self, path: &str, mode: u32, owner: u32) {
        self.insert(path.to_owned(), Entry { content: None, mode, owner });
    }

    /// Adds the files of another tree in a folder.
    pub(super) fn add_tree(&mut self, folder: &str, other: &Self) {
        for (path, entry) in &other.entries {
            self.insert(format!("{folder}/{path}"), entry.clone());
        }
    }

    fn insert(&mut self, path: String, entry: Entry) {
        for (end, _) in path.match_indices('/') {
            let folder = Entry { content: None, mode: 0o755, owner: 0 };
            self.entries.entry(path[..end].to_owned()).or_insert(folder);
        }
        self.entries.insert(path, entry);
    }

    /// Returns the files with their contents, in the order of their paths.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.entries.iter().filter_map(|(path, entry)| Some((path.as_str(), entry.content.as_deref()?)))
    }

    /// Returns a tar archive whose files are of a time, in seconds since 1970.
    pub(super) fn tar(&self, time: u64) -> Result<Vec<u8>> {
        let mut tar = tar::Builder::new(Vec::new());
        for (path, entry) in &self.entries {
            let content = entry.content.as_deref().unwrap_or_default();
            let mut header = tar::Header::new_gnu();
            header.set_mode(entry.mode);
            header.set_uid(entry.owner.into());
            header.set_gid(entry.owner.into());
            header.set_mtime(time);
            header.set_size(content.len() as u64);
            let is_folder = entry.content.is_none();
            header.set_entry_type(if is_folder {
                tar::EntryType::Directory
            } else {
                tar::EntryType::Regular
            });
            let path = if is_folder { format!("{path}/") } else { path.clone() };
            tar.append_data(&mut header, path, content)?;
        }
        Ok(tar.into_inner()?)
    }

    /// Returns a zip archive.
    pub(super) fn zip(&self, level: Compression) -> Result<Vec<u8>> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (path, entry) in &self.entries {
            let Some(content) = &entry.content else { continue };
            let options = SimpleFileOptions::default()
                .compression_method(CompressionMethod::Deflated)
                .compression_level(Some(level.level().into()))
                .last_modified_time(zip::DateTime::default())
                .system(zip::System::Unix)
                .unix_permissions(entry.mode);
            zip.start_file(path.as_str(), options)?;
            zip.write_all(content)?;
        }
        Ok(zip.finish()?.into_inner())
    }

    /// Writes the files into a folder of the disk.
    pub(super) fn write_to(&self, folder: &Path) -> Result<()> {
        for (path, entry) in &self.entries {
            let path = folder.join(path);
            let written = match &entry.content {
                None => fs::create_dir_all(&path),
                Some(content) => fs::write(&path, content),
            };
            written.and_then(|()| permit(&path, entry.mode)).with_context(|| unwritten(&path))?;
        }
        Ok(())
    }
}

/// Returns bytes compressed by gzip, without the time and the name that its header has otherwise.
pub(super) fn gzip(bytes: &[u8], level: Compression) -> Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), level);
    gzip.write_all(bytes)?;
    Ok(gzip.finish()?)
}

/// Says that a file or a folder cannot be written.
pub(super) fn unwritten(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

#[cfg(unix)]
fn permit(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn permit(_: &Path, _: u32) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(order: [&str; 2]) -> FileTree {
        let mut tree = FileTree::default();
        for path in order {
            tree.add(path, path.as_bytes());
        }
        tree
    }

    #[test]
    fn the_same_files_make_the_same_bytes() {
        let (one, other) = (tree(["a/b", "c"]), tree(["c", "a/b"]));
        assert_eq!(one.tar(7).unwrap(), other.tar(7).unwrap());
        assert_eq!(one.zip(Compression::fast()).unwrap(), other.zip(Compression::fast()).unwrap());
        let gzipped = gzip(b"text", Compression::best()).unwrap();
        // Bytes 4 to 7 of the header are the time.
        assert_eq!(gzipped[4..8], [0; 4]);
    }

    #[test]
    fn folders_stand_before_what_they_hold() {
        let tar = tree(["a/b/c", "d"]).tar(0).unwrap();
        let mut archive = tar::Archive::new(&*tar);
        let paths =
            archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string());
        assert_eq!(paths.collect::<Vec<_>>(), ["a/", "a/b/", "a/b/c", "d"]);
    }
}
