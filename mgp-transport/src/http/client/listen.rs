//! Reading the messages that a server sends unasked in a session.

use std::sync::Arc;

use mgp_types::{Error, Id, Origin, RpcService, Session};
use tokio::sync::oneshot;

use super::core::ClientCore;
use super::events::{AnswerEvents, messages};
use super::head::HeaderEra;
use super::inbound::StreamReceiver;
use super::reconnect_backoff::ReconnectBackoff;
use super::sse::SseEvent;
use super::status::HttpStatus;
use super::streamable::is_passing;
use crate::TooLong;

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
        let earlier = std::mem::replace(&mut *self.listener.lock(), listener);
        if let Some(earlier) = earlier {
            earlier.abort();
        }
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
    pub(super) async fn hand_out(&self, event: &SseEvent, receiver: &mut StreamReceiver<I>) {
        if !event.is_message() {
            return;
        }
        for message in messages(&event.data, &self.limits) {
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
}
