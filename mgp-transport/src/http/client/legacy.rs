//! The client of HTTP+SSE, the transport of revision 2024-11-05.

use std::future::Future;
use std::sync::Arc;
use std::task::{self, Poll};

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderValue, Method as HttpMethod, Uri};
use mgp_types::frame::{write_call, write_notification};
use mgp_types::{BoxFuture, Error, Id, Method, Request, RequestKind, Response, RpcService, Session};
use tower_service::Service;

use super::body;
use super::core::{CancelOnDrop, ClientCore, ClientOwner, MessageCarrier};
use super::events::{AnswerEvents, BodyKind, messages};
use super::inbound::{IntakeOrder, ServerRequests, StreamReceiver};
use super::origin::{resolve, same_origin};
use super::replies::Replies;
use super::status::HttpStatus;

/// A server behind HTTP+SSE, the transport of revision 2024-11-05, as the service that answers its requests.
///
/// One event stream brings every message of the server; messages to the server are posted to the address that its first
/// event names. The stream is the session: when it ends, every waiting call fails, and so does every later one.
///
/// [`HttpClientBuilder::connect_sse_with`](super::HttpClientBuilder::connect_sse_with) makes such a client. Like
/// [`HttpClient`](super::HttpClient) it negotiates nothing. The inbound service gets the server's notifications in
/// order; a slow notification does not delay the answers behind it.
pub struct SseClient<I>(Arc<ClientOwner<Sse<I>>>);

struct Sse<I> {
    core: ClientCore<I>,
    /// The address of messages.
    endpoint: Uri,
    replies: Replies,
}

impl<I: RpcService> SseClient<I> {
    pub(super) async fn connect(core: ClientCore<I>) -> Result<Self, Error> {
        let head = || {
            let mut head = core.headers.clone();
            head.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
            Ok(head)
        };
        let response = core.link.send(&HttpMethod::GET, &core.url, Bytes::new(), head).await?;
        if !response.status().is_success() {
            return Err(body::refusal(response, &core.limits).await);
        }
        if BodyKind::of(response.headers()) != BodyKind::Events {
            return Err(HttpStatus::new(response.status(), response.headers()).into_error());
        }
        let mut events = AnswerEvents::new(response.into_body(), &core.limits);
        let endpoint = loop {
            match events.next().await? {
                Some(event) if &event.name[..] == b"endpoint" => break event.data,
                Some(_) => {}
                None => return Err(Error::disconnected("the stream ended before its `endpoint` event")),
            }
        };
        let endpoint = resolve_endpoint(&core.url, &endpoint)?;
        let sse = Arc::new(Sse { core, endpoint, replies: Replies::new() });
        let reader = Arc::clone(&sse);
        sse.core.tasks.spawn(async move { reader.read(events).await });
        Ok(Self(Arc::new(ClientOwner::new(sse))))
    }

    /// Ends all work that this client started, and with its stream the session; calls in work fail.
    pub fn close(&self) {
        self.0.peer.replies.end();
        self.0.peer.core.tasks.abort_all();
    }
}

const MAX_ENDPOINT_BYTES: usize = 8 << 10;

fn resolve_endpoint(url: &Uri, endpoint: &[u8]) -> Result<Uri, Error> {
    let resolved = Some(endpoint)
        .filter(|endpoint| endpoint.len() <= MAX_ENDPOINT_BYTES)
        .and_then(|endpoint| std::str::from_utf8(endpoint).ok())
        .and_then(|endpoint| resolve(url, endpoint.trim()))
        .ok_or_else(|| Error::misbehaved("the server's endpoint is not a URL of HTTP"))?;
    if !same_origin(url, &resolved) {
        return Err(Error::misbehaved("the server's endpoint is of another origin"));
    }
    Ok(resolved)
}

impl<I: RpcService> Sse<I> {
    async fn read(self: Arc<Self>, mut events: AnswerEvents) {
        // The layer above knows the session and puts it into each message.
        let mut receiver = StreamReceiver::new(&self, None, ServerRequests::Allowed, IntakeOrder::Onward);
        loop {
            let event = match events.next().await {
                Ok(Some(event)) => event,
                Ok(None) => break tracing::debug!("the server ended the stream"),
                Err(error) => break tracing::warn!(%error, "the stream broke"),
            };
            if !event.is_message() {
                continue;
            }
            for message in messages(&event.data, &self.core.limits) {
                let Some(reply) = receiver.take(message).await else { continue };
                let settled = match reply.id {
                    Some(Id::Number(id)) => self.replies.settle(id, reply.outcome),
                    _ => false,
                };
                if !settled {
                    tracing::debug!("an answer came that nobody waits for");
                }
            }
        }
        self.replies.end();
    }

    async fn carry(&self, message: Vec<u8>) -> Result<(), Error> {
        let head = || Ok(self.core.post_headers.clone());
        let response = self
            .core
            .link
            .send(&HttpMethod::POST, &self.endpoint, self.core.to_post(message).into(), head)
            .await?;
        if !response.status().is_success() {
            return Err(body::refusal(response, &self.core.limits).await);
        }
        body::discard(response.into_body()).await;
        Ok(())
    }

    async fn call(self: &Arc<Self>, id: i64, request: &Request) -> Result<Response, Error> {
        let mut message = Vec::new();
        write_call(&mut message, &id.into(), &request.method, &request.params);
        let mut waiting = self.replies.wait(id)?;
        let mut take_back = (request.method != Method::INITIALIZE)
            .then(|| CancelOnDrop::new(self, id, request.context.session.as_ref()));
        let asking = async {
            let answer = waiting.answer();
            tokio::pin!(answer);
            // Some servers answer on the stream before they answer the POST.
            let outcome = tokio::select! {
                biased;
                outcome = &mut answer => outcome,
                carried = self.carry(message) => match carried {
                    Ok(()) => answer.await,
                    Err(error) => Err(error),
                },
            };
            if let Some(take_back) = &mut take_back {
                take_back.done();
            }
            Ok(outcome)
        };
        let outcome = self.core.followed.follow(id, request, &self.core.limits, asking).await;
        outcome.map(Response::new)
    }
}

impl<I: RpcService> MessageCarrier for Sse<I> {
    type Inbound = I;

    fn core(&self) -> &ClientCore<I> {
        &self.core
    }

    async fn post(&self, message: Vec<u8>, _: Option<&Arc<Session>>) -> Result<(), Error> {
        self.carry(message).await
    }

    fn is_awaited(&self, id: i64) -> bool {
        self.replies.is_awaited(id)
    }

    fn exchange(
        self: Arc<Self>,
        mut request: Request,
    ) -> impl Future<Output = Result<Response, Error>> + Send {
        let id = self.core.next_id();
        async move {
            if let Some(over) = self.core.followed.name(&mut request) {
                return over;
            }
            match request.kind {
                RequestKind::Call => self.call(id, &request).await,
                RequestKind::Notify => {
                    let mut message = Vec::new();
                    write_notification(&mut message, &request.method, &request.params);
                    self.core.in_time(self.carry(message)).await.map(|()| Response::empty())
                }
            }
        }
    }
}

mgp_types::partial_debug!([I] SseClient<I>, self => core: self.0.peer.core);

impl<I> Clone for SseClient<I> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<I: RpcService> Service<Request> for SseClient<I> {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        super::exchange(&self.0, request)
    }
}
