//! The errors with which the permission gate refuses requests.

use std::borrow::Cow;

use mgp_types::mgp::{EventType, Permission, Refusal, ServerId, Timestamp, code};
use mgp_types::{Error, Principal, Request, shell_word};

use crate::Finding;
use crate::permission::{ApprovalId, WaitingSubject, waits_for_approval};
use crate::refusal::{advice, refusal};

/// The reason why a call may not use a permission.
#[derive(Debug)]
pub(in crate::permission) enum PermissionRefusal {
    /// An operator or the settings denied the permission; `until` is the end of the denial, if it has one.
    Denied { until: Option<Timestamp> },
    /// Nobody has decided, or no longer: with `expired`, an earlier grant has ended. The question waits under the id, if
    /// there is one.
    Undecided { expired: bool, question: Option<ApprovalId> },
    /// The permission is granted, but not for these arguments.
    OutOfScope(Finding),
    /// The request is one that only the gate itself sends.
    NotYours,
}

/// Refuses `request`, and notes the refusal in its trail.
pub(in crate::permission) fn refuse(
    server: &ServerId,
    reason: &PermissionRefusal,
    permission: Option<&Permission>,
    request: &Request,
) -> Error {
    let (word, rule, next) = match reason {
        PermissionRefusal::Denied { .. } => (
            "denied",
            "permission-denied",
            "do without it, or have an operator grant it; trying again changes nothing",
        ),
        PermissionRefusal::Undecided { expired: true, .. } => {
            ("expired", "permission-expired", "have an operator grant it anew, then call again")
        }
        PermissionRefusal::Undecided { expired: false, .. } => (
            "deferred",
            "permission-deferred",
            "an operator has to decide; call again when that has happened",
        ),
        PermissionRefusal::OutOfScope(finding) => {
            ("out_of_scope", finding.rule, "call again with arguments that stay within what was granted")
        }
        PermissionRefusal::NotYours => (
            "not_yours",
            "permission-self-approval",
            "permissions are decided about by operators, not by callers",
        ),
    };
    let name = permission.map_or("permissions", Permission::as_str);
    tracing::debug!(%server, permission = name, reason = word, "a call was refused");
    request.context.note_refusal(Refusal::new("permission", rule).with_event(EventType::PermissionDenied));
    if let PermissionRefusal::Undecided { question: Some(id), .. } = reason {
        return waits_for_approval(
            code::PERMISSION_DENIED,
            &WaitingSubject::Permission { permission: name, server, reason: word },
            id,
            &request.context,
        );
    }
    let message: Cow<'static, str> = match reason {
        PermissionRefusal::Undecided { .. } => format!(
            "the permission `{name}` of the server `{server}` is {word}: a person has to grant it by `mgp permissions \
             approve {} {} --agent {}` in a terminal; after that, make the same call again",
            shell_word(server.as_str()),
            shell_word(name),
            shell_word(&request.context.principal.as_ref().map_or_else(|| "AGENT".into(), Principal::access_id))
        )
        .into(),
        PermissionRefusal::Denied { until: Some(end) } => format!(
            "the permission `{name}` of the server `{server}` is denied until {end}: {next}; \
             `mgp permissions reset {server} {name}` ends that"
        )
        .into(),
        PermissionRefusal::OutOfScope(finding) => finding.message.clone(),
        PermissionRefusal::NotYours => Cow::Borrowed("callers do not decide about permissions"),
        PermissionRefusal::Denied { until: None } => format!(
            "the permission `{name}` of the server `{server}` is denied: {next}; `mgp permissions show {server}` shows by \
             whom, `mgp permissions approve {server} {name} --agent AGENT` grants it"
        )
        .into(),
    };
    let details = [("reason", word), ("permission", name), ("server_id", server.as_str()), ("next", next)];
    let mut recovery = advice(code::PERMISSION_DENIED, &details);
    if matches!(reason, PermissionRefusal::Undecided { expired: false, .. }) {
        recovery = recovery.with_retryable(true).with_retry_after_ms(RETRY_AFTER_MS);
    }
    Error::new(code::PERMISSION_DENIED, message).with_recovery(recovery)
}

/// Refuses a call to a server that does not have what it needs to operate yet; the question to an operator waits
/// under the id `waits`, if there is one.
pub(super) fn not_ready(server: &ServerId, waits: Option<&ApprovalId>, request: &Request) -> Error {
    request.context.note_refusal(Refusal::new("permission", "not-settled"));
    if let Some(id) = waits {
        let waits = WaitingSubject::Server(server);
        return waits_for_approval(code::SERVER_NOT_READY, &waits, id, &request.context);
    }
    let message = format!(
        "the permissions of the server `{server}` are not settled yet: if it does not pass by itself, an operator has to \
         decide about them, and `mgp permissions pending` lists them"
    );
    refusal(code::SERVER_NOT_READY, message)
}

/// Returns the error for a request whose slot is empty, or was filled for another server.
pub(super) fn not_resolved() -> Error {
    Error::invalid_request("nobody resolved the request, so nobody knows what it needs")
}

/// The time in milliseconds after which a client may try again; people decide slowly.
const RETRY_AFTER_MS: u64 = 30_000;
