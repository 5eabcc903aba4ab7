//! The part of the permission gate that has undecided permissions decided, and waits for operators.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, join_all, select};
use mgp_types::mgp::{
    Actor, Decision, EventType, Outcome, Permission, Refusal, ServerId, Timestamp, TraceId, code,
};
use mgp_types::{Context, Error, GateKind, Origin, Principal, Request, shell_word};

use super::PermissionGate;
use super::judge::{RequestAdmission, arguments};
use crate::Finding;
use crate::permission::record::{Ruling, event};
use crate::permission::settings::PermissionJudgement;
use crate::permission::{
    ApprovalAnswer, ApprovalQuestion, ApprovalReply, ApprovalSubject, GrantLifetime, GrantVerdict,
    RETRY_AFTER_MS, ShownArguments, WaitingQuestion, WaitingSubject, check_operator, waits_for_approval,
};
use crate::refusal::{advice, refusal};

/// The outcome for the permissions that a call waited for.
#[derive(Default)]
pub(super) struct WaitedPermissions {
    /// The permissions that were granted for the call alone.
    pub(super) once: Vec<Permission>,
    /// True if a person answered who was shown the call.
    pub(super) was_shown: bool,
    /// The permissions that operators still have to decide about, with the questions.
    waits: Vec<(Permission, WaitingQuestion)>,
}

impl PermissionGate {
    /// Checks whether `request` may go on now that it has waited.
    ///
    /// # Errors
    /// Fails with the refusal of the request.
    pub(super) fn admit_late(&self, request: &Request, waited: &WaitedPermissions) -> Result<(), Error> {
        match self.admit(request)? {
            RequestAdmission::Pass => Ok(()),
            RequestAdmission::Negotiating => Err(not_ready(self.server(), None, request)),
            RequestAdmission::Wait(undecided) => {
                let waits = waited.waits.iter().find(|(permission, _)| undecided.contains(permission));
                let question = waits.map(|(_, question)| question.clone());
                let first = undecided.first();
                let expired = first.and_then(|first| self.undecided(first, Some(&request.context)));
                let reason = PermissionRefusal::Undecided { expired: expired == Some(true), question };
                let permission = waits.map(|(permission, _)| permission).or(first);
                Err(refuse(self.server(), &reason, permission, request))
            }
        }
    }

    /// Has all of `permissions` decided at the same time, or waits until the patience for them is over: for `call` or,
    /// without one, for the server to operate.
    ///
    /// # Errors
    /// Fails if a decision cannot be recorded, or if the caller has to be asked first.
    pub(super) async fn settle_all(
        &self,
        permissions: &[Permission],
        call: Option<&Request>,
    ) -> Result<WaitedPermissions, Error> {
        let settling = permissions.iter().map(|permission| self.settle(permission, call));
        let mut outcome = Ok(WaitedPermissions::default());
        for settled in join_all(settling).await {
            match (settled, &mut outcome) {
                // The caller is asked all questions at once, whatever other errors there are.
                (Err(error), _) if error.origin() == Origin::InputRequired => return Err(error),
                (Err(error), _) => outcome = Err(error),
                (Ok(settled), Ok(waited)) => {
                    waited.once.extend(settled.once);
                    waited.was_shown |= settled.was_shown;
                    waited.waits.extend(settled.waits);
                }
                (Ok(_), Err(_)) => {}
            }
        }
        outcome
    }

    /// Has `permission` decided, by the settings or by an operator. It may stay undecided.
    async fn settle(
        &self,
        permission: &Permission,
        call: Option<&Request>,
    ) -> Result<WaitedPermissions, Error> {
        let verdict = match self.0.settings.judge(permission, self.0.book.now()) {
            PermissionJudgement::Approved { terms, .. } => GrantVerdict::Approved(terms.clone()),
            PermissionJudgement::Undecided { .. } => return self.ask(permission, call).await,
            _ => GrantVerdict::Denied { until: None },
        };
        self.record(permission, &verdict, call.and_then(|call| call.context.trace)).await?;
        Ok(WaitedPermissions::default())
    }

    /// Records the decision of the settings in the audit trail; from then on it counts.
    async fn record(
        &self,
        permission: &Permission,
        verdict: &GrantVerdict,
        trace: Option<TraceId>,
    ) -> Result<(), Error> {
        let _alone = self.0.settling.lock().await;
        if self.0.settled.load().contains(permission) {
            return Ok(());
        }
        if self.0.settled.load().len() >= MAX_SETTLED {
            let message = "the server needs more permissions than anybody keeps count of";
            return Err(Error::new(code::RESOURCE_EXHAUSTED, message));
        }
        let (actor, now) = (Actor::kernel(), self.0.book.now());
        let event = event(actor, self.server(), permission, verdict, now, trace, Outcome::Success)
            .with_detail("policy", &self.0.settings.policy);
        self.0.book.record(event).await?;
        let mut settled = super::SettledPermissions::clone(&self.0.settled.load());
        settled.insert(permission.clone());
        self.0.settled.store(Arc::new(settled));
        Ok(())
    }

    async fn ask(&self, permission: &Permission, call: Option<&Request>) -> Result<WaitedPermissions, Error> {
        let by = call.map(|call| &*call.context);
        // A permission that an operator has decided about is asked for again only when the decision has run out.
        if self.undecided(permission, by).is_none() {
            return Ok(WaitedPermissions::default());
        }
        self.0.book.note_waiting(self.server(), permission);
        let subject = ApprovalSubject::Permission {
            permission: permission.clone(),
            risk: permission.risk(),
            tool: call
                .and_then(|call| call.judged_by(GateKind::Permission).ok()?)
                .map(|judged| judged.tool.name.clone()),
            flow: call.and_then(|call| call.context.flow.as_ref()).map(|flow| flow.in_words()),
            arguments: call.map(shown).transpose()?,
        };
        let context = call.map_or_else(Context::default, |call| (*call.context).clone());
        let question = ApprovalQuestion::new(self.server().clone(), subject, context);
        let patience = self.0.settings.patience;
        let question = match call {
            Some(call) => question.for_call(call, patience),
            None => ApprovalQuestion { patience, ..question },
        };
        match self.answer(question, permission, by).await? {
            Some(ApprovalReply::Answer(answer)) => self.take(permission, &answer, call).await,
            Some(ApprovalReply::Waits(question)) => Ok(WaitedPermissions {
                waits: vec![(permission.clone(), question)],
                ..WaitedPermissions::default()
            }),
            None => Ok(WaitedPermissions::default()),
        }
    }

    /// Returns the result of asking; `None` if a decision was made elsewhere in the meantime.
    async fn answer(
        &self,
        question: ApprovalQuestion,
        permission: &Permission,
        by: Option<&Context>,
    ) -> Result<Option<ApprovalReply>, Error> {
        let mut changes = self.0.book.changes();
        let decided = async {
            // The sender lives as long as the book does, so waiting fails only when no more decisions can be made.
            while self.undecided(permission, by).is_some() && changes.changed().await.is_ok() {}
        };
        let asked = question.clone();
        match select(self.0.approver.ask(question), pin!(decided)).await {
            Either::Left((reply, _)) => reply.map(Some),
            Either::Right(((), asking)) => {
                drop(asking);
                self.0.approver.take_back(&asked).await;
                Ok(None)
            }
        }
    }

    async fn take(
        &self,
        permission: &Permission,
        answer: &ApprovalAnswer,
        call: Option<&Request>,
    ) -> Result<WaitedPermissions, Error> {
        check_operator(&answer.approver)?;
        let mut settled = WaitedPermissions { was_shown: true, ..WaitedPermissions::default() };
        let context = call.map(|call| &*call.context);
        let is_once = answer.decision == Decision::Approved && answer.terms.lasts == GrantLifetime::Once;
        match Ruling::of_answer(answer, self.server(), permission, context) {
            Some(ruling) if is_once && call.is_some() => {
                self.0.book.record_once(ruling).await?;
                settled.once.push(permission.clone());
            }
            Some(ruling) => self.0.book.rule(ruling).await?,
            None => {}
        }
        if let (Some(call), Some(_), Decision::Denied) = (call, &answer.reason, answer.decision) {
            let reason = PermissionRefusal::DeniedBecause { said: answer.because() };
            return Err(refuse(self.server(), &reason, Some(permission), call));
        }
        Ok(settled)
    }

    /// Returns whether an earlier grant of `permission` has ended, if a person has to decide about it; `None` if nobody has
    /// to.
    pub(super) fn undecided(&self, permission: &Permission, by: Option<&Context>) -> Option<bool> {
        let standing = self.0.book.standing();
        let judged = self.judge(&standing, permission, by, self.0.book.now());
        if let PermissionJudgement::Undecided { expired } = judged { Some(expired) } else { None }
    }
}

/// Returns the shown form of a call: the arguments of a tool, or all parameters of another request.
fn shown(call: &Request) -> Result<ShownArguments, Error> {
    ShownArguments::of(arguments(call).as_ref()).map_err(|why| {
        let message = format!("the call cannot be put before a person: {why}");
        let next = [("reason", "unshowable"), ("next", "call again with less at once")];
        Error::new(code::PERMISSION_DENIED, message).with_recovery(advice(code::PERMISSION_DENIED, &next))
    })
}

/// The largest number of permissions for which decisions of the settings are recorded and kept. A server invents
/// names as it likes.
const MAX_SETTLED: usize = 512;

/// The reason why a call may not use a permission.
#[derive(Debug)]
pub(in crate::permission) enum PermissionRefusal {
    /// An operator or the settings denied the permission; `until` is the end of the denial, if it has one.
    Denied { until: Option<Timestamp> },
    /// An operator who was asked denied the permission for a reason, which is told in these words.
    DeniedBecause { said: String },
    /// Nobody has decided, or no longer: with `expired`, an earlier grant has ended. The question waits, if there is one.
    Undecided { expired: bool, question: Option<WaitingQuestion> },
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
        PermissionRefusal::Denied { .. } | PermissionRefusal::DeniedBecause { .. } => (
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
    if let PermissionRefusal::Undecided { question: Some(question), .. } = reason {
        let subject = WaitingSubject::Permission { permission: name, server, reason: word };
        return waits_for_approval(code::PERMISSION_DENIED, &subject, question);
    }
    let message = match reason {
        PermissionRefusal::Undecided { .. } => format!(
            "the permission `{name}` of the server `{server}` is {word}: a person has to grant it by `mgp permissions \
             approve {} {} --agent {}` in a terminal; after that, make the same call again",
            shell_word(server.as_str()),
            shell_word(name),
            shell_word(
                &request.context.principal.as_ref().map_or_else(|| "AGENT".into(), Principal::access_id)
            )
        ),
        PermissionRefusal::Denied { until: Some(end) } => format!(
            "the permission `{name}` of the server `{server}` is denied until {end}: {next}; \
             `mgp permissions reset {server} {name}` ends that"
        ),
        PermissionRefusal::DeniedBecause { said } => {
            format!("an operator denied the permission `{name}` of the server `{server}`{said}; {next}")
        }
        PermissionRefusal::OutOfScope(finding) => finding.message.to_string(),
        PermissionRefusal::NotYours => "callers do not decide about permissions".to_owned(),
        PermissionRefusal::Denied { until: None } => format!(
            "the permission `{name}` of the server `{server}` is denied: {next}; `mgp permissions show {server}` shows by \
             whom, `mgp permissions approve {server} {name} --agent AGENT` grants it"
        ),
    };
    let details = [("reason", word), ("permission", name), ("server_id", server.as_str()), ("next", next)];
    let mut recovery = advice(code::PERMISSION_DENIED, &details);
    if matches!(reason, PermissionRefusal::Undecided { expired: false, .. }) {
        recovery = recovery.with_retryable(true).with_retry_after_ms(RETRY_AFTER_MS);
    }
    Error::new(code::PERMISSION_DENIED, message).with_recovery(recovery)
}

/// Refuses a call to a server that does not have what it needs to operate yet; `waits` is the question to an operator, if
/// there is one.
pub(super) fn not_ready(server: &ServerId, waits: Option<&WaitingQuestion>, request: &Request) -> Error {
    request.context.note_refusal(Refusal::new("permission", "not-settled"));
    if let Some(question) = waits {
        let waits = WaitingSubject::Server(server);
        return waits_for_approval(code::SERVER_NOT_READY, &waits, question);
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
