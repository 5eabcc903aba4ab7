//! The kernel over HTTP: checks keys, and serves the paths for health and metrics beside the protocol's.

mod auth_member;
mod certificate;
mod certificate_end;
mod doors;
mod failed_logins;
mod paths;
mod sessions;
#[cfg(feature = "sso")]
pub(super) mod tokens;

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use http::header::{AUTHORIZATION, CONNECTION, WWW_AUTHENTICATE};
use http::{Extensions, HeaderValue, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use mgp_security::auth::{AuthLayer, HttpAuthLayer, RefusedBy};
use mgp_security::oauth::ResourceServer;
use mgp_transport::Accept;
use mgp_transport::http::{ConnectionAddrs, HttpBody, HttpConfig, Routes, serve_layered_until};
use mgp_types::{Principal, PrincipalKind, RunningCalls};
use tokio::net::TcpListener;
use tokio::sync::OnceCell;
use tower_layer::{Layer as _, layer_fn};
use tower_service::Service;

use self::auth_member::MessageBody;
pub(super) use self::certificate::ListenCertificate;
use self::doors::Door;
use self::failed_logins::{FailedLogins, LoginAttempt};
pub(super) use self::paths::uncached;
use crate::lifecycle::or_never;
use crate::listen::socket::own_uid;
use crate::peer::{PeerUser, peer_user};
use crate::replicas::ClientFront;
use crate::sections::Sections;
use crate::{Kernel, settings};

/// The kernel as requests over HTTP meet it, in front of the server of the protocol.
struct HttpFront {
    kernel: Kernel,
    http: HttpConfig,
    tokens: Option<ResourceServer>,
    logins: FailedLogins,
}

pub(super) type Answer = Result<Response<HttpBody>, Infallible>;

/// Answers a request as it comes in. A kernel that ends has its clients come again on new connections, which the next kernel
/// accepts; over HTTP/2 the connection itself says so.
async fn answer<S>(front: Arc<HttpFront>, inner: S, request: Request<Incoming>) -> Answer
where
    S: Service<Request<MessageBody>, Response = Response<HttpBody>, Error = Infallible>,
{
    let is_http1 = request.version() < Version::HTTP_2;
    let mut response = answer_unknown(&front, inner, request).await?;
    if is_http1 && front.kernel.sections().lifecycle.is_stopping() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

/// Answers a request whose key was not checked: at the paths that take no key, or by `inner`, which checks keys.
///
/// A key in a message is taken out before all that looks at keys, so that it is checked, counted and removed like one in the
/// header. Other users of this machine are refused without a key, and that is recorded like any other failed login.
async fn answer_unknown<S>(front: &HttpFront, mut inner: S, request: Request<Incoming>) -> Answer
where
    S: Service<Request<MessageBody>, Response = Response<HttpBody>, Error = Infallible>,
{
    let (kernel, (head, body)) = (front.kernel.sections(), request.into_parts());
    if let Some(page) = paths::open(kernel, &front.http, front.tokens.as_ref(), &head) {
        return Ok(page);
    }
    let request = Request::from_parts(head, body);
    let (mut request, caller) = match auth_member::keyed(&kernel.config, request).await {
        Ok(keyed) => keyed,
        Err(refusal) => return Ok(refusal),
    };
    sessions::keep_key(kernel.peers(), &mut request);
    let (login, peer) = (LoginAttempt::of(&request), LoopbackPeer::without_key(&request));
    let is_foreign = match peer {
        Some(peer) => peer.is_foreign().await,
        None => false,
    };
    let response = if is_foreign { refusal_of_other_user() } else { inner.call(request).await? };
    front.logins.note(kernel, &login, &response);
    Ok(match &caller {
        Some(caller) => auth_member::explained(response, caller),
        None => response,
    })
}

/// Answers a request whose key was checked: at the path of the metrics, at a door, or by the protocol, maybe at another kernel.
async fn answer_known<A: Accept>(
    front: Arc<HttpFront>,
    routes: Routes<A>,
    request: Request<MessageBody>,
) -> Answer {
    let (kernel, (head, body)) = (front.kernel.sections(), request.into_parts());
    if let Some(page) = paths::metrics(kernel, &front.http, &head) {
        return Ok(page);
    }
    if let Some(door) = Door::at(head.uri.path(), &kernel.config) {
        return Ok(Box::pin(doors::open(door, routes.server().clone(), head, body, kernel)).await);
    }
    let request = Request::from_parts(head, body);
    match kernel.peers() {
        Some(peers) => Box::pin(sessions::answer(peers, &kernel.lifecycle, &routes, request)).await,
        None => routes.handle(request).await,
    }
}

/// A service whose answers are those of a function.
#[derive(Clone)]
pub(super) struct FnService<F>(pub(super) F);

impl<B, F, Answering> Service<Request<B>> for FnService<F>
where
    F: Fn(Request<B>) -> Answering,
    Answering: Future<Output = Answer>,
{
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Answering {
        (self.0)(request)
    }
}

impl Kernel {
    /// Serves clients over HTTP on `socket` until `stop` is done: `/mcp` in both eras, HTTP+SSE beside it, `/healthz`,
    /// `/readyz` and, if the configuration says so, `/metrics`.
    ///
    /// On the loopback address a client without a key has to run as the user of this process, or as root, where the
    /// system tells (Linux). At other addresses, or where the configuration demands it, nobody is let in without a key.
    /// A wrong key is refused everywhere, and what was opened with a key ends when it is revoked or expires.
    ///
    /// # Errors
    /// Fails if the socket cannot be used.
    pub async fn serve_http(
        &self,
        socket: TcpListener,
        stop: impl Future<Output = ()> + Send,
    ) -> io::Result<()> {
        let Sections { config: running, policies, data, .. } = self.sections();
        let config = running.load_full();
        data.serve_at(socket.local_addr()?).map_err(io::Error::other)?;
        let required = config.listen.keys_required() || !socket.local_addr()?.ip().is_loopback();
        let ring = policies.keys.clone();
        #[cfg(feature = "sso")]
        let tokens = tokens::accepted(running, policies.access.groups())?;
        #[cfg(not(feature = "sso"))]
        let tokens = None::<ResourceServer>;
        let guard = tokens.iter().fold(HttpAuthLayer::new(ring.clone()), |guard, tokens| {
            policies.tokens.set_resource_server(tokens.clone());
            guard.tokens(tokens.clone())
        });
        let (auth, guard) = if required {
            (AuthLayer::http(ring), guard)
        } else {
            let client = Principal::of(PrincipalKind::KeylessClient, settings::KEYLESS_AGENT);
            (AuthLayer::http_or(ring, client), guard.optional())
        };
        let mut http =
            settings::connections(&config, HttpConfig::default().limits(running.connection_limits()))
                .shutdown_grace(settings::drain(&config));
        http = config.listen.hosts().into_iter().fold(http, HttpConfig::allow_host);
        let origins = config.listen.allowed_origins.iter().map(String::as_str);
        http = origins.fold(http, HttpConfig::allow_origin);
        let certificate =
            config.listen.tls.as_ref().map(|tls| ListenCertificate::read(tls, "listen.tls")).transpose()?;
        http = certificate.iter().fold(http, |http, certificate| http.tls(certificate.tls.clone()));
        http = http.mark_connections(move |ends| {
            let mut marks = Extensions::new();
            if !required {
                marks.insert(LoopbackPeer { addresses: ends, is_foreign: Arc::default() });
            }
            marks.insert(ends);
            Some(marks)
        });
        let front = Arc::new(HttpFront {
            kernel: self.clone(),
            http: http.clone(),
            tokens: tokens.clone(),
            logins: FailedLogins::default(),
        });
        // Other kernels reach it for as long as clients do.
        let for_peers = OnceLock::<Arc<ClientFront>>::new();
        let layer = layer_fn(|routes: Routes<_>| {
            let known = Arc::clone(&front);
            let known = FnService(move |request| answer_known(Arc::clone(&known), routes.clone(), request));
            let (front, checked) = (Arc::clone(&front), guard.layer(known));
            if let Some(peers) = self.sections().peers() {
                let (front, checked) = (Arc::clone(&front), checked.clone());
                let served: Arc<ClientFront> =
                    Arc::new(move |request| Box::pin(answer(Arc::clone(&front), checked.clone(), request)));
                let _ = peers.clients.set(Arc::downgrade(for_peers.get_or_init(|| served)));
            }
            FnService(move |request| answer(Arc::clone(&front), checked.clone(), request))
        });
        let serving = serve_layered_until(socket, self.accept_remote(&auth), http, layer, stop);
        let ending = tokens.as_ref().map(|tokens| tokens.end_expired(|| RunningCalls::Cancel));
        tokio::select! {
            served = serving => served,
            never = or_never(certificate.map(ListenCertificate::watch)) => match never {},
            never = or_never(ending) => match never {},
            never = policies.keys.watch(|| RunningCalls::Cancel) => match never {},
        }
    }
}

/// The mark of a connection on the loopback address, by which its first request without a key finds out who made it.
#[derive(Debug, Clone)]
struct LoopbackPeer {
    addresses: ConnectionAddrs,
    /// True if another user made the connection; empty as long as nobody has asked.
    is_foreign: Arc<OnceCell<bool>>,
}

impl LoopbackPeer {
    /// Returns the peer of a request without a key: any user who has a key may connect.
    fn without_key<B>(request: &Request<B>) -> Option<Self> {
        let peer = request.extensions().get::<Self>();
        peer.filter(|_| !request.headers().contains_key(AUTHORIZATION)).cloned()
    }

    /// Returns whether the connection was made by another user than this process runs as, and not by root. Where the
    /// system does not tell the user of any connection, none counts as another user's. The system is asked once for each
    /// connection.
    async fn is_foreign(&self) -> bool {
        let look = || async {
            match peer_user(self.addresses).await {
                PeerUser::Known(holder) => ![own_uid(), ROOT].contains(&holder.user),
                PeerUser::Unknown => true,
                PeerUser::Unavailable => false,
            }
        };
        *self.is_foreign.get_or_init(look).await
    }
}

/// Returns the refusal of another user without a key.
fn refusal_of_other_user() -> Response<HttpBody> {
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
