//! This process' own standard input and output.

#[cfg(unix)]
mod unix;

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

/// Standard input.
pub type StdioInput = Box<dyn AsyncRead + Send + Unpin>;

/// Standard output.
pub type StdioOutput = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens standard input and output as a byte stream.
///
/// Clients connect a server by pipes, or by sockets where they run on Node. Both are read without blocking and without
/// a thread. A pipe is opened anew first, so that its non-blocking mode belongs to this process and does not reach
/// other programs that hold the other end. A helper thread reads a terminal or a file, and every input on systems other
/// than Unix.
///
/// # Errors
/// A descriptor is closed or cannot be watched.
#[cfg(unix)]
pub fn stdio() -> io::Result<(StdioInput, StdioOutput)> {
    Ok((unix::input()?, unix::output()?))
}

/// Opens standard input and output as a byte stream. A helper thread reads each input.
///
/// # Errors
/// There is none on this system.
#[cfg(not(unix))]
pub fn stdio() -> io::Result<(StdioInput, StdioOutput)> {
    Ok((Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout())))
}
