//! The calls in work, noted in a file before they are carried out and for as long as their record is not safe.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::iter;
use std::path::{Path, PathBuf};

use mgp_types::{Object, RawJson};
use parking_lot::Mutex;

/// The file of the calls in work. It is there for as long as its log is in use, so a process that was killed leaves it
/// behind, with the calls that it did not record.
///
/// Each call has a line of its own of a fixed length, which the next one takes over. Nothing waits for the medium: the
/// file outlives the process, and not the machine.
#[derive(Debug)]
pub(super) struct OpenCalls {
    path: PathBuf,
    lines: Mutex<CallLines>,
}

#[derive(Debug)]
struct CallLines {
    file: File,
    /// The lines that no call uses.
    free: Vec<u32>,
    /// The number of lines of the file.
    made: u32,
}

impl OpenCalls {
    /// Opens the file at `path`, and returns the calls in it if the process that used it before did not end in order.
    pub(super) fn open(path: &Path) -> io::Result<(Self, Option<Vec<RawJson>>)> {
        if path.is_symlink() {
            return Err(io::Error::other(format!("{} is a symbolic link", path.display())));
        }
        let left = match fs::read_to_string(path) {
            Ok(text) => {
                Some(text.lines().filter_map(|line| RawJson::parse(line.trim().to_owned()).ok()).collect())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lines = CallLines { file: options.open(path)?, free: Vec::new(), made: 0 };
        Ok((Self { path: path.to_owned(), lines: Mutex::new(lines) }, left))
    }

    /// Notes a call, and returns the number by which it is cleared.
    pub(super) fn note(&self, call: &Object) -> io::Result<u32> {
        let mut line = Vec::with_capacity(LINE_BYTES);
        call.write(&mut line);
        if line.len() >= LINE_BYTES {
            return Err(io::Error::other("the note of a call is too long"));
        }
        line.resize(LINE_BYTES - 1, b' ');
        line.push(b'\n');
        let mut lines = self.lines.lock();
        let number = lines.free.pop().unwrap_or_else(|| {
            lines.made += 1;
            lines.made - 1
        });
        lines.write(number, &line).inspect_err(|_| lines.free.push(number))?;
        Ok(number)
    }

    /// Checks that there is room for the note of one more call.
    pub(super) fn check_room(&self) -> io::Result<()> {
        let number = self.note(&Object::new())?;
        self.clear(iter::once(number));
        Ok(())
    }

    /// Clears the notes of calls that are recorded.
    pub(super) fn clear(&self, numbers: impl Iterator<Item = u32>) {
        let mut numbers = numbers.peekable();
        if numbers.peek().is_none() {
            return;
        }
        let mut lines = self.lines.lock();
        for number in numbers {
            // Without its first character the line is no call any more. A note that stays says too much, not too little.
            if let Err(error) = lines.write(number, b" ") {
                tracing::warn!(%error, "the note of a call that is recorded cannot be cleared");
            }
            lines.free.push(number);
        }
    }

    /// Removes the file: the process ends in order.
    pub(super) fn remove(&self) {
        if let Err(error) = fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the file of the calls in work cannot be removed");
        }
    }
}

impl CallLines {
    fn write(&mut self, number: u32, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(u64::from(number) * LINE_BYTES as u64))?;
        self.file.write_all(bytes)
    }
}

/// The length of a line: enough for the names in a call, each of which is cut.
const LINE_BYTES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> Object {
        let mut call = Object::new();
        call.set("name", RawJson::from_text(name));
        call
    }

    #[test]
    fn what_was_in_work_is_left_behind_and_what_was_cleared_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls");
        let (calls, left) = OpenCalls::open(&path).unwrap();
        assert_eq!(left, None);
        let numbers = ["a", "b", "c"].map(|name| calls.note(&call(name)).unwrap());
        calls.clear([numbers[0], numbers[1]].into_iter());
        let _ = calls.note(&call("a longer name than that of the one before")).unwrap();
        assert!(calls.note(&call(&"x".repeat(2_000))).is_err());
        drop(calls);
        let (calls, left) = OpenCalls::open(&path).unwrap();
        let name = |call: RawJson| Object::from_raw(&call).unwrap().text("name").unwrap().into_owned();
        let names: Vec<_> = left.unwrap().into_iter().map(name).collect();
        assert_eq!(names, ["a longer name than that of the one before", "c"]);
        let number = calls.note(&call("d")).unwrap();
        calls.clear(iter::once(number));
        drop(calls);
        let (calls, left) = OpenCalls::open(&path).unwrap();
        assert_eq!(left, Some(Vec::new()));
        calls.remove();
        assert_eq!(OpenCalls::open(&path).unwrap().1, None);
    }
}
