//! Subscriptions to the changes at a server.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use mgp_types::mcp::{SubscriptionFilter, SubscriptionsListenParams, UnsubscribeParams};
use mgp_types::{BoxFuture, Error, Method, Request, Response, RpcService};

use crate::Client;
use crate::changes::{Change, SubscriptionSlot};

/// The changes that the server reports; a [`Stream`].
///
/// The stream ends when the server ends it, or after an error. Dropping it ends the subscription.
#[must_use = "changes arrive only while they are taken"]
pub struct Subscription<S: RpcService> {
    client: Client<S>,
    place: Arc<SubscriptionSlot>,
    /// The request whose answer ends the subscription, where there are no sessions.
    listening: Option<BoxFuture<'static, Result<Response, Error>>>,
    /// The resources to unsubscribe from at the end, in a session.
    uris: Vec<String>,
    ended: bool,
}

impl<S: RpcService> Client<S> {
    /// Asks for notifications of changes, in the same way in both eras.
    ///
    /// In a session, resources are subscribed to one by one, and the server reports changes of its lists anyway.
    /// Without sessions one request stays open for the changes.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub async fn subscribe(&self, filter: SubscriptionFilter) -> Result<Subscription<S>, Error> {
        let stateless = self.is_stateless();
        let uris = filter.resource_subscriptions.clone().unwrap_or_default();
        let place = self.shared.listeners.changes.open(filter.clone(), stateless);
        let mut subscription =
            Subscription { client: self.clone(), place, listening: None, uris: Vec::new(), ended: false };
        if stateless {
            subscription.listen(filter).await?;
            return Ok(subscription);
        }
        for uri in uris {
            self.subscribe_resource(uri.as_str()).await?;
            subscription.uris.push(uri);
        }
        Ok(subscription)
    }
}

impl<S: RpcService> Subscription<S> {
    /// Returns the next change; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Change, Error>> {
        std::future::poll_fn(|cx| self.poll_change(cx)).await
    }

    /// Returns the part of the filter that the server agreed to; `None` in a session, where the server does not tell.
    pub fn honoured(&self) -> Option<SubscriptionFilter> {
        self.place.honoured()
    }

    /// Ends the subscription.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn close(mut self) -> Result<(), Error> {
        self.listening = None;
        for uri in std::mem::take(&mut self.uris) {
            self.client.unsubscribe_resource(uri).await?;
        }
        Ok(())
    }

    /// Opens the request and waits until the server has acknowledged it.
    async fn listen(&mut self, filter: SubscriptionFilter) -> Result<(), Error> {
        let request = Request::with_body(Method::LISTEN, &SubscriptionsListenParams::new(filter))?;
        // An acknowledgement does not say what it acknowledges, so there is one to come at a time.
        let shared = Arc::clone(&self.client.shared);
        let _turn = shared.subscribing.lock().await;
        self.listening = Some(Box::pin(self.client.pass(request)));
        let timeout = self.client.shared.timeouts.0;
        let acknowledged = std::future::poll_fn(|cx| {
            if let Some(listening) = &mut self.listening
                && let Poll::Ready(outcome) = listening.as_mut().poll(cx)
            {
                self.listening = None;
                self.ended = true;
                return Poll::Ready(outcome.map(drop));
            }
            self.place.poll_acknowledged(cx).map(Ok)
        });
        tokio::time::timeout(timeout, acknowledged).await.unwrap_or_else(|_| {
            Err(Error::timeout("the server did not acknowledge the subscription in time"))
        })
    }

    pub(crate) fn poll_change(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Change, Error>>> {
        if let Some(change) = self.place.next(cx) {
            return Poll::Ready(Some(Ok(change)));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        let Some(listening) = &mut self.listening else {
            // In a session no request would fail with the connection.
            if !self.place.is_lost() {
                return Poll::Pending;
            }
            self.ended = true;
            return Poll::Ready(Some(Err(Error::disconnected("the connection is closed"))));
        };
        let Poll::Ready(outcome) = listening.as_mut().poll(cx) else { return Poll::Pending };
        self.listening = None;
        self.ended = true;
        // Changes that came before the end are still to be taken.
        match (self.place.next(cx), outcome) {
            (Some(change), _) => Poll::Ready(Some(Ok(change))),
            (None, Err(error)) if error.origin() != mgp_types::Origin::Cancelled => {
                Poll::Ready(Some(Err(error)))
            }
            (None, _) => Poll::Ready(None),
        }
    }
}

impl<S: RpcService + Unpin> Stream for Subscription<S> {
    type Item = Result<Change, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_change(cx)
    }
}

impl<S: RpcService> Drop for Subscription<S> {
    fn drop(&mut self) {
        self.client.shared.listeners.changes.close(&self.place);
        let uris = std::mem::take(&mut self.uris);
        // Outside of a runtime there is no connection left to notify.
        if let (false, Ok(runtime)) = (uris.is_empty(), tokio::runtime::Handle::try_current()) {
            let client = self.client.clone();
            // The task ends with its calls, each of which ends in time.
            runtime.spawn(async move {
                for uri in uris {
                    if let Err(error) = client.send(&UnsubscribeParams::new(uri)).await {
                        tracing::debug!(%error, "the subscription could not be ended");
                    }
                }
            });
        }
    }
}

mgp_types::partial_debug!([S: RpcService] Subscription<S>, self => ended: self.ended);
