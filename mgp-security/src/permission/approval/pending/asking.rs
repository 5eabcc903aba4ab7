//! The asking side of the queue: callers that wait for an answer, how long they wait, and when their questions are
//! stored.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{Either, select};
use mgp_types::mgp::ServerId;
use mgp_types::{Error, WaitListener};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::super::waiting::{ApprovalRow, keep_telling};
use super::super::{ApprovalAnswer, ApprovalId, ApprovalQuestion, ApprovalReply, Approver, WaitingQuestion};
use super::{OPEN_FOR, PendingApprovals, full};
use mgp_store::off_the_runtime;

impl PendingApprovals {
    fn wait_for(
        &self,
        question: &ApprovalQuestion,
    ) -> Result<(oneshot::Receiver<ApprovalAnswer>, QuestionWaiter), Error> {
        let (sender, receiver) = oneshot::channel();
        let now = self.0.clock.now();
        let mut open = self.swept();
        let ticket = *self.0.asked.borrow() + 1;
        let same =
            open.rows.iter().find(|(_, row)| row.shown.answer.is_none() && row.is_answered_with(question));
        let place = match same.map(|(place, _)| *place) {
            Some(place) => place,
            None if !open.make_room(question) => return Err(full()),
            None => {
                let id = question.id.clone().unwrap_or_else(|| open.new_id());
                open.rows.insert(ticket, ApprovalRow::new(id, question, now));
                ticket
            }
        };
        let Some(row) = open.rows.get_mut(&place) else { return Err(full()) };
        if row.waiting.len() >= MAX_WAITING {
            return Err(full());
        }
        (row.shown.ends_at, row.is_kept) = (now.saturating_add(OPEN_FOR), false);
        row.waiting.push((ticket, sender));
        self.0.asked.send_replace(ticket);
        drop(open);
        let listener = question.context.wait_listener.clone();
        Ok((receiver, QuestionWaiter { questions: self.clone(), place, ticket, listener }))
    }

    /// Returns the question `id` as its caller is told of it.
    fn waiting(&self, id: ApprovalId, is_unproven: bool) -> WaitingQuestion {
        WaitingQuestion { link: self.link(&id), is_watched: self.0.watched.is_watched(), is_unproven, id }
    }

    /// Stores questions like [`keep`](Self::keep), but only logs a failure: it is no reason to refuse a request.
    pub(super) async fn keep_if_possible(&self) {
        if let Err(error) = self.keep().await {
            tracing::warn!(%error, "questions to operators are lost, or come back, when the kernel stops");
        }
    }

    /// Writes the current state of the questions into the store, and removes questions that are gone from it.
    pub(super) async fn keep(&self) -> Result<(), Error> {
        let queue = self.clone();
        let kept = off_the_runtime(move || {
            let _alone = queue.0.writing.lock();
            queue.write()
        });
        Ok(kept.await?)
    }
}

#[async_trait]
impl Approver for PendingApprovals {
    async fn ask(&self, question: ApprovalQuestion) -> Result<ApprovalReply, Error> {
        if let Some(answer) = self.take_answer(&question).await? {
            return Ok(ApprovalReply::Answer(answer));
        }
        let (mut answer, waiting) = self.wait_for(&question)?;
        let hears_progress = question.progress_token.is_some() && question.context.outbox.is_open();
        let is_call = question.asker().is_some();
        // From here on the question can be answered even if this future or the process ends. Another kernel may have asked it
        // before, under another id.
        self.keep_if_possible().await;
        let id = waiting.id().unwrap_or_else(|| ApprovalId::from(""));
        let is_unproven = question.context.unattended;
        let waits_for = self.waiting(id.clone(), is_unproven).in_words();
        let patience = if waiting.listener.as_ref().is_some_and(|call| call.hear(Some(&waits_for))) {
            PATIENCE_BEHIND_ANSWER
        } else if self.0.watched.is_watched() {
            question.patience
        } else if is_unproven {
            // A caller whose person is not asked there has to hear at once where the question waits.
            Duration::ZERO
        } else if hears_progress || !is_call {
            question.patience
        } else {
            // A caller that gets no progress gives up too early to hear the answer.
            question.patience.min(PATIENCE_UNTOLD)
        };
        let notifying = pin!(keep_telling(&question, &waits_for));
        let in_time = timeout(patience, select(&mut answer, notifying)).await;
        let answered = match in_time {
            Ok(Either::Left((answer, _))) => answer.ok(),
            // The answer may have come at this very moment.
            _ => answer.try_recv().ok(),
        };
        if let Some(answer) = answered {
            return Ok(ApprovalReply::Answer(answer));
        }
        // The question may have got another id meanwhile.
        let id = waiting.id().unwrap_or(id);
        drop(waiting);
        self.keep_if_possible().await;
        Ok(ApprovalReply::Waits(self.waiting(id, is_unproven)))
    }

    /// Withdraws a question, unless others wait for its answer.
    async fn take_back(&self, question: &ApprovalQuestion) {
        let is_gone = self.0.open.lock().remove_where(|row| {
            row.forget_gone();
            row.shown.answer.is_none() && row.waiting.is_empty() && row.is_answered_with(question)
        });
        if is_gone {
            self.keep_if_possible().await;
        }
    }

    fn open_for(&self, server: &ServerId) -> Option<WaitingQuestion> {
        let open = self.swept();
        let is_it = |row: &&ApprovalRow| {
            row.shown.answer.is_none() && row.shown.asker.is_none() && row.shown.server == *server
        };
        open.rows.values().find(is_it).map(|row| self.waiting(row.shown.id.clone(), false))
    }
}

/// A caller's place among those that wait for an answer; dropping it gives the place up.
struct QuestionWaiter {
    questions: PendingApprovals,
    place: u64,
    ticket: u64,
    listener: Option<Arc<dyn WaitListener>>,
}

impl QuestionWaiter {
    /// Returns the id of the question, which changes when one of several waiting callers gets an answer for itself
    /// alone.
    fn id(&self) -> Option<ApprovalId> {
        self.questions.0.open.lock().rows.get(&self.place).map(|row| row.shown.id.clone())
    }
}

impl Drop for QuestionWaiter {
    fn drop(&mut self) {
        let mut open = self.questions.0.open.lock();
        if let Some(row) = open.rows.get_mut(&self.place) {
            row.waiting.retain(|(ticket, _)| *ticket != self.ticket);
        }
        drop(open);
        if let Some(listener) = &self.listener {
            listener.hear(None);
        }
    }
}

/// The largest number of callers that wait for one answer.
const MAX_WAITING: usize = 1024;
/// The longest wait of a call whose caller gets no progress while nobody watches the queue: less than the minute
/// after which many clients give up.
const PATIENCE_UNTOLD: Duration = Duration::from_secs(30);
/// The longest wait of a call that goes on behind an answer to its caller.
const PATIENCE_BEHIND_ANSWER: Duration = Duration::from_hours(1);

/// A registration of somebody who watches the waiting questions; it ends when dropped. While there is one, calls wait
/// longer for an answer.
#[derive(Debug)]
pub struct ApprovalWatch(Arc<ApprovalWatchers>);

/// The number of watchers, and the time until which somebody last watched.
#[derive(Debug, Default)]
pub(super) struct ApprovalWatchers(Mutex<(usize, Option<Instant>)>);

impl ApprovalWatchers {
    pub(super) fn begin(self: &Arc<Self>) -> ApprovalWatch {
        self.0.lock().0 += 1;
        ApprovalWatch(Arc::clone(self))
    }

    /// Returns whether somebody watches, or did until a moment ago: a watcher over a network connection looks at
    /// intervals.
    fn is_watched(&self) -> bool {
        let (now_watching, until) = *self.0.lock();
        now_watching > 0 || until.is_some_and(|until| until.elapsed() < BETWEEN_LOOKS)
    }
}

impl Drop for ApprovalWatch {
    fn drop(&mut self) {
        let mut watched = self.0.0.lock();
        watched.0 = watched.0.saturating_sub(1);
        watched.1 = Some(Instant::now());
    }
}

/// The longest time between two looks at the queue that count as watching.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
