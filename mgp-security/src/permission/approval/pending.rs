//! The queue of questions that wait for operators.

mod asking;
mod settling;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mgp_types::canonical::digest;
use mgp_types::mgp::{
    Actor, AuditEvent, AuditTarget, Decision, EventType, Outcome, RiskLevel, Timestamp, TraceId, code,
};
use mgp_types::{Error, Principal, RawJson, agent_family};
use parking_lot::Mutex;
use tokio::sync::watch;

pub use self::asking::ApprovalWatch;
use self::asking::ApprovalWatchers;
use super::super::store::QuestionStore;
use super::super::{GrantBook, ScopeCheck, check_operator};
use super::waiting::ApprovalRow;
use super::{ApprovalAnswer, ApprovalId, ApprovalQuestion, ApprovalSubject, PendingApproval};
use crate::{Clock, StoreError};
use mgp_store::{Database, off_the_runtime};

/// The queue of the questions that wait for an operator, who sees them in a list and decides. Clones share it.
///
/// A server's need to operate is one question, however many callers wait for the answer, and so is an agent's need
/// for the same call. A question outlives its caller, until it is answered or its time is over; a caller that asks
/// the same again finds the question or its answer. An approval of a call, or of a permission for one call, lets one
/// such call through.
///
/// The number of questions is bounded by what a person may read, and neither one agent by its calls nor one server by
/// its needs can take up all of it; the clients of the user, whose names nothing proves, have a share together. When one of them exceeds its share, its oldest question for which nobody waits
/// makes room.
///
/// Kernels that share the database share the questions: one that is asked at one kernel is answered at any, once, and wakes
/// the callers that wait for it at all of them; an approval of a call lets one call through at one of them.
#[derive(Debug, Clone)]
pub struct PendingApprovals(Arc<PendingApprovalsInner>);

#[derive(Debug)]
struct PendingApprovalsInner {
    open: Mutex<OpenApprovals>,
    /// The number of times that something was asked.
    asked: watch::Sender<u64>,
    watched: Arc<ApprovalWatchers>,
    /// The book for answers that hold for more than the call that caused them.
    book: GrantBook,
    /// The store for questions whose callers may no longer wait, so that they outlive the process.
    store: QuestionStore,
    /// A lock that is held while the store is read or written, so that the questions in memory are those of the store.
    writing: Mutex<()>,
    denied_for: Duration,
    clock: Clock,
    /// The address under which a page shows each question by its id.
    page: OnceLock<String>,
}

#[derive(Debug, Default)]
struct OpenApprovals {
    /// The questions in the order in which they were asked.
    rows: BTreeMap<u64, ApprovalRow>,
    /// The ids and stored forms of questions that still have to be removed from the store.
    gone: Vec<(ApprovalId, String)>,
}

impl PendingApprovals {
    /// Opens the queue with the questions in `database`, which keeps further ones, too. Answers that hold for more than
    /// one call are entered into `book`, so that they count even if nobody waits for them any more. A denial holds for
    /// `denied_for` unless the operator sets its end; this also applies to denials given in front of clients.
    ///
    /// # Errors
    /// Fails if the store cannot be read, or if it holds something other than questions.
    pub fn open(
        database: Database,
        book: GrantBook,
        denied_for: Duration,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        let queue = Self(Arc::new(PendingApprovalsInner {
            open: Mutex::default(),
            asked: watch::Sender::new(0),
            watched: Arc::default(),
            book,
            store: QuestionStore::new(database)?,
            writing: Mutex::default(),
            denied_for,
            clock,
            page: OnceLock::new(),
        }));
        queue.merge()?;
        Ok(queue)
    }

    /// Names the address under which a page shows each question by its id, for the links to questions. Only the first
    /// address counts.
    pub fn set_page(&self, address: String) {
        let _ = self.0.page.set(address);
    }

    /// Returns the link to the question `id`, where a page is served.
    pub fn link(&self, id: &ApprovalId) -> Option<String> {
        self.0.page.get().map(|page| format!("{page}{}", id.as_str()))
    }

    /// Returns the open questions, the oldest first.
    pub fn list(&self) -> Vec<PendingApproval> {
        self.shown(|shown| shown.answer.is_none())
    }

    /// Returns the questions whose answers wait until the same is asked again, the oldest first.
    pub fn answered(&self) -> Vec<PendingApproval> {
        self.shown(|shown| shown.waiting_answer().is_some())
    }

    fn shown(&self, is_wanted: impl Fn(&PendingApproval) -> bool) -> Vec<PendingApproval> {
        self.swept().rows.values().map(|row| &row.shown).filter(|shown| is_wanted(shown)).cloned().collect()
    }

    /// Returns the question `id`, if it is open or its answer waits until the same is asked again.
    pub fn find(&self, id: &ApprovalId) -> Option<PendingApproval> {
        self.shown(|shown| shown.id == *id).pop()
    }

    /// Returns a receiver that is woken when something is asked.
    pub fn asked(&self) -> watch::Receiver<u64> {
        self.0.asked.subscribe()
    }

    /// Registers a watcher of the questions, until the returned value is dropped.
    pub fn watch(&self) -> ApprovalWatch {
        self.0.watched.begin()
    }

    /// Lets `operator` answer the question `id`. The first answer counts; once it is [forgotten](Self::forget), the same is a
    /// new question.
    ///
    /// # Errors
    /// Fails if the principal is not an operator or the answer is not theirs (1000), if its scope cannot be checked
    /// (-32602), if it is for several calls or with other arguments and its question is not about a call that allows that
    /// (-32602), if there is no such question any more (4004), if it has an answer already (-32600), or if the decision cannot be recorded.
    ///
    /// # Cancel safety
    /// A decision that has begun is made.
    pub async fn decide(
        &self,
        operator: &Principal,
        id: &ApprovalId,
        answer: &ApprovalAnswer,
    ) -> Result<(), Error> {
        check_operator(operator)?;
        if answer.approver != *operator {
            return Err(Error::new(code::PERMISSION_DENIED, "nobody answers in another's name"));
        }
        if let Some(other) = self.find(id).and_then(|question| question.answer) {
            return Err(decided(&other));
        }
        // A scope that cannot be checked is reported to the operator, not to the waiting caller.
        if let Some(scope) = &answer.terms.scope {
            ScopeCheck::new(scope).map_err(|error| Error::invalid_params(error.to_string()))?;
        }
        if answer.max_uses != 1 {
            self.check_batch(id, answer.max_uses)?;
        }
        if let Some(edited) = &answer.arguments {
            let event = self.edit(id, answer, edited)?;
            self.0.book.record(event).await?;
        }
        let (queue, id, answer) = (self.clone(), id.clone(), self.with_end(answer.clone()));
        let deciding = tokio::spawn(async move {
            let settling = queue.clone();
            let ruling = off_the_runtime(move || Ok(settling.settle(&id, answer))).await??;
            queue.keep_if_possible().await;
            match ruling {
                Some(ruling) => queue.0.book.rule(ruling).await,
                None => Ok(()),
            }
        });
        let lost = |panic| Err(Error::internal("the question was not decided").with_source(panic));
        deciding.await.unwrap_or_else(lost)
    }

    /// Checks that a question may be answered for several calls at once.
    fn check_batch(&self, id: &ApprovalId, max_uses: u32) -> Result<(), Error> {
        let Some(PendingApproval { subject, .. }) = self.find(id) else { return Err(unknown()) };
        match subject {
            ApprovalSubject::Call { risk, .. } if risk >= RiskLevel::Dangerous => Err(Error::invalid_params(
                "the call is dangerous: approve each such call by itself, for one use",
            )),
            ApprovalSubject::Call { .. } if (1..=MAX_USES).contains(&max_uses) => Ok(()),
            ApprovalSubject::Call { .. } => {
                Err(Error::invalid_params(format!("a call is approved for 1 to {MAX_USES} uses")))
            }
            ApprovalSubject::Permission { .. } => Err(Error::invalid_params(
                "a permission has no number of uses: approve it once, for the session, or until a time",
            )),
        }
    }

    /// Returns the event that records an approval with edited arguments: the digests of both versions.
    ///
    /// # Errors
    /// Fails if the question is not about a call that can be edited, or if the edit is not an object for one call.
    fn edit(&self, id: &ApprovalId, answer: &ApprovalAnswer, edited: &RawJson) -> Result<AuditEvent, Error> {
        let Some(PendingApproval { server, subject, .. }) = self.find(id) else { return Err(unknown()) };
        let ApprovalSubject::Call { tool, arguments: asked, can_be_edited: true, .. } = subject else {
            return Err(Error::invalid_params(
                "only the call of a tool whose arguments are all shown takes others, and no permission does: approve it \
                 without arguments, or deny it",
            ));
        };
        if !edited.is_object() || answer.max_uses != 1 {
            return Err(Error::invalid_params(
                "edited arguments are a JSON object, and for one use of the tool",
            ));
        }
        let digest = |arguments: &RawJson| {
            digest(arguments)
                .map_err(|why| Error::invalid_params(format!("this is no edit of a call: {why}")))
        };
        let asked = digest(&RawJson::parse(asked.whole().to_owned())?)?;
        let trace = self.swept().find(id).and_then(|row| row.context.trace);
        let (trace, kind) = (trace.unwrap_or_else(TraceId::random), EventType::read(CALL_EDITED));
        let (actor, target) = (Actor::of(&answer.approver), AuditTarget::new(Some(server), Some(tool)));
        Ok(AuditEvent::new(self.0.clock.now(), trace, kind, actor, target, Outcome::Success)
            .with_detail("question", id.as_str())
            .with_detail("asked_arguments_digest", &asked.to_string())
            .with_detail("edited_arguments_digest", &digest(edited)?.to_string()))
    }

    /// Removes the question `id`, with its answer if it has one, and returns whether it was there. If the same is
    /// asked again, it is a new question.
    ///
    /// # Errors
    /// Fails if the principal is not an operator (1000), or if the question cannot be removed from the store.
    pub async fn forget(&self, operator: &Principal, id: &ApprovalId) -> Result<bool, Error> {
        check_operator(operator)?;
        let was_there = self.find(id).is_some_and(|question| !question.is_received);
        self.swept().remove_where(|row| row.shown.id == *id);
        self.keep().await?;
        Ok(was_there)
    }

    /// Returns the answer, with the configured end if it is a denial without one.
    pub(super) fn with_end(&self, mut answer: ApprovalAnswer) -> ApprovalAnswer {
        if answer.decision == Decision::Denied && answer.terms.expires_at.is_none() {
            answer.terms.expires_at = Some(self.0.clock.now().saturating_add(self.0.denied_for));
        }
        answer
    }

    /// Takes the answer that was given to this question while nobody waited for it. An approval is taken once; a
    /// denial stays until its end.
    ///
    /// # Errors
    /// Fails if the taken answer cannot be removed from the store.
    pub(super) async fn take_answer(
        &self,
        question: &ApprovalQuestion,
    ) -> Result<Option<ApprovalAnswer>, Error> {
        let found = {
            let open = self.swept();
            let mut rows = open.rows.values().filter(|row| row.answers(question));
            rows.find_map(|row| row.shown.waiting_answer().map(|_| row.shown.id.clone()))
        };
        let Some(id) = found else { return Ok(None) };
        let queue = self.clone();
        Ok(off_the_runtime(move || queue.take(&id)).await?)
    }

    /// Returns the id under which `question` is open, or will be.
    pub(super) fn id_for(&self, question: &ApprovalQuestion) -> ApprovalId {
        let open = self.swept();
        let is_same = |row: &&ApprovalRow| row.shown.answer.is_none() && row.is_answered_with(question);
        let same = open.rows.values().find(is_same);
        same.map_or_else(|| open.new_id(), |row| row.shown.id.clone())
    }

    /// Removes questions that have ended or were decided elsewhere, and returns the others.
    fn swept(&self) -> parking_lot::MutexGuard<'_, OpenApprovals> {
        let mut open = self.0.open.lock();
        let now = self.0.clock.now();
        open.remove_where(|row| {
            row.forget_gone();
            let is_over = now >= row.shown.ends_at || row.shown.answer.is_none() && self.is_decided(row);
            row.waiting.is_empty() && is_over
        });
        open
    }

    /// Returns whether a decision in the book answers the question by now, at all kernels that share it.
    fn is_decided(&self, row: &ApprovalRow) -> bool {
        let ApprovalSubject::Permission { permission, .. } = &row.shown.subject else { return false };
        let call = row.shown.asker.as_ref().map(|_| &row.context);
        self.0.book.has_decided(&row.shown.server, permission, call, self.0.store.is_shared())
    }
}

impl OpenApprovals {
    /// Returns the question `id`.
    fn find(&mut self, id: &ApprovalId) -> Option<&mut ApprovalRow> {
        self.rows.values_mut().find(|row| row.shown.id == *id)
    }

    /// Puts a question as the store has it now, or nothing, in the place of `id`.
    fn note(&mut self, id: &ApprovalId, shown: Option<PendingApproval>, stored: Option<String>) {
        match (shown, self.find(id)) {
            (Some(shown), Some(row)) => (row.shown, row.stored, row.is_kept) = (shown, stored, true),
            // It was removed meanwhile.
            (Some(_), None) => self.gone.extend(stored.map(|stored| (id.clone(), stored))),
            (None, _) => self.rows.retain(|_, row| row.shown.id != *id),
        }
    }

    /// Makes another question, which ends at `ends_at`, of what the callers at a place still wait for.
    fn ask_anew(&mut self, place: u64, ends_at: Timestamp) {
        let id = self.new_id();
        if let Some(row) = self.rows.get_mut(&place) {
            (row.shown.id, row.shown.ends_at) = (id, ends_at);
            (row.shown.answer, row.shown.is_received, row.shown.is_asked_here) = (None, false, true);
            (row.stored, row.is_kept) = (None, false);
        }
    }

    /// Returns an id that no question has.
    fn new_id(&self) -> ApprovalId {
        ApprovalId::unlike(|id| self.rows.values().any(|row| row.shown.id == *id))
    }

    /// Makes room for `question` if necessary, by removing the oldest question of the same origin that nobody waits
    /// for. Returns whether there is room.
    fn make_room(&mut self, question: &ApprovalQuestion) -> bool {
        let most = if question.asker().is_some() { MAX_OF_ASKER } else { MAX_OF_SERVER };
        let open: Vec<_> = self.rows.values().filter(|row| !row.shown.is_received).collect();
        let own = open.iter().filter(|row| row.is_of_origin(question)).count();
        // Nothing proves the names of the user's clients, so that one may take many.
        let family = |asker: Option<&Principal>| asker.and_then(|asker| agent_family(asker.as_str()));
        let of_family = family(question.asker());
        let is_kin = |row: &ApprovalRow| of_family.is_some() && family(row.shown.asker.as_ref()) == of_family;
        let kin = open.iter().filter(|row| is_kin(row)).count();
        if own < most && kin < MAX_OF_FAMILY && open.len() < MAX_QUESTIONS {
            return true;
        }
        let is_left = |row: &&&ApprovalRow| {
            (row.is_of_origin(question) || own < most && is_kin(row)) && row.waiting.is_empty()
        };
        let oldest = open.iter().find(is_left).map(|row| row.shown.id.clone());
        oldest.is_some_and(|oldest| self.remove_where(|row| row.shown.id == oldest))
    }

    /// Removes the questions that `is_over` selects, and returns whether there were any.
    fn remove_where(&mut self, is_over: impl Fn(&mut ApprovalRow) -> bool) -> bool {
        let before = self.rows.len();
        let gone = &mut self.gone;
        self.rows.retain(|_, row| {
            let is_over = is_over(row);
            if is_over && let Some(stored) = row.stored.take() {
                gone.push((row.shown.id.clone(), stored));
            }
            !is_over
        });
        self.rows.len() < before
    }
}

pub(super) fn full() -> Error {
    let message =
        "too many questions wait for an operator: `mgp permissions pending` shows them; try again later";
    Error::new(code::RESOURCE_EXHAUSTED, message)
}

/// Returns the error of an operator who answers what has an answer already.
fn decided(answer: &ApprovalAnswer) -> Error {
    let (by, decision) = (answer.approver.id(), answer.decision.as_str());
    Error::invalid_request(format!("nothing was changed: {by} has {decision} this already"))
}

fn unknown() -> Error {
    let message = "there is no such question: it was answered, or nobody answered it in time; `mgp permissions pending` \
                   shows those that wait";
    Error::new(code::RESOURCE_NOT_FOUND, message)
}

/// The type of the event that an operator approved a call with other arguments.
const CALL_EDITED: &str = "dev.cloto.mgp.call_edited";
/// The largest number of questions in the queue.
const MAX_QUESTIONS: usize = 256;
/// The largest number of questions that the calls of one principal may cause.
const MAX_OF_ASKER: usize = 16;
/// The largest number of questions that the calls of all clients of the user may cause.
const MAX_OF_FAMILY: usize = 32;
/// The largest number of questions about one server's own needs: as many as the permissions that it may need to
/// operate.
const MAX_OF_SERVER: usize = 64;
/// The largest number of calls that are approved at once.
const MAX_USES: u32 = 1000;
/// The default time for which a question stays open.
const OPEN_FOR: Duration = Duration::from_hours(24);
/// The time for which an approval waits until its call is made again.
const ANSWER_FOR: Duration = Duration::from_hours(1);
/// The time for which an answer that was received stays for callers at other kernels and for operators who answer again:
/// longer than other kernels take to learn of it, and than their clocks differ.
const RECEIVED_FOR: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests;
