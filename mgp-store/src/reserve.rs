//! The space on a disk that is reserved for changes which take rights away, and the room that a disk has.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};

/// A file that holds space for changes which take a right away, so that a stolen key can be revoked on a full disk.
///
/// The space is given free for such a change alone. From then on until all of it is held again, the log refuses calls:
/// what they would write could take it. Clones share the file.
#[derive(Debug, Clone)]
pub struct Reserve(Arc<ReserveFile>);

#[derive(Debug)]
struct ReserveFile {
    path: PathBuf,
    /// A lock that is held while something is written into the free space.
    turn: Mutex<()>,
    /// True from when the space was given free until all of it is held again.
    is_spent: AtomicBool,
}

impl Reserve {
    /// Opens the reserve in the file at `path`, and makes it if there is room. On a disk that is full the space is free from
    /// the start, because stores cannot be opened without any.
    pub fn open(path: &Path) -> Self {
        let file =
            ReserveFile { path: path.to_owned(), turn: Mutex::default(), is_spent: AtomicBool::new(false) };
        let reserve = Self(Arc::new(file));
        if !reserve.has_room_beside(0) {
            reserve.give_free();
        } else if let Err(error) = reserve.complete() {
            tracing::warn!(%error, path = %path.display(), "no space is reserved for revocations on a full disk");
        }
        reserve
    }

    /// Returns whether the space was used, and is not all held again.
    pub fn is_spent(&self) -> bool {
        self.0.is_spent.load(Ordering::Acquire)
    }

    /// Makes a change with the space, and takes back what is left of it.
    pub fn spend<T>(&self, change: impl FnOnce() -> T) -> T {
        let _turn = self.turn();
        self.give_free();
        let outcome = change();
        // Whatever is missing still is taken as soon as there is room.
        let _ = self.fill();
        outcome
    }

    /// Takes the space back, if it was used and there is room for all of it.
    pub fn recover(&self) {
        if self.is_spent() {
            let _turn = self.turn();
            let _ = self.complete();
        }
    }

    /// Waits until nobody uses the space, and keeps others from it for as long as the result lives.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.0.turn.lock()
    }

    fn give_free(&self) {
        self.0.is_spent.store(true, Ordering::Release);
        if let Err(error) = fs::remove_file(&self.0.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::error!(%error, path = %self.0.path.display(), "the reserved space cannot be given free");
        }
    }

    /// Adds to the file what it lacks, unless others would find no room then.
    fn complete(&self) -> io::Result<()> {
        if self.has_room_beside(self.missing_bytes()) {
            self.fill()
        } else {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    fn has_room_beside(&self, bytes: u64) -> bool {
        let room = self.0.path.parent().and_then(disk_room);
        room.is_none_or(|(free, _)| free >= bytes + LEAST_ROOM)
    }

    fn missing_bytes(&self) -> u64 {
        BYTES.saturating_sub(fs::metadata(&self.0.path).map_or(0, |file| file.len()))
    }

    /// Adds to the file what it lacks, as far as there is room.
    fn fill(&self) -> io::Result<()> {
        let missing = self.missing_bytes();
        let mut file = private().create(true).open(&self.0.path)?;
        // Written, not only allocated: not every file system can do that.
        for _ in 0..missing.div_ceil(PART.len() as u64) {
            file.write_all(&PART)?;
        }
        if self.0.is_spent.swap(false, Ordering::AcqRel) {
            tracing::info!("space is reserved for revocations again");
        }
        Ok(())
    }
}

/// Returns how many bytes of the disk of `folder` this user may still write, and how many it has, where the system tells.
pub fn disk_room(folder: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    let disk = rustix::fs::statvfs(folder).ok().map(|disk| (disk.f_bavail, disk.f_blocks, disk.f_frsize));
    #[cfg(not(unix))]
    let disk: Option<(u64, u64, u64)> = folder.parent().and(None);
    let (free, all, bytes) = disk.filter(|(_, all, _)| *all > 0)?;
    Some((free.saturating_mul(bytes), all.saturating_mul(bytes)))
}

/// Returns options that open a file to append to it, and create one which nobody else on the machine may read.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The size of the reserved space, enough for some hundred revocations.
const BYTES: u64 = 4 << 20;

/// The zeros that are written at a time.
static PART: [u8; 1 << 16] = [0; 1 << 16];

/// The number of bytes that others find free on a disk that is not full: a store that is opened needs a part of that.
const LEAST_ROOM: u64 = 512 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_space_is_free_for_one_change_and_held_before_and_after() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reserve");
        let held = || fs::metadata(&path).map_or(0, |file| file.len());
        let reserve = Reserve::open(&path);
        assert_eq!((held(), reserve.is_spent()), (BYTES, false));
        assert!(reserve.spend(|| held() == 0 && reserve.is_spent()));
        assert_eq!((held(), reserve.is_spent()), (BYTES, false));
    }

    #[test]
    fn space_that_cannot_be_held_again_stays_spent_until_it_can() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reserve");
        let reserve = Reserve::open(&path);
        // Nothing can be written where a folder stands.
        reserve.spend(|| fs::create_dir(&path).unwrap());
        reserve.recover();
        assert!(reserve.is_spent());
        fs::remove_dir(&path).unwrap();
        reserve.recover();
        assert!(!reserve.is_spent());
    }

    #[test]
    fn a_disk_has_no_more_room_than_it_has_bytes() {
        assert!(disk_room(&std::env::temp_dir()).is_none_or(|(free, all)| free <= all && all > 0));
        assert_eq!(disk_room(Path::new("/nowhere/at/all")), None);
    }
}
