//! The data behind a reference: bytes in memory, or a file.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// Data for other servers to fetch: bytes, or a file that stays as it is while it is referred to.
#[derive(Debug, Clone)]
pub struct ReferenceData(DataSource);

#[derive(Debug, Clone)]
enum DataSource {
    Bytes(Bytes),
    File { file: Arc<File>, size: u64 },
}

/// The bytes that are read of a file at once.
const PIECE: usize = 64 << 10;

impl ReferenceData {
    /// Opens a file. What is read is the file that was opened, whatever takes its place.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn file(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_file(File::open(path)?)
    }

    /// Returns the data in a file that is open, and may have no name any more.
    ///
    /// # Errors
    /// The size of the file is not known.
    pub fn open_file(file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self(DataSource::File { file: Arc::new(file), size }))
    }

    /// Returns the number of bytes.
    pub fn size(&self) -> u64 {
        match &self.0 {
            DataSource::Bytes(bytes) => bytes.len() as u64,
            DataSource::File { size, .. } => *size,
        }
    }

    /// Returns the bytes that the data holds in memory.
    pub(super) fn memory(&self) -> u64 {
        match &self.0 {
            DataSource::Bytes(bytes) => bytes.len() as u64,
            DataSource::File { .. } => 0,
        }
    }

    /// Returns up to 64 KiB from `offset` on, and nothing behind the end. Reading a file blocks.
    pub(super) fn piece(&self, offset: u64, most: u64) -> io::Result<Bytes> {
        let length = self.size().saturating_sub(offset).min(most);
        let length = usize::try_from(length).unwrap_or(PIECE).min(PIECE);
        match &self.0 {
            DataSource::Bytes(bytes) => {
                let start = usize::try_from(offset).unwrap_or(bytes.len()).min(bytes.len());
                Ok(bytes.slice(start..start + length))
            }
            DataSource::File { file, .. } => {
                let mut piece = vec![0; length];
                let read = read_at(file, &mut piece, offset)?;
                if read == 0 && length > 0 {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
                }
                piece.truncate(read);
                Ok(piece.into())
            }
        }
    }

    /// Returns the SHA-256 of the data, for which a file is read as a whole.
    pub(super) fn digest(&self) -> io::Result<[u8; 32]> {
        let mut hash = Sha256::new();
        let mut offset = 0;
        while offset < self.size() {
            let piece = self.piece(offset, u64::MAX)?;
            hash.update(&piece);
            offset += piece.len() as u64;
        }
        Ok(hash.finalize().into())
    }
}

impl<T: Into<Bytes>> From<T> for ReferenceData {
    fn from(bytes: T) -> Self {
        Self(DataSource::Bytes(bytes.into()))
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}
