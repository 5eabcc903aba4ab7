//! Listening sockets that go from one process image to the next: from a service manager, or from the kernel that this one follows.

#[cfg_attr(unix, path = "inherited/unix.rs")]
#[cfg_attr(windows, path = "inherited/windows.rs")]
mod system;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

pub(super) use self::system::{HandedSocket, LocalListener, to_hand_over};
use super::socket::socket_name;

/// The listening sockets that this process was started with.
#[derive(Debug, Default)]
pub struct InheritedSockets {
    http: Option<TcpListener>,
    /// The sockets of the kernel that this one follows, by the [names](socket_name) of their paths.
    local: Vec<(String, LocalListener)>,
}

impl InheritedSockets {
    /// Takes the sockets that the environment tells of. This process must not have other threads yet.
    pub fn take() -> Self {
        let (http, local) = system::given();
        Self { http, local }
    }

    /// Returns whether a kernel has handed sockets over to this one.
    pub const fn is_from_kernel(&self) -> bool {
        !self.local.is_empty()
    }

    /// Returns the address of the socket for clients over HTTP, if there is one.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref()?.local_addr().ok()
    }

    /// Returns the socket for clients over HTTP, if it listens at `wanted`.
    pub(super) fn http(&mut self, wanted: SocketAddr) -> Option<TcpListener> {
        self.http_address().filter(|own| is_same(*own, wanted))?;
        self.http.take().filter(|socket| socket.set_nonblocking(true).is_ok())
    }

    /// Returns the socket whose file lies at `path`.
    pub(super) fn local(&mut self, path: &Path) -> Option<LocalListener> {
        let name = socket_name(path);
        self.local.extract_if(.., |(known, _)| *known == name).next().map(|(_, socket)| socket)
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
pub struct HandedSockets(pub(super) Vec<(String, HandedSocket)>);

impl HandedSockets {
    /// Becomes `program`, with the arguments of this process and the sockets. Returns only if that fails, with the reason.
    pub fn exec(self, program: &Path) -> io::Error {
        system::exec(&self.0, program)
    }
}

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
