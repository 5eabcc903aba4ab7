//! Standard input and output on Unix: pipes and sockets without a thread.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;

use tokio::net::{UnixStream, unix::pipe};

use super::{Sink, Source};

/// The value of `O_NONBLOCK` on Linux.
const NON_BLOCKING: i32 = 0o4000;

impl Source {
    pub(super) fn open() -> io::Result<Self> {
        let own = io::stdin().as_fd().try_clone_to_owned()?;
        match StdioKind::of(&own)? {
            StdioKind::Pipe => {
                let again = OpenOptions::new().read(true).custom_flags(NON_BLOCKING).open("/proc/self/fd/0");
                let pipe = match again {
                    Ok(file) => pipe::Receiver::from_file(file),
                    Err(_) => pipe::Receiver::from_owned_fd(own),
                };
                pipe.map(Self::Pipe)
            }
            StdioKind::Socket => socket(own).map(Self::Socket),
            StdioKind::Other => Ok(Self::Other(tokio::io::stdin())),
        }
    }
}

impl Sink {
    pub(super) fn open() -> io::Result<Self> {
        let own = io::stdout().as_fd().try_clone_to_owned()?;
        match StdioKind::of(&own)? {
            StdioKind::Pipe => {
                let again = OpenOptions::new().write(true).custom_flags(NON_BLOCKING).open("/proc/self/fd/1");
                let pipe = match again {
                    Ok(file) => pipe::Sender::from_file(file),
                    Err(_) => pipe::Sender::from_owned_fd(own),
                };
                pipe.map(Self::Pipe)
            }
            StdioKind::Socket => socket(own).map(Self::Socket),
            StdioKind::Other => Ok(Self::Other(tokio::io::stdout())),
        }
    }
}

enum StdioKind {
    Pipe,
    Socket,
    Other,
}

impl StdioKind {
    fn of(descriptor: &OwnedFd) -> io::Result<Self> {
        let kind = File::from(descriptor.try_clone()?).metadata()?.file_type();
        Ok(match () {
            () if kind.is_fifo() => Self::Pipe,
            () if kind.is_socket() => Self::Socket,
            () => Self::Other,
        })
    }
}

fn socket(descriptor: OwnedFd) -> io::Result<UnixStream> {
    let socket = StdUnixStream::from(descriptor);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
