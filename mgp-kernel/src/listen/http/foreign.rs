//! The refusal of other users of this machine at a loopback address that requires no key.

use std::sync::Arc;

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderValue, Request, Response, StatusCode};
use mgp_security::auth::RefusedBy;
use mgp_transport::http::{ConnectionAddrs, HttpBody};
use rustix::process::geteuid;
use tokio::sync::OnceCell;

use super::paths::uncached;
use crate::peer::{PeerUser, peer_user};

/// The mark of a connection on the loopback address, by which its first request without a key finds out who made it.
#[derive(Debug, Clone)]
pub(super) struct LoopbackPeer {
    pub(super) addresses: ConnectionAddrs,
    /// True if another user made the connection; empty as long as nobody has asked.
    pub(super) is_foreign: Arc<OnceCell<bool>>,
}

impl LoopbackPeer {
    /// Returns the peer of a request without a key: any user who has a key may connect.
    pub(super) fn without_key<B>(request: &Request<B>) -> Option<Self> {
        let peer = request.extensions().get::<Self>();
        peer.filter(|_| !request.headers().contains_key(AUTHORIZATION)).cloned()
    }

    /// Returns whether the connection was made by another user than this process runs as, and not by root. Where the
    /// system does not tell the user of any connection, none counts as another user's. The system is asked once for each
    /// connection.
    pub(super) async fn is_foreign(&self) -> bool {
        let look = || async {
            match peer_user(self.addresses).await {
                PeerUser::Known(holder) => ![geteuid().as_raw(), ROOT].contains(&holder.user),
                PeerUser::Unknown => true,
                PeerUser::Untold => false,
            }
        };
        *self.is_foreign.get_or_init(look).await
    }
}

/// Returns the refusal of another user without a key.
pub(super) fn refused() -> Response<HttpBody> {
    let text = "without a key only the user that the kernel runs as is let in; an operator issues one by `mgp keys new`\n";
    let mut response = uncached(StatusCode::UNAUTHORIZED, "text/plain; charset=utf-8", text);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response.extensions_mut().insert(RefusedBy("other-user"));
    response
}

const ROOT: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback_peer(addresses: ConnectionAddrs) -> LoopbackPeer {
        LoopbackPeer { addresses, is_foreign: Arc::default() }
    }

    #[tokio::test]
    async fn the_system_is_asked_once_and_only_for_requests_without_a_key() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, peer) = listener.accept().await.unwrap();
        let peer = loopback_peer(ConnectionAddrs { peer, own: stream.local_addr().unwrap() });
        let mut request = Request::new(());
        request.extensions_mut().insert(peer.clone());
        let asked = LoopbackPeer::without_key(&request).unwrap();
        assert!(!asked.is_foreign().await);
        assert_eq!(peer.is_foreign.get(), Some(&false));
        // A second look would find nobody at the other end.
        drop(client);
        assert!(!asked.is_foreign().await);
        request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static("Bearer x"));
        assert!(LoopbackPeer::without_key(&request).is_none());
    }

    #[tokio::test]
    async fn a_connection_whose_user_is_not_known_needs_a_key() {
        let nobody = ConnectionAddrs { peer: ([127, 0, 0, 1], 1).into(), own: ([127, 0, 0, 1], 2).into() };
        assert_eq!(loopback_peer(nobody).is_foreign().await, cfg!(target_os = "linux"));
    }
}
