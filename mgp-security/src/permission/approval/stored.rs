//! The stored form of a question, in which it outlives the process.

use mgp_types::mgp::{ServerId, Timestamp};
use mgp_types::{Context, Principal, PrincipalKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::row::ApprovalRow;
use super::{ApprovalAnswer, ApprovalId, ApprovalQuestion, ApprovalSubject};
use crate::StoreError;

#[derive(Debug, Serialize, Deserialize)]
struct StoredQuestion {
    id: ApprovalId,
    server: ServerId,
    subject: ApprovalSubject,
    asker: Option<StoredPrincipal>,
    asked_at: Timestamp,
    ends_at: Timestamp,
    answer: Option<ApprovalAnswer>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredPrincipal {
    kind: String,
    name: String,
}

/// Returns the stored form of a question.
///
/// # Errors
/// Fails if the question cannot be written as JSON.
pub(super) fn written(row: &ApprovalRow) -> Result<String, StoreError> {
    let stored = StoredQuestion {
        id: row.id.clone(),
        server: row.server().clone(),
        subject: row.subject().clone(),
        asker: row.asker().map(StoredPrincipal::of),
        asked_at: row.asked_at,
        ends_at: row.ends_at,
        answer: row.answer.clone(),
    };
    serde_json::to_string(&stored).map_err(|error| StoreError::Unavailable(Box::new(error)))
}

/// Reads a question from its stored form.
///
/// # Errors
/// Fails if the text is not the stored form of a question.
pub(super) fn read(text: &str) -> Result<ApprovalRow, StoreError> {
    let damaged = |why: String| StoreError::Damaged(format!("a question to an operator: {why}"));
    let stored: StoredQuestion = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
    let mut context = Context::default();
    context.principal = stored.asker.map(StoredPrincipal::principal).transpose().map_err(damaged)?;
    let question = ApprovalQuestion::new(stored.server, stored.subject, context);
    let mut row = ApprovalRow::new(stored.id, &question, stored.asked_at, stored.ends_at);
    (row.is_stored, row.answer) = (true, stored.answer);
    Ok(row)
}

/// Writes the principal of an answer in its stored form.
pub(super) fn write_principal<S: Serializer>(principal: &Principal, to: S) -> Result<S::Ok, S::Error> {
    StoredPrincipal::of(principal).serialize(to)
}

/// Reads the principal of an answer from its stored form.
pub(super) fn read_principal<'de, D: Deserializer<'de>>(from: D) -> Result<Principal, D::Error> {
    StoredPrincipal::deserialize(from)?.principal().map_err(serde::de::Error::custom)
}

impl StoredPrincipal {
    fn of(principal: &Principal) -> Self {
        Self { kind: principal.kind().as_str().to_owned(), name: principal.as_str().to_owned() }
    }

    fn principal(self) -> Result<Principal, String> {
        let kind = PrincipalKind::read(&self.kind);
        let kind = kind.ok_or_else(|| format!("`{}` is no kind of a principal", self.kind))?;
        Ok(Principal::of(kind, self.name))
    }
}
