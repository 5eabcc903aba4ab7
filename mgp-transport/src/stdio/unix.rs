//! Standard input and output on Unix: pipes and sockets without a thread.

use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;

use tokio::net::{UnixStream, unix::pipe};

use super::{StdioInput, StdioOutput};

/// The value of `O_NONBLOCK` on Linux.
const NON_BLOCKING: i32 = 0o4000;

/// Opens standard input.
pub(super) fn input() -> io::Result<StdioInput> {
    let own = io::stdin().as_fd().try_clone_to_owned()?;
    let kind = kind_of(&own)?;
    Ok(if kind.is_fifo() {
        let again = OpenOptions::new().read(true).custom_flags(NON_BLOCKING).open("/proc/self/fd/0");
        let pipe = match again {
            Ok(file) => pipe::Receiver::from_file(file),
            Err(_) => pipe::Receiver::from_owned_fd(own),
        };
        Box::new(pipe?)
    } else if kind.is_socket() {
        Box::new(socket(own)?)
    } else {
        Box::new(tokio::io::stdin())
    })
}

/// Opens standard output.
pub(super) fn output() -> io::Result<StdioOutput> {
    let own = io::stdout().as_fd().try_clone_to_owned()?;
    let kind = kind_of(&own)?;
    Ok(if kind.is_fifo() {
        let again = OpenOptions::new().write(true).custom_flags(NON_BLOCKING).open("/proc/self/fd/1");
        let pipe = match again {
            Ok(file) => pipe::Sender::from_file(file),
            Err(_) => pipe::Sender::from_owned_fd(own),
        };
        Box::new(pipe?)
    } else if kind.is_socket() {
        Box::new(socket(own)?)
    } else {
        Box::new(tokio::io::stdout())
    })
}

fn kind_of(descriptor: &OwnedFd) -> io::Result<FileType> {
    Ok(File::from(descriptor.try_clone()?).metadata()?.file_type())
}

fn socket(descriptor: OwnedFd) -> io::Result<UnixStream> {
    let socket = StdUnixStream::from(descriptor);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
