//! The refusal of other users of this machine at a loopback address that requires no key.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll};

use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{Extensions, HeaderValue, StatusCode};
use mgp_security::GateFuture;
use mgp_transport::http::{ConnectionAddrs, HttpBody};
use tower_layer::Layer;
use tower_service::Service;

/// A mark on the requests of a connection that another user of this machine made, or whose user the system does not
/// tell.
#[derive(Debug, Clone, Copy)]
struct ForeignUser;

/// Returns a [`ForeignUser`] mark if a connection on the loopback address was made by another user than this process
/// runs as, and not by root. Where the system does not tell the user of any connection, none counts as another user's.
pub(super) fn look(ends: ConnectionAddrs) -> Option<Extensions> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let own = own_user();
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| std::fs::read_to_string(table).ok());
    if tables.iter().all(Option::is_none) {
        return None;
    }
    let user = tables.iter().flatten().find_map(|table| user(table, ends));
    if user.is_some_and(|user| user == own || user == ROOT) {
        return None;
    }
    let mut marks = Extensions::new();
    marks.insert(ForeignUser);
    Some(marks)
}

#[cfg(unix)]
fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
const fn own_user() -> u32 {
    ROOT
}

/// Returns the user of the peer's end, by a table of the system's TCP connections.
///
/// Only an established connection, whose socket somebody holds, has a user: for others the table says 0, which is
/// root's number.
fn user(table: &str, ends: ConnectionAddrs) -> Option<u32> {
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        let [_, local, remote, state, _, _, _, user, _, inode, ..] = *fields.as_slice() else { return None };
        let is_it = address(local)? == plain(ends.peer) && address(remote)? == plain(ends.own);
        (is_it && state == ESTABLISHED && inode != "0").then(|| user.parse().ok())?
    })
}

/// Returns the address and the port; an IPv6 address that maps one of IPv4 becomes that of IPv4.
fn plain(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

/// Reads an address of the table: words of 32 bits as this machine holds them, and the port.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let (words, rest) = address.as_bytes().as_chunks::<8>();
    if !rest.is_empty() {
        return None;
    }
    let word = |word: &[u8; 8]| u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok();
    let mut bytes = words.iter().map(|text| word(text).map(u32::to_ne_bytes));
    let mut next = || bytes.next().flatten();
    let ip = match words.len() {
        1 => IpAddr::V4(Ipv4Addr::from(next()?)),
        4 => {
            let words = [next()?, next()?, next()?, next()?];
            let mut all = [0; 16];
            all.copy_from_slice(words.as_flattened());
            IpAddr::V6(Ipv6Addr::from(all)).to_canonical()
        }
        _ => return None,
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?))
}

/// A layer that refuses requests without a key that come from another user. Makes [`SameUser`] services.
///
/// For an address at which no key is required: any user who has a key may connect.
#[derive(Debug, Clone, Copy)]
pub(super) struct SameUserLayer;

impl<S> Layer<S> for SameUserLayer {
    type Service = SameUser<S>;

    fn layer(&self, inner: S) -> SameUser<S> {
        SameUser { inner }
    }
}

/// The service of [`SameUserLayer`].
#[derive(Debug, Clone)]
pub(super) struct SameUser<S> {
    inner: S,
}

impl<S, B> Service<http::Request<B>> for SameUser<S>
where
    S: Service<http::Request<B>, Response = http::Response<HttpBody>, Error = Infallible>,
{
    type Response = http::Response<HttpBody>;
    type Error = Infallible;
    type Future = GateFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        if request.extensions().get::<ForeignUser>().is_some()
            && !request.headers().contains_key(AUTHORIZATION)
        {
            tracing::warn!("another user of this machine was refused without a key");
            return GateFuture::answered(Ok(refused()));
        }
        GateFuture::passed(self.inner.call(request))
    }
}

fn refused() -> http::Response<HttpBody> {
    let text = "without a key only the user that the kernel runs as is let in; an operator issues one by `mgp keys new`\n";
    let mut response = http::Response::new(HttpBody::from(bytes::Bytes::from_static(text.as_bytes())));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

const ROOT: u32 = 0;
const ESTABLISHED: &str = "01";

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    fn ends(peer: &str, own: &str) -> ConnectionAddrs {
        ConnectionAddrs { peer: peer.parse().unwrap(), own: own.parse().unwrap() }
    }

    fn table(local: &str, remote: &str, state: &str, user: u32, inode: u32) -> String {
        format!(
            "{HEAD}   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000 {user} 0 {inode} 1 0\n"
        )
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn a_connection_has_the_user_of_the_end_that_connected() {
        let table = table("0100007F:D431", "0100007F:1CA4", "01", 1000, 7);
        assert_eq!(user(&table, ends("127.0.0.1:54321", "127.0.0.1:7332")), Some(1000));
        assert_eq!(user(&table, ends("[::ffff:127.0.0.1]:54321", "127.0.0.1:7332")), Some(1000));
        // The other end, and other connections.
        assert_eq!(user(&table, ends("127.0.0.1:7332", "127.0.0.1:54321")), None);
        assert_eq!(user(&table, ends("127.0.0.1:54322", "127.0.0.1:7332")), None);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn addresses_of_both_families_are_read() {
        let six = "00000000000000000000000001000000";
        let table6 = table(&format!("{six}:D431"), &format!("{six}:1CA4"), "01", 33, 7);
        assert_eq!(user(&table6, ends("[::1]:54321", "[::1]:7332")), Some(33));
        let mapped = "0000000000000000FFFF00000100007F";
        let mapped = table(&format!("{mapped}:D431"), &format!("{mapped}:1CA4"), "01", 34, 7);
        assert_eq!(user(&mapped, ends("127.0.0.1:54321", "127.0.0.1:7332")), Some(34));
        for torn in ["", "01", "0100007F", "0100007F:", "0100:1", "zz00007F:1"] {
            assert_eq!(address(torn), None, "{torn}");
        }
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn a_connection_that_nobody_holds_any_more_is_not_roots() {
        let ends = ends("127.0.0.1:54321", "127.0.0.1:7332");
        for (state, inode) in [("01", 0), ("04", 0), ("05", 7), ("06", 0)] {
            assert_eq!(
                user(&table("0100007F:D431", "0100007F:1CA4", state, 0, inode), ends),
                None,
                "{state}"
            );
        }
    }
}
