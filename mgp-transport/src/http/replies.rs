//! The callers whose answers come on streams that others read.

use std::collections::HashMap;

use mgp_types::{Error, code};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::deliveries::PeerOutcome;

/// The callers whose answers come on a stream that others read.
#[derive(Debug)]
pub(super) struct Replies {
    /// The waiting callers by request id; `None` once the stream has ended.
    waiting: Mutex<Option<HashMap<i64, oneshot::Sender<PeerOutcome>>>>,
    /// The number of callers that may wait at once.
    most: usize,
    /// The message of the error for callers whose answers will not come any more.
    ended: &'static str,
}

/// A caller that waits for one answer.
#[derive(Debug)]
pub(super) struct WaitingReply<'a> {
    replies: &'a Replies,
    id: i64,
    answer: oneshot::Receiver<PeerOutcome>,
}

impl Replies {
    pub(super) fn new(most: usize, ended: &'static str) -> Self {
        Self { waiting: Mutex::new(Some(HashMap::new())), most, ended }
    }

    /// Registers a caller for the answer to request `id`.
    pub(super) fn wait(&self, id: i64) -> Result<WaitingReply<'_>, Error> {
        let (sender, answer) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        let waiting = waiting.as_mut().ok_or_else(|| Error::disconnected(self.ended))?;
        if waiting.len() >= self.most {
            return Err(Error::new(code::RESOURCE_EXHAUSTED, "too many questions are open"));
        }
        waiting.insert(id, sender);
        Ok(WaitingReply { replies: self, id, answer })
    }

    /// Returns whether a caller waits for the answer to request `id`.
    pub(super) fn is_awaited(&self, id: i64) -> bool {
        self.waiting.lock().as_ref().is_some_and(|waiting| waiting.contains_key(&id))
    }

    /// Hands an answer to its caller; returns whether there was one.
    pub(super) fn settle(&self, id: i64, outcome: PeerOutcome) -> bool {
        let sender = self.waiting.lock().as_mut().and_then(|waiting| waiting.remove(&id));
        sender.is_some_and(|sender| sender.send(outcome).is_ok())
    }

    /// Fails all callers, because no answer will come any more.
    pub(super) fn end(&self) {
        let waiting = self.waiting.lock().take();
        drop(waiting);
    }
}

impl WaitingReply<'_> {
    /// Waits for the answer.
    pub(super) async fn answer(&mut self) -> PeerOutcome {
        (&mut self.answer).await.unwrap_or_else(|_| Err(Error::disconnected(self.replies.ended)))
    }
}

impl Drop for WaitingReply<'_> {
    fn drop(&mut self) {
        let forgotten = self.replies.waiting.lock().as_mut().and_then(|waiting| waiting.remove(&self.id));
        drop(forgotten);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_no_more_is_forgotten() {
        let replies = Replies::new(1, "over");
        drop(replies.wait(1).unwrap());
        assert!(replies.waiting.lock().as_ref().unwrap().is_empty());
    }
}
