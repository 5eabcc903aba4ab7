//! The responder's record of the questions that servers asked lately, and of the answers.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use foldhash::quality::RandomState;
use mgp_types::mgp::{CallbackRequest, ServerId};
use mgp_types::{RawJson, Session, StreamId};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::session::SessionKey;

/// The questions that servers asked lately, and their answers.
#[derive(Debug, Default)]
pub(super) struct CallbackHistory {
    servers: HashMap<ServerId, HashMap<Box<str>, CallbackEntry, RandomState>, RandomState>,
    /// The count of entries so far.
    entries: u64,
}

/// One arrival of a question.
#[derive(Debug)]
pub(super) struct Occurrence {
    session: SessionKey,
    stream: StreamId,
    digest: u64,
    bytes: usize,
    /// The time at which the server stops waiting.
    end: Instant,
}

/// A question that was asked.
#[derive(Debug)]
pub(super) struct CallbackEntry {
    pub(super) number: u64,
    asked: Occurrence,
    answer: Option<RawJson>,
    /// The tasks that work on the answer and deliver it.
    pub(super) tasks: JoinSet<()>,
}

/// The state of a question that arrives.
pub(super) enum CallbackState<'a> {
    /// The question is new.
    New(&'a mut CallbackEntry),
    /// The question has this answer.
    Answered(&'a mut CallbackEntry, RawJson),
    /// A handler works on the question, its answer is being delivered, or there will be no answer.
    Busy,
    /// There is no room for the question.
    Full,
}

/// The time for which a question is remembered after its end.
const MEMORY: Duration = Duration::from_mins(10);

/// The number of deliveries of one answer at once.
const MAX_DELIVERIES: usize = 4;

/// The number of questions of one server that are remembered.
const MAX_KNOWN: usize = 256;

/// The bytes of the open questions of one server together.
const MAX_BYTES_IN_WORK: usize = 8 << 20;

/// The number of questions of one server that are open at once.
const MAX_IN_WORK: usize = 64;

impl CallbackHistory {
    /// Notes that `server` asked the question `id`, and returns its state.
    pub(super) fn note(
        &mut self,
        server: &ServerId,
        id: &str,
        asked: Occurrence,
        now: Instant,
    ) -> CallbackState<'_> {
        self.forget(now);
        let entries = self.servers.entry(server.clone()).or_default();
        if let Some(entry) = entries.get(id)
            && asked.repeats(&entry.asked)
        {
            let entry = entries.get_mut(id).expect("the entry was found under the same lock");
            return match entry.answer.clone() {
                Some(answer) if entry.tasks.len() < MAX_DELIVERIES => CallbackState::Answered(entry, answer),
                _ => CallbackState::Busy,
            };
        }
        // The id may stand for an older question that is over.
        entries.remove(id);
        let in_work = entries.values().filter(|entry| !entry.tasks.is_empty());
        let (questions, bytes) =
            in_work.fold((0, 0), |(questions, bytes), entry| (questions + 1, bytes + entry.asked.bytes));
        if questions >= MAX_IN_WORK || bytes + asked.bytes > MAX_BYTES_IN_WORK {
            return CallbackState::Full;
        }
        if entries.len() >= MAX_KNOWN {
            let idle = entries.iter().filter(|(_, entry)| entry.tasks.is_empty());
            if let Some(oldest) = idle.min_by_key(|(_, entry)| entry.asked.end).map(|(id, _)| id.clone()) {
                entries.remove(&oldest);
            }
        }
        self.entries += 1;
        let entry = CallbackEntry { number: self.entries, asked, answer: None, tasks: JoinSet::new() };
        CallbackState::New(entries.entry(id.into()).or_insert(entry))
    }

    /// Records the answer to a question. Returns whether the question is still open: the id may stand for another
    /// question by now, which this does not answer.
    pub(super) fn answered(&mut self, server: &ServerId, id: &str, number: u64, answer: &RawJson) -> bool {
        let entry = self.servers.get_mut(server).and_then(|entries| entries.get_mut(id));
        let Some(entry) = entry.filter(|entry| entry.number == number) else { return false };
        entry.answer = Some(answer.clone());
        true
    }

    pub(super) fn len(&self) -> usize {
        self.servers.values().map(HashMap::len).sum()
    }

    fn forget(&mut self, now: Instant) {
        self.servers.retain(|_, entries| {
            entries.retain(|_, entry| {
                while entry.tasks.try_join_next().is_some() {}
                now < entry.asked.end + MEMORY
            });
            !entries.is_empty()
        });
    }
}

impl Occurrence {
    /// Creates the record of an arrival. Of the question only a hash is kept, under a secret of this process.
    pub(super) fn new(
        request: &CallbackRequest,
        session: &Arc<Session>,
        stream: StreamId,
        hasher: &RandomState,
        end: Instant,
    ) -> Self {
        let question = request.to_params().to_raw();
        let (digest, bytes) = (hasher.hash_one(question.as_bytes()), question.as_bytes().len());
        Self { session: SessionKey::of(session), stream, digest, bytes, end }
    }

    /// Returns whether this is `earlier` again. Servers number their callbacks from one again after a restart, and some
    /// for each call. The call may be over when a repeated question comes.
    fn repeats(&self, earlier: &Self) -> bool {
        self.digest == earlier.digest
            && self.session == earlier.session
            && (self.stream == earlier.stream || self.stream == StreamId::STANDALONE)
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::Revision;
    use mgp_types::mgp::CallbackType;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_comes_after_its_id_was_taken_is_not_recorded() {
        let (mut book, hasher, server) =
            (CallbackHistory::default(), RandomState::default(), ServerId::from("s"));
        let (session, now) = (Arc::new(Session::new(Revision::LATEST)), Instant::now());
        let note = |book: &mut CallbackHistory, message: &str| {
            let request = CallbackRequest::new("cb-1", CallbackType::Confirmation, message);
            let asked = Occurrence::new(&request, &session, StreamId::STANDALONE, &hasher, now + MEMORY);
            match book.note(&server, "cb-1", asked, now) {
                CallbackState::New(entry) => Some(entry.number),
                _ => None,
            }
        };
        let yes = RawJson::parse("true").unwrap();
        let file = note(&mut book, "Delete a file?").unwrap();
        let everything = note(&mut book, "Delete everything?").unwrap();
        assert!(!book.answered(&server, "cb-1", file, &yes));
        assert!(book.answered(&server, "cb-1", everything, &yes));
        assert_eq!(note(&mut book, "Delete everything?"), None);
    }
}
