use std::borrow::Cow;

use mgp_types::mgp::{EventType, Permission, Refusal, ServerId, code};
use mgp_types::{Error, Request};

use crate::Finding;
use crate::refusal::{advice, refusal};

/// Why a call may not use a permission.
#[derive(Debug)]
pub(in crate::permission) enum Reason {
    /// Somebody decided that it may not.
    Denied,
    /// It might until a while ago.
    Expired,
    /// Nobody has decided.
    Deferred,
    /// It may, but not with these arguments.
    OutOfScope(Finding),
    /// The request is one that only the gate itself sends.
    NotYours,
}

/// The refusal of `request`, which is noted in its trail.
pub(in crate::permission) fn refuse(
    server: &ServerId,
    reason: &Reason,
    permission: Option<&Permission>,
    request: &Request,
) -> Error {
    let (word, rule, next) = match reason {
        Reason::Denied => (
            "denied",
            "permission-denied",
            "do without it, or have an operator grant it; trying again changes nothing",
        ),
        Reason::Expired => {
            ("expired", "permission-expired", "have an operator grant it anew, then call again")
        }
        Reason::Deferred => (
            "deferred",
            "permission-deferred",
            "an operator has to decide; call again when that has happened",
        ),
        Reason::OutOfScope(finding) => {
            ("out_of_scope", finding.rule, "call again with arguments that stay within what was granted")
        }
        Reason::NotYours => (
            "not_yours",
            "permission-self-approval",
            "permissions are decided about by operators, not by callers",
        ),
    };
    let name = permission.map_or("permissions", Permission::as_str);
    let message: Cow<'static, str> = match reason {
        Reason::OutOfScope(finding) => finding.message.clone(),
        Reason::NotYours => Cow::Borrowed("callers do not decide about permissions"),
        _ => format!("the permission `{name}` of the server `{server}` is {word}: {next}").into(),
    };
    tracing::debug!(%server, permission = name, reason = word, "a call was refused");
    if let Some(trail) = &request.context.trail {
        trail.note_refusal(Refusal::new("permission", rule).with_event(EventType::PermissionDenied));
    }
    let details = [("reason", word), ("permission", name), ("server_id", server.as_str()), ("next", next)];
    let mut recovery = advice(code::PERMISSION_DENIED, &details);
    if matches!(reason, Reason::Deferred) {
        recovery = recovery.with_retryable(true).with_retry_after_ms(RETRY_AFTER_MS);
    }
    Error::new(code::PERMISSION_DENIED, message).with_recovery(recovery)
}

pub(super) fn not_ready(server: &ServerId, request: &Request) -> Error {
    if let Some(trail) = &request.context.trail {
        trail.note_refusal(Refusal::new("permission", "not-settled"));
    }
    let message = format!(
        "the permissions of the server `{server}` are not settled yet: if it does not pass by itself, an operator has to \
         decide about them"
    );
    refusal(code::SERVER_NOT_READY, message)
}

/// The slot is empty, or was filled for another server.
pub(super) fn not_resolved() -> Error {
    Error::invalid_request("nobody resolved the request, so nobody knows what it needs")
}

/// People decide slowly.
const RETRY_AFTER_MS: u64 = 30_000;
