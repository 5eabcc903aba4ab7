//! Listening sockets that go from one process image to the next, by the protocol of `LISTEN_FDS`: from systemd, or from the
//! kernel that this one follows.

use std::env;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use listenfd::ListenFd;
use rustix::io::{FdFlags, fcntl_setfd};

use super::socket::socket_name;

/// The listening sockets that this process was started with.
#[derive(Debug, Default)]
pub(crate) struct InheritedSockets {
    http: Option<TcpListener>,
    /// The sockets of the kernel that this one follows, by the [names](socket_name) of their paths.
    unix: Vec<(String, UnixListener)>,
}

impl InheritedSockets {
    /// Takes the sockets that the environment tells of. This process must not have other threads yet.
    pub(crate) fn take() -> Self {
        let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':');
        let (mut given, mut inherited) = (ListenFd::from_env(), Self::default());
        for index in 0..given.len() {
            let name = names.next().unwrap_or_default();
            if let Ok(Some(socket)) = given.take_unix_listener(index) {
                inherited.unix.push((name.to_owned(), socket));
            } else if let Ok(Some(socket)) = given.take_tcp_listener(index) {
                inherited.http = inherited.http.or(Some(socket));
            }
        }
        inherited
    }

    /// Returns whether a kernel has handed sockets over to this one.
    pub(crate) const fn is_from_kernel(&self) -> bool {
        !self.unix.is_empty()
    }

    /// Returns the address of the socket for clients over HTTP, if there is one.
    pub(crate) fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref()?.local_addr().ok()
    }

    /// Returns the socket for clients over HTTP, if it listens at `wanted`.
    pub(super) fn http(&mut self, wanted: SocketAddr) -> Option<TcpListener> {
        self.http_address().filter(|own| is_same(*own, wanted))?;
        self.http.take().filter(|socket| socket.set_nonblocking(true).is_ok())
    }

    /// Returns the socket whose file lies at `path`.
    pub(super) fn unix(&mut self, path: &Path) -> Option<UnixListener> {
        let name = socket_name(path);
        let place = self.unix.iter().position(|(known, _)| *known == name)?;
        Some(self.unix.swap_remove(place).1)
    }
}

/// Returns whether a socket at `own` is one that was wanted at `wanted`, where port 0 stands for any.
fn is_same(own: SocketAddr, wanted: SocketAddr) -> bool {
    let (here, there) = (own.ip().to_canonical(), wanted.ip().to_canonical());
    let is_everywhere = here.is_unspecified() && there.is_unspecified();
    (here == there || is_everywhere) && (wanted.port() == 0 || wanted.port() == own.port())
}

/// The sockets of a kernel that has ended, by their names, for the one that follows it in its process.
#[derive(Debug)]
pub(crate) struct HandedSockets(pub(super) Vec<(String, OwnedFd)>);

impl HandedSockets {
    /// Becomes `program`, with the arguments of this process and the sockets. Returns only if that fails, with the reason.
    pub(crate) fn exec(self, program: &Path) -> io::Error {
        let place = |socket: &OwnedFd| usize::try_from(socket.as_raw_fd() - FIRST).unwrap_or_default();
        let count = self.0.iter().map(|(_, socket)| place(socket) + 1).max().unwrap_or_default();
        // The sockets keep their numbers. Those between them belong to files that are closed by then, and to no name.
        let mut names = vec![""; count];
        for (name, socket) in &self.0 {
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
}

/// The number of the first file that the protocol passes on.
const FIRST: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_used_at_the_address_that_was_wanted() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        for (own, wanted, is_used) in [
            ("127.0.0.1:7332", "127.0.0.1:7332", true),
            ("127.0.0.1:40000", "127.0.0.1:0", true),
            ("[::]:443", "0.0.0.0:443", true),
            ("[::ffff:127.0.0.1]:7332", "127.0.0.1:7332", true),
            ("0.0.0.0:7332", "127.0.0.1:7332", false),
            ("127.0.0.1:7332", "127.0.0.1:7333", false),
        ] {
            assert_eq!(is_same(address(own), address(wanted)), is_used, "{own} {wanted}");
        }
    }
}
