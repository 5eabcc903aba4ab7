//! This process' own standard input and output.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Standard input and output as a byte stream.
///
/// Clients connect a server by pipes, or by sockets where they run on Node. Both are read without blocking
/// and without a thread. A pipe is opened anew first, so that its non-blocking mode is ours alone and does
/// not reach other programs that hold the other end. A terminal or a file is read by a helper thread.
///
/// # Errors
/// A descriptor is closed or cannot be watched.
pub fn stdio() -> io::Result<(Input, Output)> {
    Ok((Input(Source::open()?), Output(Sink::open()?)))
}

/// Standard input.
#[derive(Debug)]
pub struct Input(Source);

/// Standard output.
#[derive(Debug)]
pub struct Output(Sink);

#[derive(Debug)]
enum Source {
    Pipe(pipe::Receiver),
    Socket(UnixStream),
    Other(tokio::io::Stdin),
}

#[derive(Debug)]
enum Sink {
    Pipe(pipe::Sender),
    Socket(UnixStream),
    Other(tokio::io::Stdout),
}

impl Source {
    fn open() -> io::Result<Self> {
        let own = io::stdin().as_fd().try_clone_to_owned()?;
        match Kind::of(&own)? {
            Kind::Pipe => {
                let again = OpenOptions::new().read(true).custom_flags(NON_BLOCKING).open("/proc/self/fd/0");
                let pipe = match again {
                    Ok(file) => pipe::Receiver::from_file(file),
                    Err(_) => pipe::Receiver::from_owned_fd(own),
                };
                pipe.map(Self::Pipe)
            }
            Kind::Socket => socket(own).map(Self::Socket),
            Kind::Other => Ok(Self::Other(tokio::io::stdin())),
        }
    }
}

impl Sink {
    fn open() -> io::Result<Self> {
        let own = io::stdout().as_fd().try_clone_to_owned()?;
        match Kind::of(&own)? {
            Kind::Pipe => {
                let again = OpenOptions::new().write(true).custom_flags(NON_BLOCKING).open("/proc/self/fd/1");
                let pipe = match again {
                    Ok(file) => pipe::Sender::from_file(file),
                    Err(_) => pipe::Sender::from_owned_fd(own),
                };
                pipe.map(Self::Pipe)
            }
            Kind::Socket => socket(own).map(Self::Socket),
            Kind::Other => Ok(Self::Other(tokio::io::stdout())),
        }
    }
}

enum Kind {
    Pipe,
    Socket,
    Other,
}

impl Kind {
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

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Source::Pipe(pipe) => Pin::new(pipe).poll_read(cx, buf),
            Source::Socket(socket) => Pin::new(socket).poll_read(cx, buf),
            Source::Other(stdin) => Pin::new(stdin).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Output {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Sink::Pipe(pipe) => Pin::new(pipe).poll_write(cx, bytes),
            Sink::Socket(socket) => Pin::new(socket).poll_write(cx, bytes),
            Sink::Other(stdout) => Pin::new(stdout).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Sink::Pipe(pipe) => Pin::new(pipe).poll_flush(cx),
            Sink::Socket(socket) => Pin::new(socket).poll_flush(cx),
            Sink::Other(stdout) => Pin::new(stdout).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Sink::Pipe(pipe) => Pin::new(pipe).poll_shutdown(cx),
            Sink::Socket(socket) => Pin::new(socket).poll_shutdown(cx),
            Sink::Other(stdout) => Pin::new(stdout).poll_shutdown(cx),
        }
    }
}

/// `O_NONBLOCK` on Linux.
const NON_BLOCKING: i32 = 0o4000;
