//! The common texts that say that a request waits for a person, and how that person approves it.

use std::time::Duration;

use mgp_types::mgp::ServerId;
use mgp_types::{Context, Error, Method, Params, RawJson, Request};

use super::{ApprovalQuestion, WaitingQuestion, line};
use crate::refusal::advice;

impl WaitingQuestion {
    /// Returns the command that approves the question.
    fn command(&self) -> String {
        format!("mgp permissions approve {}", self.id.as_str())
    }

    /// Returns the link behind `before`; an empty text without one.
    fn linked(&self, before: &str) -> String {
        self.link.as_ref().map(|link| format!("{before}{link}")).unwrap_or_default()
    }

    /// Returns the words by which a caller in `context` hears that its call waits.
    pub(super) fn in_words(&self, context: &Context) -> String {
        format!("waiting for approval: {}{}{}", self.command(), self.linked(" or "), unasked(context))
    }
}

/// Returns the refusal of a request in `context` that waits for the answer to `question`: its details name the id, the
/// command and the link.
///
/// All requests that a person has to decide about are refused with this text.
pub(crate) fn waits_for_approval(
    code: i64,
    subject: &WaitingSubject<'_>,
    question: &WaitingQuestion,
    context: &Context,
) -> Error {
    let command = question.command();
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
        "{what} is waiting for approval: a person has to confirm it by `{command}` in a terminal{}; after that, make the \
         same call again{}",
        question.linked(" or at "),
        unasked(context)
    );
    let next = format!(
        "tell the user to run `{command}` in a terminal{}, and make the same call again after that",
        question.linked(" or to open ")
    );
    let mut details = vec![("reason", reason), ("approval_id", question.id.as_str()), ("command", &command)];
    details.extend(question.link.as_deref().map(|link| ("link", link)));
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

/// Tells the caller by progress, at intervals, what its call waits for. Never returns, and sends nothing if the caller did
/// not ask for progress.
pub(super) async fn keep_telling(question: &ApprovalQuestion, waits_for: &str) {
    if let Some(token) = question.progress_token.as_ref().filter(|_| question.context.outbox.is_open()) {
        let message = RawJson::from_text(waits_for);
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

    use super::super::ApprovalId;
    use super::*;

    #[test]
    fn whatever_waits_is_told_in_the_same_words_with_the_command() {
        let server = ServerId::from("files");
        let mut question = WaitingQuestion { id: ApprovalId::from("7f"), link: None };
        for (subject, what) in [
            (WaitingSubject::Call { tool: "remove", server: &server }, "the call of `remove` of `files`"),
            (
                WaitingSubject::Permission { permission: "camera", server: &server, reason: "deferred" },
                "the permission `camera` of the server `files`",
            ),
            (WaitingSubject::Server(&server), "the server `files`"),
        ] {
            let error = waits_for_approval(code::PERMISSION_DENIED, &subject, &question, &Context::default());
            let rest = error.message().strip_prefix(what).unwrap();
            assert_eq!(
                rest,
                " is waiting for approval: a person has to confirm it by `mgp permissions approve 7f` in a terminal; after \
                 that, make the same call again"
            );
            let details = Object::from_raw(&error.recovery().unwrap().details.unwrap()).unwrap();
            assert_eq!(details.text("approval_id").as_deref(), Some("7f"));
            assert_eq!(details.text("command").as_deref(), Some("mgp permissions approve 7f"));
            assert!(!details.contains("link"));
        }
        let link = "http://127.0.0.1:1/questions/7f";
        question.link = Some(link.to_owned());
        let subject = WaitingSubject::Server(&server);
        let error = waits_for_approval(code::SERVER_NOT_READY, &subject, &question, &Context::default());
        assert!(error.message().contains(&format!(" in a terminal or at {link}; after")), "{error}");
        let details = Object::from_raw(&error.recovery().unwrap().details.unwrap()).unwrap();
        assert_eq!(details.text("link").as_deref(), Some(link));
    }
}
