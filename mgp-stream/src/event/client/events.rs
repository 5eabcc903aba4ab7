//! The client's stream of the events of one subscription.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use mgp_types::mgp::{
    EventReplay, EventReplayed, EventSubscribe, EventSubscribed, EventUnsubscribe, EventUnsubscribed, method,
};
use mgp_types::{BoxFuture, Error, Request, Response, RpcService, call_once, code};
use serde::Serialize;
use tokio::time::Sleep;

use super::subscriber::Inbox;
use super::{EventItem, EventReplayRequest, Subscriber};

/// The events of one subscription, in order and each once, as a stream that does not end.
///
/// Missing events are asked for while the stream is read; when the connection fails, again after a time that grows.
/// [`unsubscribe`](Self::unsubscribe) ends the subscription at the server; if the stream is dropped, the [`Subscriber`] ends the subscription once another event arrives.
#[must_use = "events are only asked for while the stream is read"]
pub struct Events<S> {
    service: S,
    subscriber: Subscriber,
    wanted: EventSubscribe,
    answer: EventSubscribed,
    inbox: Arc<Inbox>,
    asking: Option<(EventReplayRequest, BoxFuture<'static, Result<Response, Error>>)>,
    poll_every: Option<Duration>,
    /// The time to ask again: after a failure for anything, otherwise for events that are not pushed.
    wait: Option<Pin<Box<Sleep>>>,
    failures: u32,
    is_gone: bool,
    /// Set once the server said that it ended the subscription on request.
    is_ended: bool,
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);

impl<S: RpcService> Events<S> {
    pub(super) fn new(
        service: S,
        subscriber: Subscriber,
        mut wanted: EventSubscribe,
        answer: EventSubscribed,
        inbox: Arc<Inbox>,
    ) -> Self {
        (wanted.subscription_id, wanted.after_seq) = (None, None);
        Self {
            service,
            subscriber,
            wanted,
            answer,
            inbox,
            asking: None,
            poll_every: None,
            wait: None,
            failures: 0,
            is_gone: false,
            is_ended: false,
        }
    }

    /// Sets the interval in which new events are asked for, for a server that has no way to push them.
    pub fn polled(mut self, every: Duration) -> Self {
        self.poll_every = Some(every);
        self
    }

    /// Returns the answer of the server to the opened or resumed subscription: the subscribed and the unsupported
    /// channels, and all channels there are.
    pub const fn answer(&self) -> &EventSubscribed {
        &self.answer
    }

    /// Returns the request that resumes the subscription on another connection, or opens it again if it is gone.
    pub fn resuming(&self) -> EventSubscribe {
        if self.is_gone {
            return self.wanted.clone();
        }
        let after_seq = self.inbox.with(|assembly| assembly.after_seq());
        self.wanted.clone().resuming(self.answer.subscription_id.clone(), after_seq)
    }

    /// Ends the subscription. Returns whether the server still had it.
    ///
    /// # Errors
    /// The server refuses, or cannot be reached.
    pub async fn unsubscribe(mut self) -> Result<bool, Error> {
        let asked = EventUnsubscribe::new(self.answer.subscription_id.clone());
        let answer = ask(self.service.clone(), method::EVENTS_UNSUBSCRIBE, &asked).await?;
        self.is_ended = true;
        Ok(answer.body::<EventUnsubscribed>()?.unsubscribed)
    }

    /// Asks the next question, if there is one, and returns whether there was.
    fn begin_to_ask(&mut self, cx: &mut Context<'_>) -> bool {
        let waiting = self.wait.as_mut().is_some_and(|wait| wait.as_mut().poll(cx).is_pending());
        if self.is_gone || (waiting && self.failures > 0) {
            return false;
        }
        let is_due = self.poll_every.is_some() && !waiting;
        let question = self
            .inbox
            .with(|assembly| assembly.question().or_else(|| assembly.poll_question().filter(|_| is_due)));
        let Some(question) = question else { return false };
        let asked = EventReplay::new(self.answer.subscription_id.clone(), question.after_seq)
            .with_limit(question.limit);
        let service = self.service.clone();
        let answer = async move { ask(service, method::EVENTS_REPLAY, &asked).await };
        self.asking = Some((question, Box::pin(answer)));
        true
    }

    fn answered(&mut self, question: EventReplayRequest, answer: Result<EventReplayed, Error>) {
        self.wait = None;
        match answer {
            Ok(answer) => {
                self.failures = 0;
                let is_polled = self.poll_every.is_some();
                self.inbox.with(|assembly| {
                    // Otherwise the events are on their way.
                    if is_polled {
                        assembly.expect(answer.last_seq);
                    }
                    assembly.replayed(question, answer);
                });
                self.wait = self.poll_every.map(|every| Box::pin(tokio::time::sleep(every)));
            }
            Err(error) if error.code() == code::RESOURCE_NOT_FOUND => self.end(),
            // The server cannot send events again; some answer an unknown method as if its parameters were wrong.
            Err(error)
                if matches!(error.code(), code::METHOD_NOT_FOUND | code::INVALID_PARAMS)
                    && self.poll_every.is_none() =>
            {
                self.inbox.with(|assembly| assembly.lose_to(question.until));
            }
            Err(error) => {
                tracing::debug!(%error, "events were not sent again");
                self.failures = self.failures.saturating_add(1);
                let pause = FIRST_PAUSE * 2_u32.pow((self.failures - 1).min(6));
                self.wait = Some(Box::pin(tokio::time::sleep(pause)));
            }
        }
    }

    /// Notes that the server does not know the subscription any more.
    fn end(&mut self) {
        self.subscriber.forget(&self.answer.subscription_id, &self.inbox);
        if !std::mem::replace(&mut self.is_gone, true) {
            self.inbox.with(super::EventAssembly::end);
        }
    }
}

impl<S: RpcService> Stream for Events<S> {
    type Item = EventItem;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<EventItem>> {
        let this = self.get_mut();
        this.is_gone |= this.inbox.with(|assembly| assembly.is_over());
        loop {
            if let Some(item) = this.inbox.pop(cx) {
                return Poll::Ready(Some(item));
            }
            if let Some((question, asking)) = &mut this.asking {
                let answer = ready!(asking.as_mut().poll(cx));
                let question = *question;
                this.asking = None;
                this.answered(question, answer.and_then(|answer| answer.body()));
            } else if !this.begin_to_ask(cx) {
                return Poll::Pending;
            }
        }
    }
}

/// The stream is `Unpin` because the service is never pinned, and pinned parts are boxed.
impl<S> Unpin for Events<S> {}

impl<S> Drop for Events<S> {
    fn drop(&mut self) {
        if self.is_gone || self.is_ended {
            self.subscriber.forget(&self.answer.subscription_id, &self.inbox);
        } else {
            self.subscriber.leave(&self.answer.subscription_id, &self.inbox);
        }
    }
}

mgp_types::partial_debug!([S] Events<S>, self => answer: self.answer, inbox: self.inbox);

/// Makes one call.
pub(super) async fn ask<S: RpcService, T: Serialize>(
    service: S,
    method: &'static str,
    params: &T,
) -> Result<Response, Error> {
    call_once(service, Request::with_body(method, params)?).await
}
