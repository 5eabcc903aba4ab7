//! Unix domain sockets: connecting and listening.

use std::fs::{self, DirBuilder, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};

/// Connects to the socket at `path`.
///
/// # Errors
/// No process listens there, or this process may not connect.
pub async fn connect(path: impl AsRef<Path>) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
    Ok(UnixStream::connect(path).await?.into_split())
}

/// Listens at `path`, for processes of the same user only.
///
/// A socket that a dead process left there is replaced; one at which a process listens, and any other file, is not
/// touched. The socket is made in a folder that nobody else can enter and moved to its place when its permissions are
/// set, so at no moment can others connect.
///
/// # Errors
/// A process listens at `path`, another file lies there, or this process may not write there.
///
/// # Panics
/// The caller runs outside of a tokio runtime with IO.
pub fn listen(path: impl Into<PathBuf>) -> io::Result<Listener> {
    let path = path.into();
    refuse_if_taken(&path)?;
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let nursery = folder.join(format!(".{:08x}", RandomState::new().hash_one(()) >> 32));
    DirBuilder::new().mode(0o700).create(&nursery)?;
    let born = nursery.join("s");
    let listener = bind(&born, &path);
    // This also removes a file that an error left behind.
    let _ = fs::remove_file(&born);
    fs::remove_dir(&nursery)?;
    listener
}

/// Accepts connections at a socket. Dropping it removes the socket's file, unless the socket was handed over.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    path: PathBuf,
    /// The device and inode of the socket's file, which tell it from one that replaced it; `None` if the file stays.
    file: Option<(u64, u64)>,
}

impl Listener {
    /// Goes on listening at a socket that another listener has [handed over](Self::hand_over), whose file lies at `path`.
    ///
    /// # Errors
    /// There is no file at `path` any more.
    ///
    /// # Panics
    /// The caller runs outside of a tokio runtime with IO.
    pub fn take_over(socket: std::os::unix::net::UnixListener, path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        socket.set_nonblocking(true)?;
        let file = Some(identity(&path)?);
        Ok(Self { socket: UnixListener::from_std(socket)?, path, file })
    }

    /// Stops accepting, and returns the socket for a process that goes on with it: whoever connects meanwhile waits.
    ///
    /// # Errors
    /// This process may open no further file.
    pub fn hand_over(mut self) -> io::Result<OwnedFd> {
        self.file = None;
        self.socket.as_fd().try_clone_to_owned()
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// The connection broke before it was accepted, or this process has no room for it.
    ///
    /// # Cancel safety
    /// Dropping the future loses no connection.
    pub async fn accept(&self) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
        let (stream, _) = self.socket.accept().await?;
        Ok(stream.into_split())
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if self.file.is_some_and(|own| identity(&self.path).is_ok_and(|file| file == own)) {
            // The file may be gone already.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn bind(born: &Path, path: &Path) -> io::Result<Listener> {
    let socket = UnixListener::bind(born)?;
    fs::set_permissions(born, Permissions::from_mode(0o600))?;
    let file = Some(identity(born)?);
    fs::rename(born, path)?;
    Ok(Listener { socket, path: path.to_owned(), file })
}

fn refuse_if_taken(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "something that is no socket lies there"));
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "somebody listens there")),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Err(error) => Err(error),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}
