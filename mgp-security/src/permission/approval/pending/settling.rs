//! The answering side of the queue: how an answer is stored once, whichever kernel gives it, and reaches the callers that wait
//! for it.

use std::collections::HashSet;

use mgp_types::Error;
use mgp_types::mgp::Decision;

use super::super::waiting::ApprovalRow;
use super::super::{ApprovalAnswer, ApprovalId, ApprovalSubject, PendingApproval};
use super::{ANSWER_FOR, OPEN_FOR, PendingApprovals, RECEIVED_FOR, decided, unknown};
use crate::StoreError;
use crate::permission::record::Ruling;
use crate::permission::{GrantLifetime, GrantedTo};
use mgp_store::off_the_runtime;

impl PendingApprovals {
    /// Reads the questions anew, after another kernel changed them. Callers that wait here receive the answers that were
    /// given there. Needs a tokio runtime.
    ///
    /// # Errors
    /// Fails if the store cannot be read or written, or if it holds something other than questions.
    pub async fn reload(&self) -> Result<(), StoreError> {
        let queue = self.clone();
        off_the_runtime(move || {
            let _alone = queue.0.writing.lock();
            for id in queue.merge()? {
                queue.pass_on(&id)?;
            }
            queue.write()
        })
        .await
    }

    /// Answers the question `id`, unless an operator has answered it before. Returns the decision to enter into the book if no
    /// caller is here to do so.
    pub(super) fn settle(&self, id: &ApprovalId, answer: ApprovalAnswer) -> Result<Option<Ruling>, Error> {
        let _alone = self.0.writing.lock();
        let answer = ApprovalAnswer { question: Some(id.clone()), ..answer };
        loop {
            let (before, (answered, ruling)) = {
                let mut open = self.swept();
                let row = open.find(id).ok_or_else(unknown)?;
                if let Some(other) = &row.shown.answer {
                    return Err(decided(other));
                }
                row.forget_gone();
                if answer.decision == Decision::Deferred && row.waiting.is_empty() {
                    return Ok(None);
                }
                (row.stored.clone(), self.settled_by(row, &answer))
            };
            let next = Some(if answered.is_received { self.received(&answered) } else { answered });
            if self.exchange(id, before.as_deref(), next)? {
                self.pass_on(id)?;
                return Ok(ruling);
            }
            self.merge()?;
            // The store still counts the questions that are gone, and takes no new one until they are removed.
            self.write()?;
        }
    }

    /// Takes the answer to the question `id`. An approval is taken once by all kernels that share the questions.
    pub(super) fn take(&self, id: &ApprovalId) -> Result<Option<ApprovalAnswer>, StoreError> {
        let _alone = self.0.writing.lock();
        loop {
            let found = self.swept().find(id).map(|row| (row.stored.clone(), row.shown.clone()));
            let Some((before, answered)) = found else { return Ok(None) };
            let Some(answer) = answered.waiting_answer() else { return Ok(None) };
            if answer.decision == Decision::Denied
                || self.exchange(id, before.as_deref(), Some(self.received(&answered)))?
            {
                return Ok(Some(answer));
            }
            self.merge()?;
        }
    }

    /// Gives the answer to the question `id` to the callers that wait for it here, unless a caller at another kernel was
    /// faster.
    fn pass_on(&self, id: &ApprovalId) -> Result<(), StoreError> {
        let found = {
            let mut open = self.0.open.lock();
            let row = open.find(id).filter(|row| !row.waiting.is_empty());
            row.map(|row| (row.stored.clone(), row.shown.clone()))
        };
        let Some((before, answered)) = found else { return Ok(()) };
        let Some(answer) = answered.waiting_answer() else { return Ok(()) };
        let next = self.received(&answered);
        let stored = next.written()?;
        if !self.store(id, before.as_deref(), Some(&stored))? {
            return Ok(());
        }
        let mut open = self.0.open.lock();
        let found = open.rows.iter_mut().find(|(_, row)| row.shown.id == *id);
        let Some((place, row)) = found.map(|(place, row)| (*place, row)) else { return Ok(()) };
        let is_delivered = row.tell(&answer);
        row.forget_gone();
        if !is_delivered {
            // Whoever waited has gone, and the answer waits until the same is asked again.
            (row.stored, row.is_kept) = (Some(stored), false);
        } else if row.waiting.is_empty() {
            open.note(id, Some(next), Some(stored));
        } else {
            // The answer was for one call; the other calls that wait are questions of their own.
            open.ask_anew(place, self.0.clock.now().saturating_add(OPEN_FOR));
        }
        Ok(())
    }

    /// Stores the questions that are others than the store has, and removes those that are gone.
    pub(super) fn write(&self) -> Result<(), StoreError> {
        let gone = || self.0.open.lock().gone.pop();
        loop {
            while let Some((id, stored)) = gone() {
                if let Err(error) = self.store(&id, Some(&stored), None) {
                    self.0.open.lock().gone.push((id, stored));
                    return Err(error);
                }
            }
            let changed: Vec<_> = {
                let open = self.0.open.lock();
                let changed = open.rows.values().filter(|row| !row.is_kept);
                changed.map(|row| (row.shown.id.clone(), row.stored.clone(), row.shown.clone())).collect()
            };
            let mut are_known = true;
            for (id, before, now) in changed {
                are_known &= self.exchange(&id, before.as_deref(), Some(now))?;
            }
            if are_known {
                return Ok(());
            }
            self.merge()?;
        }
    }

    /// Takes over the questions as they are stored, and returns those whose answers callers here wait for.
    pub(super) fn merge(&self) -> Result<Vec<ApprovalId>, StoreError> {
        let stored = self.0.store.load()?.into_iter().map(ApprovalRow::read);
        let stored = stored.collect::<Result<Vec<_>, _>>()?;
        let ids: HashSet<_> = stored.iter().map(|row| row.shown.id.clone()).collect();
        let ends_at = self.0.clock.now().saturating_add(OPEN_FOR);
        let mut guard = self.0.open.lock();
        let open = &mut *guard;
        let before = *self.0.asked.borrow();
        let mut asked = before;
        for new in stored {
            if open.gone.iter().any(|(id, _)| *id == new.shown.id) {
                continue;
            }
            if let Some(row) = open.rows.values_mut().find(|row| row.is_stored_as(&new.shown)) {
                row.take_over(new);
            } else {
                asked += 1;
                open.rows.insert(asked, new);
            }
        }
        // Of a question that is gone, others received the answer; or its id was given twice.
        let is_lost = |row: &ApprovalRow| row.stored.is_some() != ids.contains(&row.shown.id);
        open.rows.retain(|_, row| {
            row.forget_gone();
            !is_lost(row) || !row.waiting.is_empty() && !self.is_decided(row)
        });
        for row in open.rows.values_mut().filter(|row| row.shown.is_received) {
            let answer = row.shown.identified_answer();
            if let Some(answer) = answer.filter(|answer| !row.shown.is_for_one(answer)) {
                row.tell(&answer);
            }
        }
        let still_waits =
            |row: &ApprovalRow| is_lost(row) || row.shown.is_received && !row.waiting.is_empty();
        let waiting = open.rows.iter().filter(|(_, row)| still_waits(row)).map(|(place, _)| *place);
        for place in waiting.collect::<Vec<_>>() {
            asked += 1;
            open.ask_anew(place, ends_at);
        }
        if asked != before {
            self.0.asked.send_replace(asked);
        }
        let is_ready = |row: &&ApprovalRow| !row.waiting.is_empty() && row.shown.waiting_answer().is_some();
        Ok(open.rows.values().filter(is_ready).map(|row| row.shown.id.clone()).collect())
    }

    /// Puts `next`, or nothing, in the place of a question that is stored as `before`, in the store and in memory. Returns
    /// whether it was stored so.
    fn exchange(
        &self,
        id: &ApprovalId,
        before: Option<&str>,
        next: Option<PendingApproval>,
    ) -> Result<bool, StoreError> {
        let stored = next.as_ref().map(PendingApproval::written).transpose()?;
        let was_so = self.store(id, before, stored.as_deref())?;
        if was_so {
            self.0.open.lock().note(id, next, stored);
        }
        Ok(was_so)
    }

    fn store(&self, id: &ApprovalId, before: Option<&str>, now: Option<&str>) -> Result<bool, StoreError> {
        let others = self.0.open.lock().rows.values().filter(|row| row.stored.is_some()).count();
        self.0.store.exchange(id.as_str(), (before, now), u32::try_from(others).unwrap_or(u32::MAX))
    }

    /// Returns the question with its answer, and the decision to enter into the book if no caller is there to do so.
    fn settled_by(&self, row: &ApprovalRow, answer: &ApprovalAnswer) -> (PendingApproval, Option<Ruling>) {
        let mut answered = row.shown.clone();
        let is_yes = answer.decision == Decision::Approved;
        let is_call = matches!(answered.subject, ApprovalSubject::Call { .. });
        answered.ends_at = if is_call && !is_yes {
            // The same call, made again, gets the same denial; a denial that a caller has received is for that call
            // only.
            answer.terms.expires_at.unwrap_or(answered.ends_at)
        } else {
            self.0.clock.now().saturating_add(ANSWER_FOR)
        };
        // A grant for a session is entered for the session in which it is asked for again.
        let holds_from_now = row.waiting.is_empty()
            && !answered.is_for_one(answer)
            && (!is_yes
                || answered.asker.is_none()
                || answer.granted_to == GrantedTo::AllAgents
                || answer.terms.lasts == GrantLifetime::Always);
        let ruling = match &answered.subject {
            ApprovalSubject::Permission { permission, .. } if holds_from_now => {
                let context = answered.asker.as_ref().map(|_| &row.context);
                Ruling::of_answer(answer, &answered.server, permission, context)
            }
            _ => None,
        };
        // The server may be away; a grant that lasts until the kernel stops is entered again when the server asks.
        let is_awaited = answered.asker.is_none() && answer.terms.lasts == GrantLifetime::Session && is_yes;
        answered.is_received = ruling.is_some() && !is_awaited;
        answered.answer = Some(answer.clone());
        (answered, ruling)
    }

    /// Returns the question whose answer callers have received, as it stays for a moment: for callers at other kernels, and for
    /// operators who answer it again.
    fn received(&self, answered: &PendingApproval) -> PendingApproval {
        let ends_at = self.0.clock.now().saturating_add(RECEIVED_FOR);
        PendingApproval { is_received: true, ends_at, ..answered.clone() }
    }
}
