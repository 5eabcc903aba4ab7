//! The stored form of a question, in which it outlives the process.

use mgp_types::{Principal, PrincipalKind};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::PendingApproval;
use super::row::ApprovalRow;
use crate::StoreError;

#[derive(Debug, Serialize, Deserialize)]
struct StoredPrincipal {
    kind: String,
    name: String,
}

/// Returns the stored form of a question.
///
/// # Errors
/// Fails if the question cannot be written as JSON.
pub(super) fn written(question: &PendingApproval) -> Result<String, StoreError> {
    serde_json::to_string(question).map_err(|error| StoreError::Unavailable(Box::new(error)))
}

/// Reads a question from its stored form.
///
/// # Errors
/// Fails if the text is not the stored form of a question.
pub(super) fn read(text: &str) -> Result<ApprovalRow, StoreError> {
    let read = serde_json::from_str(text).map(ApprovalRow::of);
    let mut row = read.map_err(|error| StoreError::Damaged(format!("a question to an operator: {error}")))?;
    row.is_stored = true;
    Ok(row)
}

/// Writes the principal of an answer, or the one whose call caused a question, in its stored form.
pub(super) fn write_principal<'p, S: Serializer>(
    principal: impl Into<Option<&'p Principal>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    principal.into().map(StoredPrincipal::of).serialize(to)
}

/// Reads the principal whose call caused a question from its stored form.
pub(super) fn read_asker<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Principal>, D::Error> {
    let asker = Option::<StoredPrincipal>::deserialize(from)?.map(StoredPrincipal::principal);
    asker.transpose().map_err(Error::custom)
}

/// Reads the principal of an answer from its stored form.
pub(super) fn read_principal<'de, D: Deserializer<'de>>(from: D) -> Result<Principal, D::Error> {
    read_asker(from)?.ok_or_else(|| Error::custom("nobody gave the answer"))
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
