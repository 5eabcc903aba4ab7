//! A question in the queue: its id, what operators see and the store keeps, and who waits for it.

use std::sync::Arc;

use mgp_types::mgp::{ServerId, Timestamp};
use mgp_types::{Context, Principal, PrincipalKind, random_bytes};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::sync::oneshot;

use super::{ApprovalAnswer, ApprovalQuestion, ApprovalSubject, ShownArguments, message};
use crate::StoreError;

/// The id of an open question: a few letters and digits, to be typed by people. Knowing an id gives no right to answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ApprovalId(Arc<str>);

/// A question as operators see it, and as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PendingApproval {
    /// The id by which the question is decided.
    pub id: ApprovalId,
    /// The server that the question is about.
    pub server: ServerId,
    /// The permission or call that is to be approved.
    pub subject: ApprovalSubject,
    /// The principal whose call caused the question first, if a call did.
    #[serde(serialize_with = "write_principal", deserialize_with = "read_asker")]
    pub asker: Option<Principal>,
    /// The time at which the question was asked.
    pub asked_at: Timestamp,
    /// The time at which the question is forgotten or, once it was answered, its answer.
    pub ends_at: Timestamp,
    /// The answer that was given while nobody waited for it, and waits until the same is asked again; `None` while the
    /// question is open.
    pub answer: Option<ApprovalAnswer>,
}

/// A question that waits for an operator, as its caller is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingQuestion {
    /// The id under which operators find the question.
    pub id: ApprovalId,
    /// The address of the page on which operators answer it, where one is served.
    pub link: Option<String>,
}

/// A question in the queue.
#[derive(Debug)]
pub(super) struct ApprovalRow {
    pub(super) shown: PendingApproval,
    /// The part of the context that outlives the call that caused the question; empty if none did.
    pub(super) context: Context,
    /// True if the question is in the store.
    pub(super) is_stored: bool,
    /// The callers that wait for the answer, each with a number of its own.
    pub(super) waiting: Vec<(u64, oneshot::Sender<ApprovalAnswer>)>,
}

impl PendingApproval {
    /// Returns the text of the question. Names in it come from servers and models; none of them can end its quotes or
    /// its line.
    pub fn message(&self) -> String {
        message(&self.server, &self.subject, self.asker.as_ref(), Some(&self.id))
    }

    /// Returns the arguments that its answer gives the call in place of its own, if an operator edited them.
    pub fn edited_arguments(&self) -> Option<ShownArguments> {
        let edited = self.answer.as_ref()?.arguments.as_ref()?;
        ShownArguments::of(Some(edited)).ok()
    }

    /// Returns the stored form of the question.
    ///
    /// # Errors
    /// Fails if the question cannot be written as JSON.
    pub(super) fn written(&self) -> Result<String, StoreError> {
        serde_json::to_string(self).map_err(|error| StoreError::Unavailable(Box::new(error)))
    }
}

impl ApprovalRow {
    pub(super) fn new(
        id: ApprovalId,
        question: &ApprovalQuestion,
        asked_at: Timestamp,
        ends_at: Timestamp,
    ) -> Self {
        let (server, subject) = (question.server.clone(), question.subject.clone());
        let asker = question.asker().cloned();
        let mut row =
            Self::of(PendingApproval { id, server, subject, asker, asked_at, ends_at, answer: None });
        row.context.trace = question.context.trace;
        row
    }

    pub(super) fn of(shown: PendingApproval) -> Self {
        // The channel to the caller ends with its call, and a question must not keep the session alive.
        let mut context = Context::default();
        context.principal.clone_from(&shown.asker);
        Self { shown, context, is_stored: false, waiting: Vec::new() }
    }

    /// Reads a question from its stored form.
    ///
    /// # Errors
    /// Fails if the text is not the stored form of a question.
    pub(super) fn read(text: &str) -> Result<Self, StoreError> {
        let read = serde_json::from_str(text).map(Self::of);
        let row = read.map_err(|error| StoreError::Damaged(format!("a question to an operator: {error}")))?;
        Ok(Self { is_stored: true, ..row })
    }

    /// Removes callers that no longer wait.
    pub(super) fn forget_gone(&mut self) {
        self.waiting.retain(|(_, waiting)| !waiting.is_closed());
    }

    /// Returns whether the answer to this question also answers `question`.
    ///
    /// A server's need to operate is one question for all callers; a permission for a call, and the call itself, are
    /// one question for the same call of the same agent.
    pub(super) fn is_answered_with(&self, question: &ApprovalQuestion) -> bool {
        if self.shown.server != question.server {
            return false;
        }
        match (&self.shown.subject, &question.subject) {
            (
                ApprovalSubject::Permission { permission: shown, arguments: None, .. },
                ApprovalSubject::Permission { permission, arguments: None, .. },
            ) => shown == permission,
            (shown @ ApprovalSubject::Permission { .. }, asked @ ApprovalSubject::Permission { .. }) => {
                shown == asked && self.shown.asker.as_ref() == question.asker()
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
        self.shown.asker.as_ref() == asker && (asker.is_some() || self.shown.server == question.server)
    }
}

impl ApprovalId {
    /// Returns a new id that `is_taken` does not know. It is random, so that an id that a person has seen hardly comes
    /// again for another question.
    pub(super) fn unlike(is_taken: impl Fn(&Self) -> bool) -> Self {
        loop {
            let bytes: [u8; ID_CHARS] = random_bytes();
            let letters = bytes.map(|byte| char::from(ID_ALPHABET[usize::from(byte) % ID_ALPHABET.len()]));
            let id = Self(String::from_iter(letters).into());
            if !is_taken(&id) {
                return id;
            }
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

mgp_types::convert!(&str => ApprovalId, text => Self(text.into()));

/// A principal in its stored form.
#[derive(Serialize, Deserialize)]
struct StoredPrincipal {
    kind: PrincipalKind,
    name: String,
}

/// Writes the principal of an answer, or the one whose call caused a question, in its stored form.
pub(super) fn write_principal<'p, S: Serializer>(
    principal: impl Into<Option<&'p Principal>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let stored = |principal: &Principal| StoredPrincipal {
        kind: principal.kind(),
        name: principal.as_str().to_owned(),
    };
    principal.into().map(stored).serialize(to)
}

/// Reads the principal whose call caused a question from its stored form.
pub(super) fn read_asker<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Principal>, D::Error> {
    let stored = Option::<StoredPrincipal>::deserialize(from)?;
    Ok(stored.map(|stored| Principal::of(stored.kind, stored.name)))
}

/// Reads the principal of an answer from its stored form.
pub(super) fn read_principal<'de, D: Deserializer<'de>>(from: D) -> Result<Principal, D::Error> {
    read_asker(from)?.ok_or_else(|| Error::custom("nobody gave the answer"))
}

/// The number of characters of an id: far more ids than there may be open questions.
const ID_CHARS: usize = 4;
/// Characters that are not taken for each other, and make no words.
const ID_ALPHABET: &[u8] = b"bcdfghjkmnpqrstvwxyz23456789";
