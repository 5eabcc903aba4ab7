//! The server side of HTTP.
//!
//! | file | holds |
//! |---|---|
//! | `head`, `origin` | what the head of a request says, and whether it may |
//! | `decide` | which era a message belongs to |
//! | `post`, `get` | what the methods of HTTP do |
//! | `body`, `multipart` | bodies, and messages whose binary values come in parts of their own |
//! | `call`, `body`, `respond` | a call from its request to the last byte of its answer |
//! | `stream`, `replay` | streams of events, and what is kept of them |
//! | `session`, `session_table`, `in_flight` | sessions up to 2025-11-25, and their calls |
//! | `serve`, `connection_slots` | a server on a socket |
//! | `watched_connection` | what the server knows of each connection |
//! | `tls`, `secured_connection` | connections with TLS, and HTTP/2 |

mod body;
mod call;
mod config;
mod connection_slots;
mod decide;
mod get;
mod head;
mod in_flight;
mod multipart;
mod origin;
mod post;
mod replay;
mod respond;
#[cfg(feature = "tls-server")]
mod secured_connection;
mod serve;
mod session;
mod session_table;
mod stream;
#[cfg(feature = "tls-server")]
mod tls;
mod watched_connection;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use http::request::Parts;
use http::{Method, StatusCode};
use http_body::Body;
use mgp_types::{Error, Outbox, Params, RequestKind, Response, call_once};
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use tower_service::Service;

use self::body::BodyReader;
pub use self::body::HttpBody;
use self::call::RunningCall;
pub use self::config::{ConnectionAddrs, HttpConfig};
use self::decide::{Envelopes, mismatch};
use self::head::{BodyHeaders, RequestHead};
use self::respond::{HttpRefusal, PostAnswer};
pub use self::serve::{HttpService, ListenTarget, Routes, serve, serve_layered_until, serve_until};
use self::session_table::{SessionId, SessionTable};
pub use self::stream::ResponseStream;
#[cfg(feature = "tls-server")]
pub use self::tls::{ClientCertificates, TlsConfig};
use crate::http::header::is_media;
use crate::{Accept, CatchPanic};

/// Answers MCP over HTTP: both eras on one endpoint, as a `tower::Service`.
///
/// The service looks at no path, so its owner mounts it anywhere; [`Routes`] adds the paths of HTTP+SSE, [`serve`] a
/// socket. A layer that authenticates puts a [`Principal`](mgp_types::Principal) into the extensions of the HTTP
/// request; sessions are bound to it. Handlers find the head of their HTTP request as [`http::request::Parts`] in the
/// extensions of theirs.
///
/// ```
/// use mgp_transport::http::{HttpBody, HttpServer};
/// use mgp_types::{Error, Outbox, Request, Response};
/// use tower_service::Service;
///
/// #[derive(Clone)]
/// struct Silent;
///
/// impl Service<Request> for Silent {
///     type Response = Response;
///     type Error = Error;
///     type Future = std::future::Ready<Result<Response, Error>>;
///
///     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Error>> {
///         std::task::Poll::Ready(Ok(()))
///     }
///
///     fn call(&mut self, request: Request) -> Self::Future {
///         std::future::ready(Err(Error::method_not_found(&request.method)))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let server = HttpServer::new(|_: Outbox| Silent);
/// let request = http::Request::post("/").header("host", "evil.example").body(HttpBody::default()).unwrap();
/// assert_eq!(server.handle(request).await.unwrap().status(), 403);
/// # }
/// ```
#[derive(Clone)]
pub struct HttpServer<A: Accept> {
    shared: Arc<HttpServerShared<A>>,
}

/// The service of `A` as it answers over HTTP: a panic in it ends one request, not the connection or the session.
type CaughtService<A> = CatchPanic<<A as Accept>::Service>;

struct HttpServerShared<A: Accept> {
    accept: A,
    config: Arc<HttpConfig>,
    /// The service that answers requests of no session.
    stateless: OnceLock<Mutex<CaughtService<A>>>,
    sessions: Arc<SessionTable<CaughtService<A>>>,
    envelopes: Envelopes,
}

impl<A: Accept> HttpServer<A> {
    /// Creates a server with the default configuration. It needs a tokio runtime.
    pub fn new(accept: A) -> Self {
        Self::with_config(accept, HttpConfig::default())
    }

    /// Creates a server with this configuration.
    pub fn with_config(accept: A, config: HttpConfig) -> Self {
        let config = Arc::new(config);
        let sessions = Arc::new(SessionTable::new(Arc::clone(&config)));
        let (stateless, envelopes) = (OnceLock::new(), Envelopes::default());
        Self { shared: Arc::new(HttpServerShared { accept, config, stateless, sessions, envelopes }) }
    }

    /// Returns the server with the paths of its configuration: the endpoint, and HTTP+SSE beside it.
    pub fn routes(self) -> Routes<A> {
        Routes { server: self }
    }

    /// Ends all sessions and their streams.
    pub fn close_sessions(&self) {
        self.sessions().clear();
    }

    /// Answers one request.
    pub fn handle<B: Body>(&self, request: http::Request<B>) -> ResponseFuture<A, B> {
        self.proceed(request, |parts| self.check(parts))
    }

    /// Calls a method for the sender of a request that is none of MCP, such as one at a path of the owner's. The parameters
    /// describe the call like those of any call without a session. Messages on its way are dropped.
    ///
    /// # Errors
    /// Fails if the host or the origin of the request is not served, and with the error of the call.
    pub async fn call_for(
        &self,
        head: Arc<Parts>,
        method: mgp_types::Method,
        params: Params,
    ) -> Result<Response, Error> {
        self.guarded(&head).map_err(|refusal| refusal.error)?;
        let request = post::request(RequestKind::Call, method, params, head);
        let service = self.stateless_service().lock().clone();
        Box::pin(call_once(service, request)).await
    }

    /// Returns the refusal of a request that a web page may have sent, or that two readers may read differently.
    pub fn refusal(&self, head: &Parts) -> Option<http::Response<HttpBody>> {
        self.guarded(head).err().map(HttpRefusal::into_response)
    }

    fn proceed<B: Body>(
        &self,
        request: http::Request<B>,
        check: impl FnOnce(&Parts) -> Result<CheckedHead, HttpRefusal>,
    ) -> ResponseFuture<A, B> {
        let (parts, body) = request.into_parts();
        // The head is shared from the start: the handler gets it in the end, and moving it on the way is expensive.
        let parts = Arc::new(parts);
        let state = match check(&parts) {
            Ok(CheckedHead::Post(target)) => {
                let body = BodyReader::new(body, Arc::clone(self.config()));
                State::Reading { body, post: Some(Post { server: self.clone(), parts, target }) }
            }
            Ok(CheckedHead::Done(response)) => State::Done { response: Some(response) },
            Err(refusal) => State::Done { response: Some(refusal.into_response()) },
        };
        ResponseFuture { state }
    }

    fn check(&self, parts: &Parts) -> Result<CheckedHead, HttpRefusal> {
        let head = self.guarded(parts)?;
        match parts.method {
            Method::POST => {
                self.check_post(&head)?;
                Ok(CheckedHead::Post(PostTarget::Endpoint(head.marks)))
            }
            Method::GET => self.get(parts, &head).map(CheckedHead::Done),
            Method::DELETE => self.delete(parts, &head).map(CheckedHead::Done),
            _ => Err(get::not_allowed()),
        }
    }

    /// Reads the head of a request. Refuses requests that a web page may have sent, and requests that two readers may read
    /// differently.
    fn guarded<'a>(&self, parts: &'a Parts) -> Result<RequestHead<'a>, HttpRefusal> {
        let head = RequestHead::read(&parts.headers);
        let forbidden = |why| Err(HttpRefusal::because(StatusCode::FORBIDDEN, why));
        // A request target in absolute form names a host as well, and a proxy may go by either.
        let target = parts.uri.authority().map(|authority| authority.as_str().as_bytes());
        let header = head.host.map(http::HeaderValue::as_bytes);
        if header.or(target).is_none() {
            return Err(HttpRefusal::invalid("the header Host is missing"));
        }
        if ![header, target].into_iter().flatten().all(|host| self.config().accepts_host(host)) {
            return forbidden("this `Host` is not served");
        }
        match head.origin {
            Some(origin) if !self.config().accepts_origin(origin.as_bytes()) => {
                return forbidden("this `Origin` is not allowed");
            }
            // Pages send some requests without an `Origin`, such as those for images.
            None if head.is_cross_origin => {
                return forbidden("a page of another origin sent this without an `Origin`");
            }
            _ => {}
        }
        if let Some(name) = head.repeated {
            return Err(mismatch(format!("the header {name} came more than once")));
        }
        Ok(head)
    }

    fn check_post(&self, head: &RequestHead<'_>) -> Result<(), HttpRefusal> {
        if self.in_parts(head.content_type).is_none() {
            Self::check_body(head)?;
        }
        if !head.accepts.both() {
            let why = "`Accept` must name application/json and text/event-stream";
            return Err(HttpRefusal::because(StatusCode::NOT_ACCEPTABLE, why));
        }
        Ok(())
    }

    /// Returns the form of a request in parts, where the server takes such.
    fn in_parts(&self, content_type: Option<&http::HeaderValue>) -> Option<multipart::MultipartRelated> {
        let content_type = content_type.filter(|_| self.config().multipart)?;
        multipart::MultipartRelated::read(content_type.to_str().ok()?)
    }

    fn check_body(head: &RequestHead<'_>) -> Result<(), HttpRefusal> {
        if !head.content_type.is_some_and(|value| is_media(value.as_bytes(), "application/json")) {
            let why = "`Content-Type` must be application/json";
            return Err(HttpRefusal::because(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
        }
        Ok(())
    }

    fn config(&self) -> &Arc<HttpConfig> {
        &self.shared.config
    }

    fn sessions(&self) -> &Arc<SessionTable<CaughtService<A>>> {
        &self.shared.sessions
    }

    fn accept(&self, outbox: Outbox) -> CaughtService<A> {
        CatchPanic::new(self.shared.accept.accept(outbox))
    }

    fn stateless_service(&self) -> &Mutex<CaughtService<A>> {
        self.shared.stateless.get_or_init(|| Mutex::new(self.accept(Outbox::CLOSED)))
    }
}

/// The result of the checks on a request's head.
enum CheckedHead {
    Post(PostTarget),
    Done(http::Response<HttpBody>),
}

impl<A: Accept, B: Body> Service<http::Request<B>> for HttpServer<A> {
    type Response = http::Response<HttpBody>;
    type Error = Infallible;
    type Future = ResponseFuture<A, B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(())) // Each session has a capacity of its own.
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        self.handle(request)
    }
}

mgp_types::partial_debug!([A: Accept] HttpServer<A>, self => config: self.config());

pin_project! {
    /// The future of an answer of [`HttpServer`].
    ///
    /// Dropping it cancels the call, unless the call belongs to a session: then the call goes on.
    pub struct ResponseFuture<A: Accept, B> {
        #[pin]
        state: State<A, B>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<A: Accept, B> {
        Reading {
            #[pin]
            body: BodyReader<B>,
            post: Option<Post<A>>,
        },
        Calling { calling: RunningCall },
        Done { response: Option<http::Response<HttpBody>> },
    }
}

/// A POST whose body is being read.
struct Post<A: Accept> {
    server: HttpServer<A>,
    parts: Arc<Parts>,
    target: PostTarget,
}

/// The receiver of the body.
enum PostTarget {
    /// The endpoint of both eras.
    Endpoint(BodyHeaders),
    /// A session of HTTP+SSE.
    Sse(SessionId),
}

impl<A: Accept, B: Body> Future for ResponseFuture<A, B> {
    type Output = Result<http::Response<HttpBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let step = match state.as_mut().project() {
                StateProjection::Reading { body, post } => {
                    let read = ready!(body.poll_read(cx));
                    match (read, post.take()) {
                        (Ok(bytes), Some(Post { server, parts, target })) => match target {
                            PostTarget::Endpoint(marks) => server.post(parts, &marks, &bytes),
                            PostTarget::Sse(session) => {
                                server.sse_message(session, &parts, &bytes).map(|()| None)
                            }
                        },
                        (Err(refusal), _) => Err(refusal),
                        (Ok(_), None) => return Poll::Pending,
                    }
                }
                StateProjection::Calling { calling } => return calling.poll(cx).map(Ok),
                StateProjection::Done { response } => {
                    return response.take().map_or(Poll::Pending, |response| Poll::Ready(Ok(response)));
                }
            };
            state.set(match step {
                Ok(Some(calling)) => State::Calling { calling },
                Ok(None) => State::Done { response: Some(PostAnswer::ACCEPTED.into_response()) },
                Err(refusal) => State::Done { response: Some(refusal.into_response()) },
            });
        }
    }
}

mgp_types::partial_debug!([A: Accept, B] ResponseFuture<A, B>);
