//! A question in the queue: its id, what operators see and the store keeps, who waits for it, and the common texts that
//! say that a request waits for a person, and how that person approves it.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{Decision, RiskLevel, ServerId, Timestamp};
use mgp_types::{Context, Error, Method, Params, Principal, RawJson, Request, random_letters};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::{ApprovalAnswer, ApprovalQuestion, ApprovalSubject, ShownArguments, line, message};
use crate::StoreError;
use crate::permission::{GrantLifetime, RETRY_AFTER_MS};
use crate::refusal::advice;

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
    pub asker: Option<Principal>,
    /// The time at which the question was asked.
    pub asked_at: Timestamp,
    /// The time at which the question is forgotten or, once it was answered, its answer.
    pub ends_at: Timestamp,
    /// The answer that was given while nobody waited for it, and waits until the same is asked again; `None` while the
    /// question is open.
    pub answer: Option<ApprovalAnswer>,
    /// True if callers have received the answer, so that it waits for nobody else: the question then stays for a moment, for
    /// callers at other kernels and for operators who answer it again.
    #[serde(default)]
    pub is_received: bool,
    /// True if the question was asked at this kernel, and not at another one that shares the questions, or by an earlier
    /// process.
    #[serde(skip)]
    pub is_asked_here: bool,
}

/// A question that waits for an operator, as its caller is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingQuestion {
    /// The id under which operators find the question.
    pub id: ApprovalId,
    /// The address of the page on which operators answer it, where one is served.
    pub link: Option<String>,
    /// True if somebody watches the questions in a terminal.
    pub is_watched: bool,
    /// True if nobody was asked in the client itself, because it is not known whether a person answers there.
    pub is_unproven: bool,
}

/// A question in the queue.
#[derive(Debug)]
pub(super) struct ApprovalRow {
    pub(super) shown: PendingApproval,
    /// The part of the context that outlives the call that caused the question; empty if none did.
    pub(super) context: Context,
    /// The form in which the store has the question; `None` if it does not have it.
    pub(super) stored: Option<String>,
    /// True if that is the question as it is now.
    pub(super) is_kept: bool,
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

    /// Returns the answer with the id of its question, if it waits until the same is asked again.
    pub(super) fn waiting_answer(&self) -> Option<ApprovalAnswer> {
        self.identified_answer().filter(|_| !self.is_received)
    }

    /// Returns the answer with the id of its question.
    pub(super) fn identified_answer(&self) -> Option<ApprovalAnswer> {
        Some(ApprovalAnswer { question: Some(self.id.clone()), ..self.answer.clone()? })
    }

    /// Returns whether `answer` is for one call alone, however many wait for it.
    pub(super) fn is_for_one(&self, answer: &ApprovalAnswer) -> bool {
        let is_call = matches!(self.subject, ApprovalSubject::Call { .. });
        answer.decision == Decision::Approved && (is_call || answer.terms.lasts == GrantLifetime::Once)
    }

    /// Returns whether an answer to this question answers one of `asker` about `subject`.
    ///
    /// A server's need to operate is one question for all callers; a permission for a call, and the call itself, are
    /// one question for the same call of the same agent.
    fn is_about(&self, server: &ServerId, subject: &ApprovalSubject, asker: Option<&Principal>) -> bool {
        if self.server != *server {
            return false;
        }
        match (&self.subject, subject) {
            (
                ApprovalSubject::Permission { permission: shown, arguments: None, .. },
                ApprovalSubject::Permission { permission, arguments: None, .. },
            ) => shown == permission,
            (shown @ ApprovalSubject::Permission { .. }, other @ ApprovalSubject::Permission { .. }) => {
                shown == other && self.asker.as_ref() == asker
            }
            (ApprovalSubject::Call { binding: shown, .. }, ApprovalSubject::Call { binding, .. }) => {
                shown == binding
            }
            _ => false,
        }
    }

    /// Returns whether the answer, which approves several calls of a tool, approves the call of `question`. Calls that are
    /// dangerous, or may carry out what the agent took in, are approved one by one.
    fn approves_also(&self, question: &ApprovalQuestion) -> bool {
        let is_batch = self.answer.as_ref().is_some_and(|answer| answer.max_uses > 1);
        match (&self.subject, &question.subject) {
            (
                ApprovalSubject::Call { of_tool: shown, .. },
                ApprovalSubject::Call { of_tool, risk, flow: None, .. },
            ) => is_batch && !shown.is_empty() && shown == of_tool && *risk < RiskLevel::Dangerous,
            _ => false,
        }
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
    /// Returns the row of a question that is asked now. The caller that waits for its answer sets its end.
    pub(super) fn new(id: ApprovalId, question: &ApprovalQuestion, asked_at: Timestamp) -> Self {
        let mut row = Self::of(PendingApproval {
            id,
            server: question.server.clone(),
            subject: question.subject.clone(),
            asker: question.asker().cloned(),
            asked_at,
            ends_at: asked_at,
            answer: None,
            is_received: false,
            is_asked_here: true,
        });
        row.context.trace = question.context.trace;
        row
    }

    pub(super) fn of(shown: PendingApproval) -> Self {
        // The channel to the caller ends with its call, and a question must not keep the session alive.
        let mut context = Context::default();
        context.principal.clone_from(&shown.asker);
        Self { shown, context, stored: None, is_kept: false, waiting: Vec::new() }
    }

    /// Reads a question from its stored form.
    ///
    /// # Errors
    /// Fails if the text is not the stored form of a question.
    pub(super) fn read(text: String) -> Result<Self, StoreError> {
        let read = serde_json::from_str(&text).map(Self::of);
        let row = read.map_err(|error| StoreError::Damaged(format!("a question to an operator: {error}")))?;
        Ok(Self { stored: Some(text), is_kept: true, ..row })
    }

    /// Returns whether `other`, which was read from the store, is this question: by its id or, if this one is not stored, by
    /// what both ask.
    pub(super) fn is_stored_as(&self, other: &PendingApproval) -> bool {
        if self.stored.is_some() {
            return self.shown.id == other.id;
        }
        let is_open = self.shown.answer.is_none() && other.answer.is_none();
        is_open && self.shown.is_about(&other.server, &other.subject, other.asker.as_ref())
    }

    /// Takes over what another kernel changed.
    pub(super) fn take_over(&mut self, stored: Self) {
        if self.stored != stored.stored {
            self.shown = PendingApproval { is_asked_here: self.shown.is_asked_here, ..stored.shown };
            (self.stored, self.is_kept) = (stored.stored, true);
        }
    }

    /// Gives an answer to the callers that wait for it, or to one if it is for one, and returns whether anybody got it.
    pub(super) fn tell(&mut self, answer: &ApprovalAnswer) -> bool {
        let is_for_one = self.shown.is_for_one(answer);
        let mut is_delivered = false;
        while !(is_delivered && is_for_one)
            && let Some((_, waiting)) = (!self.waiting.is_empty()).then(|| self.waiting.remove(0))
        {
            is_delivered |= waiting.send(answer.clone()).is_ok();
        }
        is_delivered
    }

    /// Removes callers that no longer wait.
    pub(super) fn forget_gone(&mut self) {
        self.waiting.retain(|(_, waiting)| !waiting.is_closed());
    }

    /// Returns whether the answer to this question also answers `question`.
    pub(super) fn is_answered_with(&self, question: &ApprovalQuestion) -> bool {
        self.shown.is_about(&question.server, &question.subject, question.asker())
    }

    /// Returns whether the answer to this question also answers `question`, or approves its call with others.
    pub(super) fn answers(&self, question: &ApprovalQuestion) -> bool {
        self.is_answered_with(question) || self.shown.approves_also(question)
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
            let id = Self(random_letters::<ID_CHARS>().into());
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

/// The number of characters of an id: far more ids than there may be open questions.
const ID_CHARS: usize = 4;

impl WaitingQuestion {
    /// Returns the command that approves the question.
    fn command(&self) -> String {
        format!("mgp permissions approve {}", self.id.as_str())
    }

    /// Returns how a person approves the question: what is open comes first.
    fn ways(&self) -> String {
        let watch = self.is_watched.then(|| "in the open `mgp watch`".to_owned());
        let page = self.link.as_ref().map(|link| format!("at {link}"));
        let open: Vec<_> = watch.into_iter().chain(page).collect();
        let command = format!("with `{}` in a terminal", self.command());
        if open.is_empty() {
            return format!("{command}, or on the page that `mgp ui` opens");
        }
        format!("{}, or {command}", open.join(" or "))
    }

    /// Returns why nobody was asked in the client itself, if that is to be told.
    const fn unasked(&self) -> &'static str {
        if self.is_unproven {
            " (nobody is asked in this client, because an agent may answer there: `mgp clients trust` changes that)"
        } else {
            ""
        }
    }

    /// Returns the message to a caller whose call waits.
    pub(super) fn in_words(&self) -> String {
        let watch = if self.is_watched { " in `mgp watch`, or" } else { "" };
        let page = self.link.as_ref().map(|link| format!(" or {link}")).unwrap_or_default();
        format!("waiting for approval{watch}: {}{page}{}", self.command(), self.unasked())
    }
}

/// Returns the refusal of a request that waits for the answer to `question`: its details name the id, the command and the
/// link.
///
/// All requests that a person has to decide about are refused with this text.
pub(crate) fn waits_for_approval(
    code: i64,
    subject: &WaitingSubject<'_>,
    question: &WaitingQuestion,
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
    let ways = question.ways();
    let message = format!(
        "{what} is waiting for approval: a person has to approve it {ways}; after that, make the same call again{}",
        question.unasked()
    );
    let next = format!("tell the user to approve it {ways}, and make the same call again after that");
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

/// The interval of progress notifications: less than the shortest time for which known clients wait without one.
const TELL_EVERY: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use mgp_types::Object;
    use mgp_types::mgp::code;

    use super::*;

    #[test]
    fn whatever_waits_is_told_in_the_same_words_with_the_place_that_is_open() {
        let server = ServerId::from("files");
        let mut question =
            WaitingQuestion { id: ApprovalId::from("7f"), link: None, is_watched: false, is_unproven: false };
        for (subject, what) in [
            (WaitingSubject::Call { tool: "remove", server: &server }, "the call of `remove` of `files`"),
            (
                WaitingSubject::Permission { permission: "camera", server: &server, reason: "deferred" },
                "the permission `camera` of the server `files`",
            ),
            (WaitingSubject::Server(&server), "the server `files`"),
        ] {
            let error = waits_for_approval(code::PERMISSION_DENIED, &subject, &question);
            let rest = error.message().strip_prefix(what).unwrap();
            assert_eq!(
                rest,
                " is waiting for approval: a person has to approve it with `mgp permissions approve 7f` in a terminal, or on \
                 the page that `mgp ui` opens; after that, make the same call again"
            );
            let details = Object::from_raw(&error.recovery().unwrap().details.unwrap()).unwrap();
            assert_eq!(details.text("approval_id").as_deref(), Some("7f"));
            assert_eq!(details.text("command").as_deref(), Some("mgp permissions approve 7f"));
            assert!(!details.contains("link"));
        }
        let link = "http://127.0.0.1:1/questions/7f";
        question.link = Some(link.to_owned());
        let subject = WaitingSubject::Server(&server);
        let error = waits_for_approval(code::SERVER_NOT_READY, &subject, &question);
        let told = format!("approve it at {link}, or with `mgp permissions approve 7f` in a terminal; after");
        assert!(error.message().contains(&told), "{error}");
        let details = Object::from_raw(&error.recovery().unwrap().details.unwrap()).unwrap();
        assert_eq!(details.text("link").as_deref(), Some(link));
        question.is_watched = true;
        let told = format!("approve it in the open `mgp watch` or at {link}, or with `mgp permissions");
        let error = waits_for_approval(code::SERVER_NOT_READY, &subject, &question);
        assert!(error.message().contains(&told), "{error}");
        let words = question.in_words();
        assert!(
            words.starts_with("waiting for approval in `mgp watch`, or: mgp permissions approve 7f"),
            "{words}"
        );
    }
}
