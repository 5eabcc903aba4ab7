use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, join_all, select};
use mgp_types::mgp::{Actor, Decision, EventType, Outcome, Permission, TraceId, code};
use mgp_types::{Context, Error, Origin, Request};

use super::judge::{Admission, Judgement};
use super::refusal::{Reason, refuse};
use super::{PermissionGate, Settled};
use crate::permission::book::{Ruling, check_operator, event};
use crate::permission::settings::Say;
use crate::permission::{ApprovalAnswer, ApprovalQuestion, Approver, ShownArguments, Subject, Verdict};
use crate::refusal::advice;

impl PermissionGate {
    /// Has everything decided that `request` waits for, or waits until nobody has the patience any more.
    ///
    /// # Errors
    /// A decision cannot be recorded, or the caller has to be asked first.
    pub(super) async fn wait(&self, request: &Request, undecided: &[Permission]) -> Result<(), Error> {
        self.settle_all(undecided, Some(request)).await
    }

    /// Whether `request` may go on now that it has waited.
    ///
    /// # Errors
    /// The request is refused.
    pub(super) fn admit_late(&self, request: &Request) -> Result<(), Error> {
        match self.admit(request) {
            Admission::Pass => Ok(()),
            Admission::Refused(error) => Err(error),
            Admission::Wait(undecided) => {
                let reason = if self.has_expired(&undecided) { Reason::Expired } else { Reason::Deferred };
                Err(refuse(self.server(), &reason, undecided.first(), request))
            }
        }
    }

    /// Has all of `permissions` decided, at the same time: for `call`, or for the server to operate.
    pub(super) async fn settle_all(
        &self,
        permissions: &[Permission],
        call: Option<&Request>,
    ) -> Result<(), Error> {
        let settling = permissions.iter().map(|permission| self.settle(permission, call));
        let mut outcome = Ok(());
        for settled in join_all(settling).await {
            match settled {
                // The caller is asked all questions at once, whatever else went wrong.
                Err(error) if error.origin() == Origin::InputRequired => return Err(error),
                Err(error) => outcome = Err(error),
                Ok(()) => {}
            }
        }
        outcome
    }

    /// Has `permission` decided, by the settings or by an operator. It may stay undecided.
    async fn settle(&self, permission: &Permission, call: Option<&Request>) -> Result<(), Error> {
        let verdict = match self.0.settings.say(permission, self.0.book.now()) {
            Say::Approved(terms, _) => Verdict::Approved(terms.clone()),
            Say::Denied => Verdict::Denied,
            Say::Ask => return self.ask(permission, call).await,
        };
        self.record(permission, &verdict, call.and_then(|call| call.context.trace)).await
    }

    /// Puts what the settings say into the audit trail; from then on it counts.
    async fn record(
        &self,
        permission: &Permission,
        verdict: &Verdict,
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
        let kind = match verdict {
            Verdict::Approved(_) => EventType::PermissionGranted,
            Verdict::Denied => EventType::PermissionDenied,
        };
        let now = self.0.book.now();
        let event =
            event(kind, Actor::kernel(), self.server(), permission, verdict, now, trace, Outcome::Success)
                .with_detail("policy", &self.0.settings.policy());
        self.0.book.record(event).await?;
        let mut settled = Settled::clone(&self.0.settled.load());
        settled.insert(permission.clone());
        self.0.settled.store(Arc::new(settled));
        Ok(())
    }

    async fn ask(&self, permission: &Permission, call: Option<&Request>) -> Result<(), Error> {
        // What an operator has decided before is asked again only when it has run out.
        if !self.is_undecided(permission) {
            return Ok(());
        }
        self.0.book.note_waiting(self.server(), permission);
        let Some(approver) = self.0.approver.as_deref().filter(|_| !self.0.settings.patience().is_zero())
        else {
            return Ok(());
        };
        let subject = Subject::Permission {
            permission: permission.clone(),
            risk: self.0.settings.risk(permission),
            tool: call.and_then(|call| call.context.tool.as_ref()).map(|tool| tool.name.clone()),
            arguments: call.map(shown).transpose()?,
        };
        let context = call.map_or_else(Context::default, |call| call.context.clone());
        let trace = context.trace;
        let question = ApprovalQuestion::new(self.server().clone(), subject, context);
        let answered =
            tokio::time::timeout(self.0.settings.patience(), self.answer(approver, question, permission));
        match answered.await {
            Ok(Ok(Some(answer))) => self.take(permission, answer, trace).await,
            Ok(Ok(None)) | Err(_) => Ok(()),
            Ok(Err(error)) => Err(error),
        }
    }

    /// The operator's answer; `None` if something was decided in the meantime without it.
    async fn answer(
        &self,
        approver: &dyn Approver,
        question: ApprovalQuestion,
        permission: &Permission,
    ) -> Result<Option<ApprovalAnswer>, Error> {
        let mut changes = self.0.book.changes();
        let decided = async {
            // The sender lives as long as the book does, so waiting fails only when nothing can be decided any more.
            while self.is_undecided(permission) && changes.changed().await.is_ok() {}
        };
        match select(approver.ask(question), pin!(decided)).await {
            Either::Left((answer, _)) => answer.map(Some),
            Either::Right(_) => Ok(None),
        }
    }

    async fn take(
        &self,
        permission: &Permission,
        answer: ApprovalAnswer,
        trace: Option<TraceId>,
    ) -> Result<(), Error> {
        check_operator(&answer.approver)?;
        let verdict = match answer.decision {
            Decision::Approved => Verdict::Approved(answer.terms),
            Decision::Denied => Verdict::Denied,
            Decision::Deferred => return Ok(()),
        };
        let ruling = Ruling::new(&answer.approver, self.server(), permission, verdict);
        self.0.book.rule(Ruling { trace, ..ruling }).await
    }

    fn is_undecided(&self, permission: &Permission) -> bool {
        let standing = self.0.book.standing();
        matches!(self.judge(&standing, permission, self.0.book.now()), Judgement::Undecided { .. })
    }

    fn has_expired(&self, permissions: &[Permission]) -> bool {
        let standing = self.0.book.standing();
        let now = self.0.book.now();
        let expired = |permission: &&Permission| {
            matches!(self.judge(&standing, permission, now), Judgement::Undecided { expired: true })
        };
        permissions.first().as_ref().is_some_and(expired)
    }
}

/// The call as people are shown it: the arguments of a tool, or all that another request says.
fn shown(call: &Request) -> Result<ShownArguments, Error> {
    let arguments = match call.context.tool {
        Some(_) => call.params.get("arguments"),
        None => Some(call.params.to_raw()),
    };
    ShownArguments::of(arguments.as_ref()).map_err(|why| {
        Error::new(code::PERMISSION_DENIED, format!("the call cannot be put before a person: {why}"))
            .with_recovery(advice(
                code::PERMISSION_DENIED,
                &[("reason", "unshowable"), ("next", "call again with less at once")],
            ))
    })
}

/// A server thinks up names as it likes; what the settings say of each is kept, and recorded, only for so many.
const MAX_SETTLED: usize = 512;
