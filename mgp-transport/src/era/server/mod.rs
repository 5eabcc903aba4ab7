//! The server's side of both eras: the layer that opens sessions and reads stateless requests.

mod identity;
mod initialized;
mod outgoing;
mod session;
mod stateless;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mgp_types::mgp::TraceId;
use mgp_types::{Error, Method, Outbox, Request, RequestKind, Response, RpcService, Session};
use pin_project_lite::pin_project;
use tower_service::Service;

pub use self::identity::{ServerIdentity, VersionMismatch};
#[cfg(feature = "ext")]
pub(crate) use self::outgoing::explain;
use self::session::OpenedSession;
use self::stateless::DescribedSession;

/// Serves both eras with one server. The layer sits outermost, behind the transport.
///
/// Inbound it writes `context.session`: agreed by `initialize` once per connection, or described by each request's
/// `_meta`. The server behind it answers `server/discover` with its `capabilities` and `instructions`, and this layer
/// makes the results of `initialize` and `server/discover` from that. Outbound it adds the members that the era
/// requires of a result (`resultType`, `serverInfo`, cache hints) or removes them, and translates errors for the peer.
///
/// Messages that only MGP has do not leave to a peer that did not negotiate MGP, whichever layer sends them.
///
/// The layer refuses methods that the era does not have, sessions that were not opened, and requests that do not
/// describe themselves. The layer answers `ping`. The layer does not allocate for a request whose `_meta` is that of
/// the last one.
#[derive(Debug, Clone)]
pub struct ServerEra<S> {
    inner: S,
    identity: Arc<ServerIdentity>,
    connection: Arc<ServerEraConnection>,
}

#[derive(Debug)]
struct ServerEraConnection {
    opened: OpenedSession,
    described: DescribedSession,
}

impl<S> ServerEra<S> {
    /// Creates the server `inner` on one connection, whose peer is reached through `outbox`.
    ///
    /// With a closed outbox the connection cannot hold a session, and every request has to describe itself.
    pub fn new(inner: S, identity: Arc<ServerIdentity>, outbox: Outbox) -> Self {
        let connection = ServerEraConnection {
            opened: OpenedSession::new(outbox),
            described: DescribedSession::default(),
        };
        Self { inner, identity, connection: Arc::new(connection) }
    }

    /// Turns the request into its inner form, and returns how its answer is to leave.
    fn admit(&self, request: &mut Request) -> Result<AdmittedRequest, Error> {
        let ServerEraConnection { opened, described } = &*self.connection;
        if !opened.can_open() || described.is_stateless(&request.params) {
            let session = described.session(&request.params, &self.identity)?;
            session::exists(&request.method, session.revision)?;
            let outgoing = if request.method == Method::DISCOVER {
                ResponseTreatment::Discovered
            } else {
                self.identity.check(&session)?;
                ResponseTreatment::Stamped { cacheable: outgoing::is_cacheable(&request.method) }
            };
            return Ok(AdmittedRequest::pass(request, session, outgoing));
        }
        if request.method == Method::PING && request.kind == RequestKind::Call {
            return Ok(AdmittedRequest::Answered(Response::empty()));
        }
        if request.method == Method::INITIALIZE && request.kind == RequestKind::Call {
            let session = opened.described(&request.params, &self.identity)?;
            request.method = Method::DISCOVER;
            return Ok(AdmittedRequest::pass(request, session, ResponseTreatment::Initialized));
        }
        let session = opened.session()?;
        session::session_has(&session, &request.method)?;
        opened.connect(request);
        Ok(AdmittedRequest::pass(request, session, ResponseTreatment::Stripped))
    }
}

enum AdmittedRequest {
    Answered(Response),
    Passed { session: Arc<Session>, outgoing: ResponseTreatment },
}

impl AdmittedRequest {
    fn pass(request: &mut Request, session: Arc<Session>, outgoing: ResponseTreatment) -> Self {
        if session.mgp.is_none() {
            request.context.outbox = std::mem::take(&mut request.context.outbox).without_mgp();
        }
        request.context.session = Some(session.clone());
        Self::Passed { session, outgoing }
    }
}

/// The change to the answer on its way out.
#[derive(Debug, Clone, Copy)]
enum ResponseTreatment {
    Initialized,
    Discovered,
    Stamped { cacheable: bool },
    Stripped,
}

impl<S: RpcService> Service<Request> for ServerEra<S> {
    type Response = Response;
    type Error = Error;
    type Future = ServerEraFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let is_call = request.kind == RequestKind::Call;
        match self.admit(&mut request) {
            Ok(AdmittedRequest::Passed { session, outgoing }) => ServerEraFuture::Passed {
                trace: outgoing::trace_for_errors(&mut request, &session),
                future: self.inner.call(request),
                session,
                outgoing,
                identity: self.identity.clone(),
                connection: self.connection.clone(),
            },
            Ok(AdmittedRequest::Answered(response)) => {
                ServerEraFuture::Answered { outcome: Some(Ok(response)) }
            }
            Err(error) if is_call => ServerEraFuture::Answered { outcome: Some(Err(error)) },
            Err(error) => {
                tracing::debug!(%error, method = %request.method, "ignoring a notification");
                ServerEraFuture::Answered { outcome: Some(Ok(Response::empty())) }
            }
        }
    }
}

pin_project! {
    /// The future of [`ServerEra`].
    #[project = Projected]
    #[derive(Debug)]
    pub enum ServerEraFuture<F> {
        /// The layer answered itself.
        #[doc(hidden)]
        Answered { outcome: Option<Result<Response, Error>> },
        /// The service behind the layer answers.
        #[doc(hidden)]
        Passed {
            #[pin]
            future: F,
            session: Arc<Session>,
            outgoing: ResponseTreatment,
            trace: Option<TraceId>,
            identity: Arc<ServerIdentity>,
            connection: Arc<ServerEraConnection>,
        },
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for ServerEraFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            Projected::Answered { outcome } => {
                Poll::Ready(outcome.take().expect("a future is not polled again after it was ready"))
            }
            Projected::Passed { future, session, outgoing, trace, identity, connection } => {
                let response = match ready!(future.poll(cx)) {
                    Ok(response) => response,
                    Err(error) => return Poll::Ready(Err(outgoing::explain(error, session, *trace))),
                };
                Poll::Ready(match outgoing {
                    ResponseTreatment::Stripped => Ok(outgoing::strip(response)),
                    ResponseTreatment::Stamped { cacheable } => {
                        Ok(outgoing::stamp(response, *cacheable, identity))
                    }
                    ResponseTreatment::Discovered => session::discovered(&response, identity)
                        .map(|response| outgoing::stamp(response, true, identity)),
                    ResponseTreatment::Initialized => session::initialized(&response, session, identity)
                        .inspect(|_| connection.opened.open(session.clone()))
                        .map(outgoing::strip),
                })
            }
        }
    }
}
