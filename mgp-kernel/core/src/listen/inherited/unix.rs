//! The sockets of Unix go on by the protocol of `LISTEN_FDS`.

use std::env;
use std::io;
use std::net::TcpListener;
pub(in crate::listen) use std::os::fd::OwnedFd as HandedSocket;
use std::os::fd::{AsFd as _, AsRawFd as _};
pub(in crate::listen) use std::os::unix::net::UnixListener as LocalListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use listenfd::ListenFd;
use rustix::io::{FdFlags, fcntl_setfd};
use tokio::net::TcpListener as ServedListener;

/// Returns a socket for clients over HTTP once more, for the kernel that may follow; `None` if this process may open no further
/// file.
pub(in crate::listen) fn to_hand_over(socket: &ServedListener) -> Option<HandedSocket> {
    socket.as_fd().try_clone_to_owned().ok()
}

/// Returns the socket for clients over HTTP and those with a file, by their names, that the environment tells of.
pub(super) fn given() -> (Option<TcpListener>, Vec<(String, LocalListener)>) {
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    let (mut given, mut http, mut local) = (ListenFd::from_env(), None, Vec::new());
    for index in 0..given.len() {
        let name = names.next().unwrap_or_default();
        if let Ok(Some(socket)) = given.take_unix_listener(index) {
            local.push((name.to_owned(), socket));
        } else if let Ok(Some(socket)) = given.take_tcp_listener(index) {
            http = http.or(Some(socket));
        }
    }
    (http, local)
}

/// Becomes `program`, with the arguments of this process and the sockets. Returns only if that fails, with the reason.
pub(super) fn exec(sockets: &[(String, HandedSocket)], program: &Path) -> io::Error {
    let place = |socket: &HandedSocket| usize::try_from(socket.as_raw_fd() - FIRST).unwrap_or_default();
    let count = sockets.iter().map(|(_, socket)| place(socket) + 1).max().unwrap_or_default();
    // The sockets keep their numbers. Those between them belong to files that are closed by then, and to no name.
    let mut names = vec![""; count];
    for (name, socket) in sockets {
        if let Err(error) = fcntl_setfd(socket, FdFlags::empty()) {
            return error.into();
        }
        names[place(socket)] = name;
    }
    Command::new(program)
        .args(env::args_os().skip(1))
        .env("LISTEN_PID", std::process::id().to_string())
        .env("LISTEN_FDS", count.to_string())
        .env("LISTEN_FDNAMES", names.join(":"))
        .exec()
}

/// The number of the first file that the protocol passes on.
const FIRST: i32 = 3;
