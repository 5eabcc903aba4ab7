use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::{Decision, ServerId, Timestamp};
use mgp_types::{Context, Error, Principal};
use tokio::sync::oneshot;

use super::{ApprovalAnswer, ApprovalQuestion, ApprovalSubject};
use crate::random;

/// Names an open question; nobody can guess it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ApprovalId(Arc<str>);

/// A question as operators see it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PendingApproval {
    /// What to decide it by.
    pub id: ApprovalId,
    /// The server it is about.
    pub server: ServerId,
    /// What is asked for.
    pub subject: ApprovalSubject,
    /// Who called first, if a call gave rise to it.
    pub asker: Option<Principal>,
    /// The question for people.
    pub message: String,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When it is forgotten; of one that was answered, when its answer is.
    pub ends_at: Timestamp,
    /// The answer that waits until the same is asked again, and who gave it; nothing while it is open.
    pub answer: Option<(Decision, Principal)>,
}

/// A question in the queue.
#[derive(Debug)]
pub(super) struct ApprovalRow {
    pub(super) id: ApprovalId,
    question: ApprovalQuestion,
    pub(super) asked_at: Timestamp,
    pub(super) ends_at: Timestamp,
    /// Whether it is in the store.
    pub(super) is_stored: bool,
    /// Those who wait for the answer, each with a number of its own.
    pub(super) waiting: Vec<(u64, oneshot::Sender<ApprovalAnswer>)>,
    /// What was answered while nobody waited for it.
    pub(super) answer: Option<ApprovalAnswer>,
}

impl ApprovalRow {
    pub(super) fn new(
        id: ApprovalId,
        question: &ApprovalQuestion,
        asked_at: Timestamp,
        ends_at: Timestamp,
    ) -> Self {
        // The way back to the caller ends with its call, and a question must not keep its session.
        let mut context = Context::default();
        context.principal.clone_from(&question.context.principal);
        context.trace = question.context.trace;
        let question =
            ApprovalQuestion { context, id: Some(id.clone()), progress_token: None, ..question.clone() };
        Self { id, question, asked_at, ends_at, is_stored: false, waiting: Vec::new(), answer: None }
    }

    /// Gives the question another id: it is asked anew.
    pub(super) fn renew(&mut self) -> Result<(), Error> {
        self.id = ApprovalId::random()?;
        self.question.id = Some(self.id.clone());
        Ok(())
    }

    /// Forgets those who wait no more.
    pub(super) fn forget_gone(&mut self) {
        self.waiting.retain(|(_, waiting)| !waiting.is_closed());
    }

    pub(super) fn subject(&self) -> &ApprovalSubject {
        &self.question.subject
    }

    pub(super) fn server(&self) -> &ServerId {
        &self.question.server
    }

    pub(super) fn asker(&self) -> Option<&Principal> {
        self.question.asker()
    }

    /// Returns what outlives the call that gave rise to it; empty if none did.
    pub(super) fn context(&self) -> &Context {
        &self.question.context
    }

    /// Returns whether the answer to this question is one to the other as well.
    ///
    /// What a server needs by itself is one question for all; what a call needs, and a call itself, is one for the same call
    /// of the same agent.
    pub(super) fn is_answered_with(&self, question: &ApprovalQuestion) -> bool {
        if self.server() != &question.server {
            return false;
        }
        match (self.subject(), &question.subject) {
            (
                ApprovalSubject::Permission { permission: shown, arguments: None, .. },
                ApprovalSubject::Permission { permission, arguments: None, .. },
            ) => shown == permission,
            (shown @ ApprovalSubject::Permission { .. }, asked @ ApprovalSubject::Permission { .. }) => {
                shown == asked && self.asker() == question.asker()
            }
            (ApprovalSubject::Call { binding: shown, .. }, ApprovalSubject::Call { binding, .. }) => {
                shown == binding
            }
            _ => false,
        }
    }

    /// Returns whether it is of the same origin as `question`: the same agent, or the same server that asks by itself.
    pub(super) fn is_of_origin(&self, question: &ApprovalQuestion) -> bool {
        let asker = question.asker();
        self.asker() == asker && (asker.is_some() || self.server() == &question.server)
    }

    pub(super) fn shown(&self) -> PendingApproval {
        PendingApproval {
            id: self.id.clone(),
            server: self.server().clone(),
            subject: self.subject().clone(),
            asker: self.asker().cloned(),
            message: self.question.message(),
            asked_at: self.asked_at,
            ends_at: self.ends_at,
            answer: self.answer.as_ref().map(|answer| (answer.decision, answer.approver.clone())),
        }
    }
}

impl ApprovalId {
    /// Makes an id that nobody can guess.
    pub(super) fn random() -> Result<Self, Error> {
        Ok(Self(random::name()?.into()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ApprovalId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whoever reads a log must not be able to name it.
        f.write_str("ApprovalId(***)")
    }
}
