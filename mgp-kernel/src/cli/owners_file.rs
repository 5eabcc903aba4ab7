use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A file that only its owner can read, and that takes its place when it is whole.
///
/// What is no file, such as a terminal or a pipe, is written to as it is.
pub(super) struct OwnersFile {
    file: File,
    /// Where it is until it is whole, and where it belongs.
    moves: Option<(PathBuf, PathBuf)>,
}

impl OwnersFile {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        // A link stays a link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&path).is_ok_and(|there| !there.is_file()) {
            return Ok(Self { file: OpenOptions::new().write(true).open(path)?, moves: None });
        }
        let mut name = OsString::from(".");
        name.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
        name.push(format!(".{}.tmp", std::process::id()));
        let beside = path.with_file_name(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self { file: options.open(&beside)?, moves: Some((beside, path)) })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        let Some((beside, path)) = &self.moves else { return Ok(()) };
        self.file.sync_all()?;
        fs::rename(beside, path)?;
        self.moves = None;
        Ok(())
    }
}

impl Drop for OwnersFile {
    fn drop(&mut self) {
        if let Some((beside, _)) = &self.moves {
            // That it could not be written is what is told.
            let _ = fs::remove_file(beside);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_not_finished_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let mut file = OwnersFile::create(&path).unwrap();
        file.write(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        let mut file = OwnersFile::create(&path).unwrap();
        file.write(b"whole").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        OwnersFile::create(Path::new("/dev/null")).unwrap().write(b"x").unwrap();
    }
}
