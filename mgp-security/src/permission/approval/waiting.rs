//! The common texts that say that a request waits for a person, and how that person approves it.

use std::time::Duration;

use mgp_types::mgp::ServerId;
use mgp_types::{Context, Error, Method, Params, RawJson, Request};

use super::{ApprovalId, ApprovalQuestion, line};
use crate::refusal::advice;

/// Returns the command that approves the question `id`.
pub(in crate::permission) fn command(id: &ApprovalId) -> String {
    format!("mgp permissions approve {}", id.as_str())
}

/// Returns the refusal of a request in `context` that waits for the answer to the question `id`: its details name the id
/// and the command.
///
/// All requests that a person has to decide about are refused with this text.
pub(crate) fn waits_for_approval(
    code: i64,
    subject: &WaitingSubject<'_>,
    id: &ApprovalId,
    context: &Context,
) -> Error {
    let command = command(id);
    let (what, server, reason, permission) = match *subject {
        WaitingSubject::Call { tool, server } => {
            (format!("the call of `{}` of `{}`", line(tool), line(server.as_str())), server, "deferred", None)
        }
        WaitingSubject::Permission { permission, server, reason } => {
            let server_name = line(server.as_str());
            let what = format!("the permission `{}` of the server `{server_name}`", line(permission));
            (what, server, reason, Some(permission))
        }
        WaitingSubject::Server(server) => {
            (format!("the server `{}`", line(server.as_str())), server, "deferred", None)
        }
    };
    let message = format!(
        "{what} is waiting for approval: a person has to confirm it by `{command}` in a terminal; after that, make the \
         same call again{}",
        unasked(context)
    );
    let next =
        format!("tell the user to run `{command}` in a terminal, and make the same call again after that");
    let mut details = vec![("reason", reason), ("approval_id", id.as_str()), ("command", &command)];
    details.extend(permission.map(|permission| ("permission", permission)));
    details.extend([("server_id", server.as_str()), ("next", &next)]);
    let recovery = advice(code, &details).with_retryable(true).with_retry_after_ms(RETRY_AFTER_MS);
    Error::new(code, message).with_recovery(recovery)
}

/// The subject that waits for a decision.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WaitingSubject<'a> {
    /// A single call.
    Call { tool: &'a str, server: &'a ServerId },
    /// A call that needs a permission for its server, about which nobody has decided, or no longer.
    Permission { permission: &'a str, server: &'a ServerId, reason: &'a str },
    /// All calls of a server, because of what the server needs to operate.
    Server(&'a ServerId),
}

/// Returns why nobody was asked in the client itself, if that is to be told.
const fn unasked(context: &Context) -> &'static str {
    if context.unattended {
        " (nobody is asked in this client, because a connected client, or its agent, may have started it)"
    } else {
        ""
    }
}

/// Tells the caller by progress, at intervals, that its call waits for the answer to the question `id`. Never
/// returns, and sends nothing if the caller did not ask for progress.
pub(super) async fn keep_telling(question: &ApprovalQuestion, id: &ApprovalId) {
    if let Some(token) = question.progress_token.as_ref().filter(|_| question.context.outbox.is_open()) {
        let message = format!("waiting for approval: {}{}", command(id), unasked(&question.context));
        let message = RawJson::from_text(&message);
        for count in 0_u32.. {
            let mut params = Params::new();
            params.set("progressToken", token.clone());
            // Progress has to grow, and what the server reports afterwards begins at zero.
            let progress = (f64::from(count) - 1e3).min(-1.0) / 1e6;
            let progress = RawJson::from_value(&progress).unwrap_or_else(|_| RawJson::null());
            params.set("progress", progress);
            params.set("message", message.clone());
            if let Err(error) =
                question.context.outbox.notify(Request::notify(Method::PROGRESS, params)).await
            {
                tracing::debug!(%error, "a caller does not hear what its call waits for");
                break;
            }
            tokio::time::sleep(TELL_EVERY).await;
        }
    }
    std::future::pending::<()>().await;
}

/// The time in milliseconds after which a client may try again; people decide slowly.
const RETRY_AFTER_MS: u64 = 30_000;
/// The interval of progress notifications: less than the shortest time for which known clients wait without one.
const TELL_EVERY: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use mgp_types::Object;
    use mgp_types::mgp::code;

    use super::*;

    #[test]
    fn whatever_waits_is_told_in_the_same_words_with_the_command() {
        let (server, id) = (ServerId::from("files"), ApprovalId::from("7f"));
        for (subject, what) in [
            (WaitingSubject::Call { tool: "remove", server: &server }, "the call of `remove` of `files`"),
            (
                WaitingSubject::Permission { permission: "camera", server: &server, reason: "deferred" },
                "the permission `camera` of the server `files`",
            ),
            (WaitingSubject::Server(&server), "the server `files`"),
        ] {
            let error = waits_for_approval(code::PERMISSION_DENIED, &subject, &id, &Context::default());
            let rest = error.message().strip_prefix(what).unwrap();
            assert_eq!(
                rest,
                " is waiting for approval: a person has to confirm it by `mgp permissions approve 7f` in a terminal; after \
                 that, make the same call again"
            );
            let details = Object::from_raw(&error.recovery().unwrap().details.unwrap()).unwrap();
            assert_eq!(details.text("approval_id").as_deref(), Some("7f"));
            assert_eq!(details.text("command").as_deref(), Some("mgp permissions approve 7f"));
        }
    }
}
