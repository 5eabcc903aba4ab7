//! The record of the scripted server: the messages that it saw and sent.

use std::collections::HashMap;

use serde_json::Value;
use tokio::time::Instant;

/// The record of the scripted server. A request is named by its session and its id there.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The calls that came, by their own numbers, each as often as it came.
    pub(crate) calls: HashMap<u64, Vec<Key>>,
    /// The messages that were fully written under the id of a call, in order.
    pub(crate) replies: HashMap<Key, Vec<Reply>>,
    /// The calls that were taken back.
    pub(crate) cancelled: HashMap<Key, Instant>,
    /// The requests of the server, and the number of answers to each.
    pub(crate) asked: HashMap<Key, (Instant, usize)>,
    /// Since when nothing more can come from the server.
    pub(crate) ended: HashMap<usize, Instant>,
    /// Since when the server does not read.
    pub(crate) deaf: HashMap<usize, Instant>,
    /// The time at which the client closed its side.
    pub(crate) left: HashMap<usize, Instant>,
}

pub(crate) type Key = (usize, i64);

/// Something that was written under the id of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply {
    pub(crate) at: Instant,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// A good answer, with its own number.
    Good { serial: usize },
    /// An error of the server.
    Error,
    /// A message that is no answer to a call.
    Bad,
}

impl Record {
    pub(crate) fn end(&mut self, session: usize) {
        self.ended.entry(session).or_insert_with(Instant::now);
    }

    /// Returns the numbers and ids of the calls of a session that came and have no answer yet.
    pub(crate) fn open(&self, session: usize) -> impl Iterator<Item = (u64, i64)> {
        let calls = self.calls.iter().flat_map(|(nonce, keys)| keys.iter().map(|key| (*nonce, *key)));
        calls
            .filter(move |(_, key)| {
                key.0 == session && !self.replies.contains_key(key) && !self.cancelled.contains_key(key)
            })
            .map(|(nonce, (_, id))| (nonce, id))
    }
}

/// Returns the id of a message as a number, which all ids in these tests are.
pub(crate) fn id(message: &Value) -> Option<i64> {
    message["id"].as_i64()
}
