//! The server's record of open questions, and of those answered lately.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::time::Duration;

use foldhash::quality::RandomState;
use mgp_types::{Error, RawJson, code};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::session::{SessionOwner, refused};

/// The questions that wait for their answers, and the questions answered lately.
#[derive(Debug, Default)]
pub(super) struct OpenCallbacks {
    waiting: HashMap<Box<str>, WaitingCallback, RandomState>,
    /// The oldest answers stand in front: all are remembered for the same time.
    answered: VecDeque<AnsweredCallback>,
    hasher: RandomState,
}

/// A question that waits for its answer.
pub(super) struct WaitingCallback {
    pub(super) owner: SessionOwner,
    pub(super) deadline: Instant,
    /// The function that tells whether an answer fits the question.
    pub(super) fits: Box<dyn Fn(&RawJson) -> bool + Send>,
    pub(super) asker: CallbackAsker,
}

/// The way of the answer to the call that asked. It must be used without a lock: the woken task may be any code, and may
/// ask and answer in turn.
pub(super) type CallbackAsker = oneshot::Sender<RawJson>;

#[derive(Debug)]
struct AnsweredCallback {
    id: Box<str>,
    owner: SessionOwner,
    /// The hash of the answer; `None` where any answer is as good.
    digest: Option<u64>,
    until: Instant,
}

/// The time for which an answer may come again.
const MEMORY: Duration = Duration::from_mins(10);

const MAX_ANSWERED: usize = 1024;

/// The number of questions that wait for one client at once.
const MAX_WAITING_OF_OWNER: usize = 64;

/// The number of questions that wait at once. Each is a call that waits, so that other limits bound them as well.
const MAX_WAITING: usize = 1024;

impl OpenCallbacks {
    /// Opens the question `id`.
    ///
    /// # Errors
    /// 3001 if as many are open as may be.
    pub(super) fn begin(&mut self, id: Box<str>, question: WaitingCallback) -> Result<(), Error> {
        let of_owner = self.waiting.values().filter(|waiting| waiting.owner == question.owner).count();
        if self.waiting.len() >= MAX_WAITING || of_owner >= MAX_WAITING_OF_OWNER {
            let message = "too many questions wait for an answer of this client";
            return Err(refused(code::RESOURCE_EXHAUSTED, message));
        }
        self.waiting.insert(id, question);
        Ok(())
    }

    /// Closes a question that no call waits for any more. The returned remains are to be dropped without a lock.
    #[must_use = "the remains are dropped after the lock"]
    pub(super) fn end(&mut self, id: &str) -> impl Sized + use<> {
        self.waiting.remove(id)
    }

    /// Returns whether the question still waits for an answer.
    pub(super) fn waits(&self, id: &str) -> bool {
        self.waiting.contains_key(id)
    }

    /// Takes an answer of `owner`, and returns whether it is accepted, or is the accepted one again: another answer may
    /// have come first. The first answer that fits comes with its way to the call that asked.
    ///
    /// # Errors
    /// -32602 if the answer does not fit the question, which stays open, or if no question of this id waits for an answer
    /// of this client. The question of another client is refused in the same words as one that never was.
    pub(super) fn answer(
        &mut self,
        owner: &SessionOwner,
        id: &str,
        response: &RawJson,
        now: Instant,
    ) -> Result<(bool, Option<CallbackAsker>), Error> {
        self.forget(now);
        let same = |answered: &&AnsweredCallback| *answered.id == *id && answered.owner == *owner;
        if let Some(answered) = self.answered.iter().find(same) {
            let is_same = answered.digest.is_none_or(|digest| digest == self.digest(response));
            return Ok((is_same, None));
        }
        let waiting = self.waiting.get(id);
        let waiting = waiting.filter(|waiting| waiting.owner == *owner && now < waiting.deadline);
        let waiting = waiting.ok_or_else(unknown)?;
        if !(waiting.fits)(response) {
            return Err(Error::invalid_params(
                "the response is none of the callback's options: send one of them as a text, letter by letter, \
                 or null for no answer",
            ));
        }
        if waiting.asker.is_closed() {
            return Err(unknown());
        }
        let asker = self.waiting.remove(id).map(|waiting| waiting.asker);
        let digest = self.digest(response);
        self.remember(id.into(), owner.clone(), Some(digest), now);
        Ok((true, asker))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> (usize, usize) {
        (self.waiting.len(), self.answered.len())
    }

    /// Hashes an answer, under a secret of this process. Answers may be large, so that a repeated answer is recognised
    /// by its hash.
    fn digest(&self, response: &RawJson) -> u64 {
        self.hasher.hash_one(response.as_bytes())
    }

    /// Remembers an answered question, or a callback that needs no answer and may get one all the same.
    pub(super) fn remember(&mut self, id: Box<str>, owner: SessionOwner, digest: Option<u64>, now: Instant) {
        self.forget(now);
        if self.answered.len() >= MAX_ANSWERED {
            self.answered.pop_front();
        }
        self.answered.push_back(AnsweredCallback { id, owner, digest, until: now + MEMORY });
    }

    fn forget(&mut self, now: Instant) {
        while self.answered.front().is_some_and(|oldest| oldest.until <= now) {
            self.answered.pop_front();
        }
    }
}

fn unknown() -> Error {
    Error::invalid_params(
        "no callback of this id waits for your response: it never was, was answered long ago, timed out, or its call \
         has ended",
    )
}

mgp_types::partial_debug!(WaitingCallback, self => deadline: self.deadline);

#[cfg(test)]
mod tests {
    use mgp_types::{Context, Principal};

    use super::*;

    fn owner(name: &str) -> SessionOwner {
        let mut context = Context::default();
        context.principal = Some(Principal::new(name));
        SessionOwner::of(&context)
    }

    fn later(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    /// Returns a question that any answer fits, and whose call waits for good.
    fn question(name: &str, deadline: Instant) -> WaitingCallback {
        let (asker, receiver) = oneshot::channel();
        std::mem::forget(receiver);
        WaitingCallback { owner: owner(name), deadline, fits: Box::new(|_| true), asker }
    }

    fn is_accepted(open: &mut OpenCallbacks, id: &str, response: &RawJson, now: Instant) -> bool {
        open.answer(&owner("a"), id, response, now).is_ok_and(|(accepted, _)| accepted)
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_asked_more_at_once_than_they_may_be() {
        let mut open = OpenCallbacks::default();
        for number in 0..MAX_WAITING_OF_OWNER {
            let id = number.to_string().into();
            open.begin(id, question("a", later(9))).unwrap();
        }
        let refused = open.begin("x".into(), question("a", later(9))).unwrap_err();
        assert_eq!(refused.code(), code::RESOURCE_EXHAUSTED);
        assert!(refused.recovery().unwrap().may_retry());
        open.begin("x".into(), question("b", later(9))).unwrap();
        drop(open.end("0"));
        open.begin("y".into(), question("a", later(9))).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn all_together_are_not_asked_more_than_there_is_room_for() {
        let mut open = OpenCallbacks::default();
        for number in 0..MAX_WAITING {
            let name = number.to_string();
            open.begin(name.clone().into(), question(&name, later(9))).unwrap();
        }
        let refused = open.begin("x".into(), question("x", later(9))).unwrap_err();
        assert_eq!(refused.code(), code::RESOURCE_EXHAUSTED);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_are_remembered_for_a_while_and_not_without_end() {
        let mut open = OpenCallbacks::default();
        let yes = RawJson::parse("true").unwrap();
        for number in 0..MAX_ANSWERED + 10 {
            let id: Box<str> = number.to_string().into();
            open.begin(id.clone(), question("a", later(9))).unwrap();
            assert!(is_accepted(&mut open, &id, &yes, Instant::now()));
        }
        assert_eq!(open.len(), (0, MAX_ANSWERED));
        assert!(!is_accepted(&mut open, "0", &yes, Instant::now()));
        assert!(is_accepted(&mut open, "10", &yes, Instant::now()));
        let past = Instant::now() + MEMORY;
        assert!(!is_accepted(&mut open, "10", &yes, past));
        assert_eq!(open.len(), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_in_the_last_moment_counts_and_one_after_it_does_not() {
        let mut open = OpenCallbacks::default();
        let (yes, deadline) = (RawJson::parse("true").unwrap(), later(9));
        open.begin("x".into(), question("a", deadline)).unwrap();
        assert!(!is_accepted(&mut open, "x", &yes, deadline));
        let before = deadline - Duration::from_nanos(1);
        assert!(is_accepted(&mut open, "x", &yes, before));
    }
}
