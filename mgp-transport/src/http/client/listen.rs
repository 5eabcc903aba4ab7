//! Reading the streams that belong to no call: what a server sends unasked in a session, and all that it sends over
//! HTTP+SSE, the transport of revision 2024-11-05.

use std::sync::Arc;

use bytes::Bytes;
use http::Uri;
use mgp_types::{Error, Id, Origin, RpcService, Session};
use tokio::sync::oneshot;

use super::body::HttpStatus;
use super::core::ClientCore;
use super::events::{AnswerEvents, ReconnectBackoff, messages};
use super::head::HeaderEra;
use super::inbound::StreamReceiver;
use super::origin::{resolve, same_origin};
use super::sse::SseEvent;
use super::streamable::is_passing;
use crate::TooLong;
use crate::deliveries::PeerOutcome;

impl<I: RpcService> ClientCore<I> {
    /// Starts reading the messages that the server sends unasked, in place of an earlier reader.
    ///
    /// The receiver ends when the server has answered the first request for the stream, in whatever way: earlier
    /// messages may be lost.
    pub(super) fn listen(self: &Arc<Self>, session: &Arc<Session>) -> oneshot::Receiver<()> {
        let (answered, opened) = oneshot::channel();
        let peer = Arc::clone(self);
        let session = Arc::clone(session);
        let listener = self.tasks.spawn(async move {
            let error = peer.read_unasked(&session, answered).await;
            if let Some(404 | 405) = HttpStatus::of(&error).map(HttpStatus::code) {
                tracing::debug!("the server sends nothing unasked");
            } else {
                tracing::warn!(%error, "the server's unasked messages are no longer read");
            }
        });
        self.set_listener(listener);
        opened
    }

    /// Reads until the server refuses the stream; returns the refusal.
    async fn read_unasked(self: &Arc<Self>, session: &Arc<Session>, answered: oneshot::Sender<()>) -> Error {
        let mut answered = Some(answered);
        let era = HeaderEra::Session(session.revision);
        let mut receiver = StreamReceiver::new(self, Some(session), true);
        // The reader never gives up by itself: a network may be away for hours, and the wait has a bound.
        let mut pause = ReconnectBackoff::new(u32::MAX);
        let mut events: Option<AnswerEvents> = None;
        loop {
            let last_id = events.as_ref().and_then(AnswerEvents::last_id);
            let opened = self.open_stream(&era, last_id.as_ref()).await;
            drop(answered.take());
            match (opened, &mut events) {
                (Ok(body), Some(events)) => events.resume(body),
                (Ok(body), none) => *none = Some(AnswerEvents::new(body, &self.limits)),
                (Err(error), _) if is_passing(&error) => {}
                (Err(error), _) => return error,
            }
            if let Some(events) = &mut events
                && let Err(error) = self.drain(events, &mut receiver, &mut pause).await
            {
                return error;
            }
            let wait = pause.next(events.as_ref().and_then(AnswerEvents::retry));
            tokio::time::sleep(wait.unwrap_or_default()).await;
        }
    }

    /// Reads one stream to its end.
    async fn drain(
        &self,
        events: &mut AnswerEvents,
        receiver: &mut StreamReceiver<I>,
        pause: &mut ReconnectBackoff,
    ) -> Result<(), Error> {
        loop {
            let event = match events.next().await {
                Ok(Some(event)) => event,
                Ok(None) => return Ok(()),
                Err(error) if error.origin() == Origin::Connection => return Ok(()),
                // The message would come again if the stream were resumed in front of it.
                Err(error) if TooLong::of(&error).is_some() => {
                    tracing::warn!(%error, "a message of the server is lost");
                    events.forget();
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            pause.reset();
            self.hand_out(&event, receiver).await;
        }
    }

    /// Hands the messages of an event of a stream of no call to those who wait for them.
    async fn hand_out(&self, event: &SseEvent, receiver: &mut StreamReceiver<I>) {
        if !event.is_message() {
            return;
        }
        for message in messages(&event.data) {
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

    /// Opens the one stream of HTTP+SSE, which brings every message of the server, and takes the address of messages from
    /// its first event. The stream is the session: when it ends, every waiting call fails, and so does every later one.
    pub(super) async fn open_sse(mut self) -> Result<Arc<Self>, Error> {
        let mut events = AnswerEvents::new(self.open_stream(&HeaderEra::Sse, None).await?, &self.limits);
        let endpoint = loop {
            match events.next().await? {
                Some(event) if &event.name[..] == b"endpoint" => break event.data,
                Some(_) => {}
                None => return Err(Error::disconnected("the stream ended before its `endpoint` event")),
            }
        };
        self.endpoint = resolve_endpoint(&self.url, &endpoint)?;
        self.is_sse = true;
        let core = Arc::new(self);
        let reader = Arc::clone(&core);
        core.tasks.spawn(async move { reader.read_sse(events).await });
        Ok(core)
    }

    async fn read_sse(self: Arc<Self>, mut events: AnswerEvents) {
        // The layer above knows the session and puts it into each message. A slow notification does not delay the answers
        // behind it.
        let mut receiver = StreamReceiver::new(&self, None, true);
        loop {
            match events.next().await {
                Ok(Some(event)) => self.hand_out(&event, &mut receiver).await,
                Ok(None) => break tracing::debug!("the server ended the stream"),
                Err(error) => break tracing::warn!(%error, "the stream broke"),
            }
        }
        self.replies.end();
    }

    /// Sends a request and waits for its answer on the stream.
    pub(super) async fn ask_sse(&self, id: i64, message: Bytes) -> Result<PeerOutcome, Error> {
        let mut waiting = self.replies.wait(id)?;
        let answer = waiting.answer();
        tokio::pin!(answer);
        // Some servers answer on the stream before they answer the POST.
        tokio::select! {
            biased;
            outcome = &mut answer => Ok(outcome),
            delivered = self.deliver(message, || Ok(self.post_headers.clone()), false) => {
                delivered?;
                Ok(answer.await)
            }
        }
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
