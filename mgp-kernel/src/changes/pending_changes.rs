//! The mailbox of a listener, which holds the changes that are still to be sent.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use mgp_types::{Method, Object, RawJson, Request};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::servers::upstream::ListKind;

/// The messages that one listener has still to get.
///
/// A change that waits already is not added again, and of messages that cannot be merged the oldest makes room. So a
/// listener that reads slowly costs a bounded amount of memory, and slows down only itself.
pub(super) struct PendingChanges {
    state: Mutex<PendingChangesState>,
    wake: Notify,
}

/// A message to a listener.
pub(super) enum ChangeMessage {
    /// A list of this kind changed.
    List(ListKind),
    /// The resource with this URI changed.
    Updated(Arc<str>),
    /// A message that is passed on as it is.
    Message(Box<Request>),
}

#[derive(Default)]
struct PendingChangesState {
    lists: BTreeSet<ListKind>,
    updated: BTreeSet<Arc<str>>,
    messages: VecDeque<Request>,
    lost: u64,
    delivery: Delivery,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// The changes may not be taken out yet.
    #[default]
    Held,
    /// Nobody delivers: the next one who adds a message has to start it.
    Idle,
    /// A task takes out the messages that wait.
    Running,
    /// The mailbox is closed: nothing is added any more.
    Closed,
}

impl PendingChanges {
    /// Returns a mailbox out of which nothing is taken before [`release`](Self::release).
    pub(super) fn held() -> Self {
        Self { state: Mutex::default(), wake: Notify::new() }
    }

    /// Adds a message. Returns whether the caller has to start delivering.
    pub(super) fn offer(&self, news: ChangeMessage) -> bool {
        let mut state = self.state.lock();
        if state.delivery == Delivery::Closed {
            return false;
        }
        match news {
            ChangeMessage::List(kind) => drop(state.lists.insert(kind)),
            ChangeMessage::Updated(uri) => state.updated(uri),
            ChangeMessage::Message(message) => state.message(*message),
        }
        let idle = state.delivery == Delivery::Idle;
        if idle {
            state.delivery = Delivery::Running;
        }
        drop(state);
        self.wake.notify_one();
        idle
    }

    /// Returns whether nothing may be taken out yet.
    pub(super) fn is_held(&self) -> bool {
        self.state.lock().delivery == Delivery::Held
    }

    /// Lets the messages that wait be taken out. Returns whether the caller has to start delivering.
    pub(super) fn release(&self) -> bool {
        let mut state = self.state.lock();
        if state.delivery != Delivery::Held {
            return false;
        }
        let is_waiting = state.is_waiting();
        state.delivery = if is_waiting { Delivery::Running } else { Delivery::Idle };
        is_waiting
    }

    /// Takes the next message, or returns `None` when nothing waits: then delivery is over.
    pub(super) fn take(&self) -> Option<Request> {
        let mut state = self.state.lock();
        let next = state.next();
        if state.delivery != Delivery::Closed {
            state.delivery = if next.is_some() { Delivery::Running } else { Delivery::Idle };
        }
        next
    }

    /// Waits for the next message; `None` once nothing waits and nothing will.
    ///
    /// # Cancel safety
    /// Dropping the future takes nothing out.
    pub(super) async fn next(&self) -> Option<Request> {
        loop {
            let wake = self.wake.notified();
            if let Some(next) = self.take() {
                return Some(next);
            }
            if self.state.lock().delivery == Delivery::Closed {
                return None;
            }
            wake.await;
        }
    }

    /// Closes the mailbox: only the messages that wait are still sent.
    pub(super) fn close(&self) {
        self.state.lock().delivery = Delivery::Closed;
        self.wake.notify_one();
    }
}

impl PendingChangesState {
    fn updated(&mut self, uri: Arc<str>) {
        if self.updated.len() < MAX_UPDATED || self.updated.contains(&uri) {
            self.updated.insert(uri);
        } else {
            // A client that has to look at so many resources may as well look at all of them.
            self.lists.insert(ListKind::Resources);
        }
    }

    fn message(&mut self, message: Request) {
        if self.messages.len() >= MAX_MESSAGES {
            self.messages.pop_front();
            self.lost += 1;
        }
        self.messages.push_back(message);
    }

    fn is_waiting(&self) -> bool {
        !self.lists.is_empty() || self.lost > 0 || !self.updated.is_empty() || !self.messages.is_empty()
    }

    fn next(&mut self) -> Option<Request> {
        if let Some(kind) = self.lists.pop_first() {
            return Some(Request::notify(kind.changed(), Object::new()));
        }
        if let Some(uri) = self.updated.pop_first() {
            let params = Object::from([("uri", RawJson::from_text(&uri))]);
            return Some(Request::notify(Method::RESOURCE_UPDATED, params));
        }
        let lost = std::mem::take(&mut self.lost);
        if lost > 0 {
            tracing::debug!(lost, "messages to a listener that reads too slowly were dropped");
        }
        self.messages.pop_front()
    }
}

const MAX_UPDATED: usize = 1024;
const MAX_MESSAGES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> PendingChanges {
        let mailbox = PendingChanges::held();
        assert!(!mailbox.release());
        mailbox
    }

    fn message(number: usize) -> Request {
        Request::notify("notifications/vendor", Object::parse(format!(r#"{{"n":{number}}}"#)).unwrap())
    }

    #[test]
    fn a_change_waits_once_however_often_it_happens() {
        let mailbox = open();
        assert!(mailbox.offer(ChangeMessage::List(ListKind::Tools)));
        assert!(!mailbox.offer(ChangeMessage::List(ListKind::Tools)), "somebody delivers already");
        assert!(!mailbox.offer(ChangeMessage::Updated("a".into())));
        assert_eq!(mailbox.take().unwrap().method, Method::TOOLS_CHANGED);
        let updated = mailbox.take().unwrap();
        assert_eq!(updated.params.text("uri").as_deref(), Some("a"));
        assert!(mailbox.take().is_none());
        assert!(mailbox.offer(ChangeMessage::List(ListKind::Tools)), "delivering has to start again");
    }

    #[test]
    fn nothing_is_delivered_before_it_is_released() {
        let mailbox = PendingChanges::held();
        assert!(!mailbox.offer(ChangeMessage::List(ListKind::Prompts)));
        assert!(mailbox.release());
        assert_eq!(mailbox.take().unwrap().method, Method::PROMPTS_CHANGED);
    }

    #[test]
    fn the_oldest_messages_make_room() {
        let mailbox = open();
        for number in 0..MAX_MESSAGES + 3 {
            mailbox.offer(ChangeMessage::Message(Box::new(message(number))));
        }
        assert_eq!(mailbox.take().unwrap().params.bytes("n"), Some(&b"3"[..]));
        assert_eq!(std::iter::from_fn(|| mailbox.take()).count(), MAX_MESSAGES - 1);
    }

    #[test]
    fn too_many_updates_become_a_change_of_the_list() {
        let mailbox = open();
        for number in 0..=MAX_UPDATED {
            mailbox.offer(ChangeMessage::Updated(number.to_string().into()));
        }
        assert_eq!(mailbox.take().unwrap().method, Method::RESOURCES_CHANGED);
        assert_eq!(std::iter::from_fn(|| mailbox.take()).count(), MAX_UPDATED);
    }
}
