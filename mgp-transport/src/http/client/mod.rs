//! The client side of HTTP.
//!
//! | file | holds |
//! |---|---|
//! | `builder` | what a client is made from |
//! | `streamable` | Streamable HTTP: calls and their streams |
//! | `listen` | the streams of no call: what comes unasked, and HTTP+SSE of 2024-11-05 |
//! | `core` | the state of a client, and the tasks that it owns |
//! | `head`, `status` | what headers say: of a request, and of an answer that is a refusal |
//! | `authorize` | the port by which requests are authorized |
//! | `binary` | binary arguments as parts of their own |
//! | `inbound`, `followed` | messages of the server, to whom they go |
//! | `events`, `sse` | event streams, and when to open them again |
//! | `link`, `pool`, `connect`, `origin`, `body` | HTTP itself: redirects, connections, URLs, bodies |

mod authorize;
#[cfg(feature = "ext")]
mod binary;
mod body;
mod builder;
mod core;
mod events;
mod followed;
mod head;
mod inbound;
mod listen;
mod origin;
mod pool;
mod sse;
mod status;
mod streamable;

use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use mgp_types::frame::check_result;
use mgp_types::{BoxFuture, Error, Request, Response, RpcService, Session};
use tower_service::Service;

pub use self::authorize::{AfterRefusal, AuthorizationAnswer, Authorize, OutgoingRequest};
#[cfg(feature = "ext")]
pub use self::binary::BinaryArguments;
pub use self::builder::HttpClientBuilder;
use self::core::{ClientCore, ClientOwner};
pub use self::head::MirroredHeaders;
pub use self::status::{HttpStatus, SessionLost};

/// A server behind Streamable HTTP in both eras, or behind HTTP+SSE, as the service that answers its requests.
///
/// The client carries messages and negotiates nothing: the layer above opens the session or asks the server for its
/// description, and puts the agreement into [`Context::session`](mgp_types::Context::session) of each request. The
/// client reads there which headers to send, and whether to take a request back by closing its stream or by
/// `notifications/cancelled`; dropping the future of a call does either. Before an agreement, `initialize` is sent
/// plainly, and a request whose `_meta` names a protocol version under that version.
///
/// `I` answers the server: its notifications come as [`Kind::Notify`](mgp_types::RequestKind::Notify), in order and before the
/// answer they precede, its requests as [`Kind::Call`](mgp_types::RequestKind::Call). Their
/// [`outbox`](mgp_types::Context::outbox) leads back to the server.
///
/// The server's messages about a call go to the outbox of the call and not to `I`, all of them before the answer. The
/// stream of a call is read no faster than its caller takes the messages; where others would have to wait for a slow
/// caller, they do so for a [bounded time](crate::ConnectionLimits::delivery_timeout).
///
/// In a session, the client reads the server's unasked messages as soon as `notifications/initialized` was sent, and
/// resumes a stream that ends early. The HTTP status of an answer is the source of its error as [`HttpStatus`], a
/// session that the server forgot as [`SessionLost`].
///
/// ```no_run
/// use mgp_transport::http::HttpClient;
/// # async fn connect<I: mgp_types::RpcService>(inbound: I) -> Result<(), mgp_types::Error> {
/// let client = HttpClient::builder("http://127.0.0.1:8000/mcp").connect_with(inbound)?;
/// # drop(client); Ok(()) }
/// ```
///
/// Over HTTP+SSE, the transport of revision 2024-11-05, one stream brings every message of the server. The stream is the
/// session: when it ends, every waiting call fails, and so does every later one. A slow notification does not delay the
/// answers behind it.
///
/// Clones share connections and session. When the last one is dropped, and no call is in work, all its tasks end;
/// [`close`](Self::close) ends the session too.
pub struct HttpClient<I>(Arc<ClientOwner<I>>);

impl HttpClient<()> {
    /// Returns the builder of a client of the server at `url`.
    pub fn builder(url: impl Into<String>) -> HttpClientBuilder {
        HttpClientBuilder::new(url.into())
    }
}

const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

impl<I: RpcService> HttpClient<I> {
    fn new(core: Arc<ClientCore<I>>) -> Self {
        Self(Arc::new(ClientOwner(core)))
    }

    /// Ends the session that `session` was agreed in, if there is one, and all work that this client started. The wait
    /// is two seconds at most; calls in work fail.
    pub async fn close(&self, session: Option<&Session>) {
        let core = &self.0.0;
        let listener = core.listener.lock().take();
        if let Some(listener) = listener {
            listener.abort();
        }
        if tokio::time::timeout(CLOSE_TIMEOUT, core.end_session(session)).await.is_err() {
            tracing::debug!("the server did not end the session in time");
        }
        core.replies.end();
        core.tasks.abort_all();
    }
}

mgp_types::partial_debug!([I] HttpClient<I>, self => core: self.0.0);

impl<I> Clone for HttpClient<I> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<I: RpcService> Service<Request> for HttpClient<I> {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    /// Makes the call, and keeps the client alive for as long as the call is in work.
    fn call(&mut self, request: Request) -> Self::Future {
        let owner = Arc::clone(&self.0);
        Box::pin(async move {
            // The future is made where it is awaited: it is large, and would be copied from elsewhere.
            let method = request.method.clone();
            let outcome = Arc::clone(&owner.0).exchange(request).await;
            drop(owner);
            let response = outcome?;
            check_result(&method, &response.result)?;
            Ok(response)
        })
    }
}
