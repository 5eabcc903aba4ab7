//! The refusal of other users of this machine at a loopback address that requires no key.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{Extensions, HeaderValue, StatusCode};
use mgp_security::GateFuture;
use mgp_transport::http::{ConnectionAddrs, HttpBody};
use tokio::sync::OnceCell;
use tower_layer::Layer;
use tower_service::Service;

use super::paths::page;
use super::peer_user::{PeerUser, peer_user};

/// The mark of a connection, by which its first request without a key finds out who made it.
#[derive(Debug, Clone)]
struct LoopbackPeer(Arc<Ends>);

#[derive(Debug)]
struct Ends {
    addresses: ConnectionAddrs,
    /// True if another user made the connection; empty as long as nobody has asked.
    is_foreign: OnceCell<bool>,
}

/// Returns the mark of a connection on the loopback address.
pub(super) fn mark(addresses: ConnectionAddrs) -> Extensions {
    let mut marks = Extensions::new();
    marks.insert(LoopbackPeer(Arc::new(Ends { addresses, is_foreign: OnceCell::new() })));
    marks
}

impl LoopbackPeer {
    /// Returns whether the connection was made by another user than this process runs as, and not by root. Where the
    /// system does not tell the user of any connection, none counts as another user's.
    async fn is_foreign(&self) -> bool {
        let look = || async {
            match peer_user(self.0.addresses).await {
                PeerUser::Known(user) => user != own_user() && user != ROOT,
                PeerUser::Unknown => true,
                PeerUser::Untold => false,
            }
        };
        *self.0.is_foreign.get_or_init(look).await
    }
}

#[cfg(unix)]
fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
const fn own_user() -> u32 {
    ROOT
}

/// A layer that refuses requests without a key that come from another user. Makes [`SameUser`] services.
///
/// For an address at which no key is required: any user who has a key may connect. The system is asked once for each
/// connection, by its first request without a key.
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
    S: Service<http::Request<B>, Response = http::Response<HttpBody>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    type Response = http::Response<HttpBody>;
    type Error = Infallible;
    type Future = GateFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let peer = request.extensions().get::<LoopbackPeer>();
        let Some(peer) = peer.filter(|_| !request.headers().contains_key(AUTHORIZATION)) else {
            return GateFuture::passed(self.inner.call(request));
        };
        match peer.0.is_foreign.get() {
            Some(false) => GateFuture::passed(self.inner.call(request)),
            Some(true) => GateFuture::answered(Ok(refused())),
            None => {
                let peer = peer.clone();
                // The clone takes the place of the service that was ready.
                let clone = self.inner.clone();
                let mut inner = std::mem::replace(&mut self.inner, clone);
                GateFuture::waiting(async move {
                    if peer.is_foreign().await { Ok(refused()) } else { inner.call(request).await }
                })
            }
        }
    }
}

fn refused() -> http::Response<HttpBody> {
    tracing::warn!("another user of this machine was refused without a key");
    let text = "without a key only the user that the kernel runs as is let in; an operator issues one by `mgp keys new`\n";
    let mut response = page(StatusCode::UNAUTHORIZED, "text/plain; charset=utf-8", text);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

const ROOT: u32 = 0;

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};

    use super::*;

    #[derive(Clone)]
    struct Answering;

    impl Service<http::Request<()>> for Answering {
        type Response = http::Response<HttpBody>;
        type Error = Infallible;
        type Future = Ready<Result<Self::Response, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: http::Request<()>) -> Self::Future {
            ready(Ok(http::Response::new(HttpBody::from(bytes::Bytes::new()))))
        }
    }

    #[tokio::test]
    async fn the_system_is_asked_once_and_only_for_requests_without_a_key() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, peer) = listener.accept().await.unwrap();
        let marks = mark(ConnectionAddrs { peer, own: stream.local_addr().unwrap() });
        let peer = marks.get::<LoopbackPeer>().unwrap().clone();
        let service = SameUserLayer.layer(Answering);
        let answer = async |key: Option<&'static str>| {
            let mut request = http::Request::new(());
            request.extensions_mut().extend(marks.clone());
            if let Some(key) = key {
                request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static(key));
            }
            service.clone().call(request).await.unwrap().status()
        };
        assert_eq!(answer(Some("Bearer x")).await, StatusCode::OK);
        assert_eq!(peer.0.is_foreign.get(), None);
        assert_eq!(answer(None).await, StatusCode::OK);
        assert_eq!(peer.0.is_foreign.get(), Some(&false));
        // A second look would find nobody at the other end.
        drop(client);
        assert_eq!(answer(None).await, StatusCode::OK);
    }

    #[tokio::test]
    async fn a_connection_whose_user_is_not_known_needs_a_key() {
        let nobody = ConnectionAddrs { peer: ([127, 0, 0, 1], 1).into(), own: ([127, 0, 0, 1], 2).into() };
        let marks = mark(nobody);
        assert_eq!(marks.get::<LoopbackPeer>().unwrap().is_foreign().await, cfg!(target_os = "linux"));
    }
}
