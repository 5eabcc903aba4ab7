//! The file of a memory: one text a line, as JSON. Lines are only added; when most of them are old, the file is replaced.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use mgp_discovery::{AtomicFile, FileReaders};

use super::MemoryEntry;

/// The file of a memory, locked against other processes.
#[derive(Debug)]
pub(super) struct MemoryFile {
    path: PathBuf,
    file: File,
    lines: usize,
}

impl MemoryFile {
    /// Opens the file, makes it if there is none, and reads its texts.
    pub(super) fn open(path: &Path) -> io::Result<(Vec<MemoryEntry>, Self)> {
        let with_path =
            |error: &dyn std::fmt::Display| io::Error::other(format!("{}: {error}", path.display()));
        let mut file = locked(path).map_err(|error| with_path(&error))?;
        let mut entries = Vec::new();
        let (mut number, mut whole_bytes) = (0, 0);
        let mut reader = BufReader::new((&file).take(MAX_BYTES));
        let mut line = String::new();
        while reader.read_line(&mut line).map_err(|error| with_path(&error))? > 0 {
            number += 1;
            match serde_json::from_str(&line) {
                Ok(entry) => entries.push(entry),
                // A crash cuts the last line off, and no other.
                Err(_) if !line.ends_with('\n') => break,
                Err(error) => return Err(with_path(&format!("line {number} is no memory: {error}"))),
            }
            whole_bytes += line.len() as u64;
            line.clear();
        }
        if file.metadata()?.len() > whole_bytes {
            file.set_len(whole_bytes)?;
        }
        file.flush()?;
        Ok((entries, Self { path: path.to_owned(), file, lines: number }))
    }

    /// Returns the number of lines, those of forgotten texts included.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    pub(super) fn append(&mut self, entry: &MemoryEntry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.lines += 1;
        Ok(())
    }

    /// Replaces the file by one with these texts.
    pub(super) fn rewrite<'e>(&mut self, entries: impl Iterator<Item = &'e MemoryEntry>) -> io::Result<()> {
        let mut new = AtomicFile::at(&self.path, FileReaders::Owner)?;
        let mut lines = 0;
        for entry in entries {
            let mut line = serde_json::to_vec(entry)?;
            line.push(b'\n');
            new.write(&line)?;
            lines += 1;
        }
        new.finish()?;
        self.file = locked(&self.path)?;
        self.lines = lines;
        Ok(())
    }
}

fn locked(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::other("another server has this memory open: name another file by `--memory`"))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The bytes of a file that are read; more than a memory writes.
const MAX_BYTES: u64 = 1 << 30;
