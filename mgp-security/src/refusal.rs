//! Errors that refuse a request, with the recovery advice of their code.

use std::borrow::Cow;

use mgp_types::Error;
#[cfg(any(feature = "permission", feature = "validate"))]
use mgp_types::{RawJson, mgp::Recovery};

/// Returns an error of `code` with the recovery advice that every error of this code has.
pub(crate) fn refusal(code: i64, message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(code, message).with_usual_recovery()
}

/// Returns the recovery advice of `code`, with `members` as details: the reason, and what to do next.
#[cfg(any(feature = "permission", feature = "validate"))]
pub(crate) fn advice(code: i64, members: &[(&'static str, &str)]) -> Recovery {
    let details = members.iter().map(|(name, text)| (*name, RawJson::from_text(text)));
    Recovery::for_code(code).unwrap_or_default().with_details(&details.collect())
}
