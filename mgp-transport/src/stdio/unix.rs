//! Standard input and output on Unix: pipes and sockets without a thread.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;

use tokio::net::{UnixStream, unix::pipe};

use super::{StdioInput, StdioOutput};

/// The value of `O_NONBLOCK` on Linux.
const NON_BLOCKING: i32 = 0o4000;

/// The way to the other end of a descriptor.
enum StdioEnd {
    Pipe(OwnedFd),
    Socket(UnixStream),
    Other,
}

/// Opens standard input.
pub(super) fn input() -> io::Result<StdioInput> {
    Ok(match end_of(io::stdin().as_fd(), OpenOptions::new().read(true), "/proc/self/fd/0")? {
        StdioEnd::Pipe(own) => Box::new(pipe::Receiver::from_owned_fd(own)?),
        StdioEnd::Socket(socket) => Box::new(socket),
        StdioEnd::Other => Box::new(tokio::io::stdin()),
    })
}

/// Opens standard output.
pub(super) fn output() -> io::Result<StdioOutput> {
    Ok(match end_of(io::stdout().as_fd(), OpenOptions::new().write(true), "/proc/self/fd/1")? {
        StdioEnd::Pipe(own) => Box::new(pipe::Sender::from_owned_fd(own)?),
        StdioEnd::Socket(socket) => Box::new(socket),
        StdioEnd::Other => Box::new(tokio::io::stdout()),
    })
}

/// Returns where a descriptor leads. A pipe is opened anew at `path`, if that is possible.
fn end_of(descriptor: BorrowedFd<'_>, anew: &mut OpenOptions, path: &str) -> io::Result<StdioEnd> {
    let own = descriptor.try_clone_to_owned()?;
    let kind = File::from(own.try_clone()?).metadata()?.file_type();
    Ok(if kind.is_fifo() {
        StdioEnd::Pipe(anew.custom_flags(NON_BLOCKING).open(path).map_or(own, OwnedFd::from))
    } else if kind.is_socket() {
        let socket = StdUnixStream::from(own);
        socket.set_nonblocking(true)?;
        StdioEnd::Socket(UnixStream::from_std(socket)?)
    } else {
        StdioEnd::Other
    })
}
