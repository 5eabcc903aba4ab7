//! No socket goes on: a process of Windows cannot become another program.

pub(in crate::listen) use std::convert::{Infallible as HandedSocket, Infallible as LocalListener};
use std::io;
use std::net::TcpListener;
use std::path::Path;

use tokio::net::TcpListener as ServedListener;

/// Returns nothing of a socket for clients over HTTP.
pub(in crate::listen) const fn to_hand_over(_: &ServedListener) -> Option<HandedSocket> {
    None
}

/// Returns no sockets.
pub(super) const fn given() -> (Option<TcpListener>, Vec<(String, LocalListener)>) {
    (None, Vec::new())
}

/// Returns the reason why this process does not become another program.
pub(super) fn exec(_: &[(String, HandedSocket)], _: &Path) -> io::Error {
    io::ErrorKind::Unsupported.into()
}
