use std::sync::{Arc, Weak};

use mgp_types::{Method, Object, Outbox, Request};

use super::feed::Feed;
use super::registry::{Attachment, Registry};
use crate::owner::SessionKey;

/// How events reach their client.
#[derive(Debug)]
pub(super) enum Way {
    /// On the session, for as long as it lasts.
    Session(SessionKey),
    /// On the stream of a request that listens.
    Stream(Outbox),
}

/// Sends the events of `feed` after number `seq` in order, until the way ends.
///
/// It holds no event but the one that it sends: one that falls behind finds the next that is still kept, and the client
/// sees by the numbers what it has not got.
pub(super) async fn pump(
    feed: Arc<Feed>,
    way: Way,
    mut seq: u64,
    attachment: Attachment,
    registry: Weak<Registry>,
) {
    loop {
        let event = feed.next_after(seq).await;
        seq = event.seq.unwrap_or(seq);
        let Ok(params) = Object::from_value(&event) else { continue };
        //= mgp §13.3
        //# After subscription, the server emits events as notifications
        let notification = Request::notify(Method::EVENT, params);
        let sent = match &way {
            Way::Session(session) => match session.session() {
                Some(session) => session.outbox.notify(notification).await.is_ok(),
                None => false,
            },
            Way::Stream(outbox) => outbox.notify(notification).await.is_ok(),
        };
        if !sent {
            break;
        }
    }
    if let Some(registry) = registry.upgrade() {
        registry.detach(&attachment);
    }
}
