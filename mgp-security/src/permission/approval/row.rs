//! A question in the queue: its id, the form that operators see, and the form that the queue keeps.

use std::sync::Arc;

use mgp_types::mgp::{Decision, ServerId, Timestamp};
use mgp_types::{Context, Error, Principal};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::{ApprovalAnswer, ApprovalQuestion, ApprovalSubject};
use crate::random;

/// The id of an open question: a few letters and digits, to be typed by people. Knowing an id gives no right to answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ApprovalId(Arc<str>);

/// A question as operators see it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PendingApproval {
    /// The id by which the question is decided.
    pub id: ApprovalId,
    /// The server that the question is about.
    pub server: ServerId,
    /// The permission or call that is to be approved.
    pub subject: ApprovalSubject,
    /// The principal whose call caused the question first, if a call did.
    pub asker: Option<Principal>,
    /// The text of the question.
    pub message: String,
    /// The time at which the question was asked.
    pub asked_at: Timestamp,
    /// The time at which the question is forgotten or, once it was answered, its answer.
    pub ends_at: Timestamp,
    /// The answer that waits until the same is asked again, with the operator who gave it; `None` while the question
    /// is open.
    pub answer: Option<(Decision, Principal)>,
}

/// A question in the queue.
#[derive(Debug)]
pub(super) struct ApprovalRow {
    pub(super) id: ApprovalId,
    question: ApprovalQuestion,
    pub(super) asked_at: Timestamp,
    pub(super) ends_at: Timestamp,
    /// True if the question is in the store.
    pub(super) is_stored: bool,
    /// The callers that wait for the answer, each with a number of its own.
    pub(super) waiting: Vec<(u64, oneshot::Sender<ApprovalAnswer>)>,
    /// The answer that was given while nobody waited for it.
    pub(super) answer: Option<ApprovalAnswer>,
}

impl ApprovalRow {
    pub(super) fn new(
        id: ApprovalId,
        question: &ApprovalQuestion,
        asked_at: Timestamp,
        ends_at: Timestamp,
    ) -> Self {
        // The channel to the caller ends with its call, and a question must not keep the session alive.
        let mut context = Context::default();
        context.principal.clone_from(&question.context.principal);
        context.trace = question.context.trace;
        let question =
            ApprovalQuestion { context, id: Some(id.clone()), progress_token: None, ..question.clone() };
        Self { id, question, asked_at, ends_at, is_stored: false, waiting: Vec::new(), answer: None }
    }

    /// Gives the question a new id, as a question that is asked anew.
    pub(super) fn renew(&mut self, id: ApprovalId) {
        self.question.id = Some(id.clone());
        self.id = id;
    }

    /// Removes callers that no longer wait.
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

    /// Returns the part of the context that outlives the call that caused the question; empty if none did.
    pub(super) fn context(&self) -> &Context {
        &self.question.context
    }

    /// Returns whether the answer to this question also answers `question`.
    ///
    /// A server's need to operate is one question for all callers; a permission for a call, and the call itself, are
    /// one question for the same call of the same agent.
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

    /// Returns whether the row has the same origin as `question`: the same agent, or the same server with its own
    /// needs.
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
    /// Returns a new id that `is_taken` does not know. It is random, so that an id that a person has seen hardly comes
    /// again for another question.
    pub(super) fn unlike(is_taken: impl Fn(&Self) -> bool) -> Result<Self, Error> {
        loop {
            let bytes: [u8; ID_CHARS] = random::bytes()?;
            let letters = bytes.map(|byte| char::from(ID_ALPHABET[usize::from(byte) % ID_ALPHABET.len()]));
            let id = Self(String::from_iter(letters).into());
            if !is_taken(&id) {
                return Ok(id);
            }
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ApprovalId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

/// The number of characters of an id: far more ids than there may be open questions.
const ID_CHARS: usize = 4;
/// Characters that are not taken for each other, and make no words.
const ID_ALPHABET: &[u8] = b"bcdfghjkmnpqrstvwxyz23456789";
