//! Requests that listen for events (`subscriptions/listen`).

use std::sync::Arc;

use mgp_types::mgp::EventSubscribe;
use mgp_types::{BoxFuture, Error, Method, Object, Outbox, OutboxPort, RawJson, Request, Response, StreamId};
use parking_lot::Mutex;

use super::feed::EventRoute;
use super::registry::{FeedAttachment, SubscriptionCaller, SubscriptionRegistry};
use super::terms::Terms;

/// A request that listens for events. Dropping this value ends the sending; the subscription stays and can be resumed.
pub struct ListeningRequest {
    acknowledgement: Arc<Acknowledgement>,
    is_new: bool,
}

const NOTIFICATIONS: &str = "notifications";

/// Opens the subscription that a `subscriptions/listen` asks for, if it asks for one, and takes the wish out of the
/// request: inner services do not see it.
pub(super) fn open(
    registry: &Arc<SubscriptionRegistry>,
    request: &mut Request,
) -> Result<Option<ListeningRequest>, Error> {
    let Some(mut filter) = request.params.object(NOTIFICATIONS) else {
        return Ok(None);
    };
    let Some(wish) = filter.remove(EventSubscribe::LISTEN_MEMBER) else { return Ok(None) };
    if !request.context.outbox.is_open() {
        return Ok(None);
    }
    let wish = Object::from_raw(&wish).map_err(|error| Error::invalid_params(error.to_string()))?;
    let (asked, terms) = Terms::read(&wish, request.context.session()?)?;
    let holder = EventRoute::Stream(request.context.outbox.clone());
    let opened = registry.open(SubscriptionCaller::of(request)?, &asked, terms, Some(holder))?;
    let answer = opened.terms.write_answer(&opened.answer, true)?;
    let outbox = std::mem::take(&mut request.context.outbox);
    let stream = outbox.stream();
    let acknowledgement = Arc::new(Acknowledgement {
        registry: Arc::clone(registry),
        attachment: opened.attachment,
        after_seq: opened.after_seq,
        outbox,
        answer: Mutex::new(Some(answer)),
    });
    request.context.outbox = Outbox::new(acknowledgement.clone(), stream);
    request.params.set(NOTIFICATIONS, filter.to_raw());
    Ok(Some(ListeningRequest { acknowledgement, is_new: asked.subscription_id.is_none() }))
}

mgp_types::partial_debug!(ListeningRequest);

impl Drop for ListeningRequest {
    fn drop(&mut self) {
        let Acknowledgement { registry, attachment, answer, .. } = &*self.acknowledgement;
        let unacknowledged = answer.lock().take().is_some();
        match attachment {
            // The client never learned the name of the subscription.
            Some(attachment) if self.is_new && unacknowledged => registry.withdraw(attachment),
            Some(attachment) => registry.detach(attachment),
            None => {}
        }
    }
}

/// The part of an acknowledgement that is about events.
struct Acknowledgement {
    registry: Arc<SubscriptionRegistry>,
    attachment: Option<FeedAttachment>,
    after_seq: u64,
    outbox: Outbox,
    /// The answer, taken by the acknowledgement and by the end of the request: nothing is sent after either.
    answer: Mutex<Option<RawJson>>,
}

impl Acknowledgement {
    /// Sends the acknowledgement with the answer in it, and then events: the acknowledgement is the first message of
    /// its stream.
    async fn send(&self, mut notification: Request, answer: RawJson) -> Result<(), Error> {
        let honoured = notification.params.object_mut_or_new(NOTIFICATIONS);
        honoured.set(EventSubscribe::LISTEN_MEMBER, answer);
        self.outbox.notify(notification).await?;
        if let Some(attachment) = self.attachment.clone() {
            self.registry.start(attachment, self.after_seq);
        }
        Ok(())
    }
}

/// The outbox of a request that listens: the acknowledgement takes the answer with it.
impl OutboxPort for Acknowledgement {
    fn notify(&self, _: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method == Method::ACKNOWLEDGED
            && let Some(answer) = self.answer.lock().take()
        {
            return Box::pin(self.send(notification, answer));
        }
        Box::pin(self.outbox.notify(notification))
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(self.outbox.call(request))
    }
}
