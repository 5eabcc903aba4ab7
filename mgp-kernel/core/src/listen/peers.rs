//! The place at which other kernels pass on calls of the servers that this one runs, and requests of clients of its sessions.
//! Nobody else gets in: the connection takes a certificate of the authority of all kernels, and keys of agents open nothing.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::unfold;
use http::request::Parts;
use http::{Method, Request as HttpRequest, Response as HttpResponse, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use mgp_transport::Accept;
use mgp_transport::era::ServerEra;
use mgp_transport::http::{HttpConfig, Routes, serve_layered_until};
use mgp_types::mgp::ServerId;
use mgp_types::{BoxFuture, ClientSession, Error, Outbox, Request, Response, code};
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, watch};
use tower_layer::layer_fn;
use tower_service::Service;

use super::http::{Answer, FnService, ListenCertificate, uncached};
use crate::StartError;
use crate::lifecycle::wait_for_stop;
use crate::replicas::{MARKS, OF_CLIENT, PeerMarks};
use crate::sections::Sections;
use crate::servers::upstream::DecidedCalls;

/// The socket for other kernels, and this kernel's certificate there.
pub(super) struct PeerSocket {
    socket: TcpListener,
    certificate: ListenCertificate,
}

impl PeerSocket {
    /// Listens where `[cluster]` says; `None` if it has no address.
    ///
    /// # Errors
    /// Fails if the address is taken, or a certificate cannot be used.
    pub(super) async fn open(kernel: &Sections) -> Result<Option<Self>, StartError> {
        let Some(peers) = kernel.peers() else { return Ok(None) };
        let at = &peers.address;
        let unheard = |error| StartError::Listen { at: format!("{at} for other kernels"), error };
        let certificate = ListenCertificate::read(&peers.tls, "cluster").map_err(unheard)?;
        let socket = TcpListener::bind(at.as_str()).await.map_err(unheard)?;
        peers.is_open.store(true, Relaxed);
        Ok(Some(Self { socket, certificate }))
    }

    /// Serves other kernels until `closed` says so.
    pub(super) async fn serve(self, kernel: Arc<Sections>, closed: watch::Receiver<bool>) {
        let config = HttpConfig::default().limits(kernel.config.connection_limits()).allow_any_host();
        // A request that is sent again is not carried out again.
        let config = config.tls(self.certificate.tls.clone()).handshake_timeout(LONGEST_START).unique_ids();
        // A request of a client takes a connection, and is bounded where the client connects.
        let config = config.max_connections(8 << 10).max_connections_per_peer(8 << 10);
        let served = Arc::clone(&kernel);
        let accept = move |outbox: Outbox| PeerSession {
            client: kernel.fleet.client_session(),
            kernel: Arc::clone(&kernel),
            outbox,
            opened: Arc::default(),
        };
        let layer = layer_fn(|routes: Routes<_>| {
            let kernel = Arc::clone(&served);
            FnService(move |request| answer(Arc::clone(&kernel), routes.clone(), request))
        });
        tokio::select! {
            served = serve_layered_until(self.socket, accept, config, layer, wait_for_stop(closed)) => {
                if let Err(error) = served {
                    tracing::error!(%error, "other kernels are not served");
                }
            }
            never = self.certificate.watch() => match never {},
        }
    }
}

/// Answers a request of another kernel: as one of the client that brings its own key, or in the name of the caller that the
/// request is marked with.
async fn answer<A: Accept>(
    kernel: Arc<Sections>,
    routes: Routes<A>,
    mut request: HttpRequest<Incoming>,
) -> Answer {
    if let Some((front, in_work)) = kernel.peers().and_then(|peers| peers.front_for(request.headers())) {
        // Nobody waits for a stream of no call, which goes on until it is closed.
        let in_work = (request.method() != Method::GET).then_some(in_work);
        let (head, body) = front(request).await?.into_parts();
        let pieces = unfold((body.into_data_stream(), in_work), |(mut body, in_work)| async move {
            body.next().await.map(|piece| (piece, (body, in_work)))
        });
        return Ok(HttpResponse::from_parts(head, pieces.boxed().into()));
    }
    let Some(marks) = PeerMarks::of(request.headers()) else {
        let is_of_client = request.headers().get(MARKS).is_some_and(|marks| marks == OF_CLIENT);
        let why = if is_of_client { ENDING } else { "there is nothing here\n" };
        return Ok(uncached(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", why));
    };
    request.extensions_mut().insert(marks.caller.clone());
    request.extensions_mut().insert(marks);
    routes.server().handle(request).await
}

/// The service of one session of another kernel, which takes its requests while this kernel has the lease.
#[derive(Clone)]
struct PeerSession {
    kernel: Arc<Sections>,
    /// The session as a client of the server.
    client: Arc<ClientSession>,
    outbox: Outbox,
    /// The server that the session is with, and its service.
    opened: Arc<OnceCell<(ServerId, ServerEra<DecidedCalls>)>>,
}

impl Service<Request> for PeerSession {
    type Future = BoxFuture<'static, Result<Response, Error>>;

    mgp_types::always_ready!();

    fn call(&mut self, request: Request) -> Self::Future {
        Box::pin(self.clone().answer(request))
    }
}

impl PeerSession {
    async fn answer(self, mut request: Request) -> Result<Response, Error> {
        let (server, marks) = self.admit(&request)?;
        let caller = marks.caller;
        // Whichever kernel passes them on, requests without a session come from one client.
        request.context.principal =
            Some(if marks.has_session { caller.through(self.client.id()) } else { caller });
        let open = || async {
            let upstream = self.kernel.fleet.upstream(&server)?;
            Ok::<_, Error>((server.clone(), upstream.accept_peer(&request, self.outbox.clone()).await?))
        };
        let (opened_with, opened) = self.opened.get_or_try_init(open).await?;
        if *opened_with != server {
            return Err(Error::invalid_request("the session is one with another server"));
        }
        opened.clone().call(request).await
    }

    /// Returns the server that a request is for, and its marks.
    ///
    /// # Errors
    /// Fails if another kernel has the lease by now.
    fn admit(&self, request: &Request) -> Result<(ServerId, PeerMarks), Error> {
        let head = request.extensions.get::<Parts>().filter(|_| self.outbox.is_open());
        let found = head.and_then(|head| {
            Some((head.uri.path().strip_prefix("/servers/")?, head.extensions.get::<PeerMarks>()?))
        });
        let (server, marks) =
            found.ok_or_else(|| Error::invalid_request("only sessions with servers are served"))?;
        if !self.kernel.peers().is_some_and(|peers| peers.leases.has(server, marks.epoch)) {
            return Err(Error::new(
                code::SERVER_NOT_READY,
                "another kernel runs the server by now: try again",
            ));
        }
        Ok((ServerId::from(server), marks.clone()))
    }
}

/// The time that a server has to start for a session with it.
const LONGEST_START: Duration = Duration::from_mins(1);

const ENDING: &str = "the kernel of the session ends, and did not do what it was asked for: begin a new session with `initialize`\n";

#[cfg(test)]
mod tests;
