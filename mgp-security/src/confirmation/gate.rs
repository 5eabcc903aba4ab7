//! The gate that holds a call until a human has confirmed it.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use mgp_types::mgp::{Asking, Decision, EventType, Refusal, ResolvedTool, RiskLevel, code};
use mgp_types::{AskedRule, Error, Flow, Gate, GateKind, Origin, Principal, RawJson, Request, Response};
#[cfg(feature = "ext")]
use mgp_types::{Object, ext::ToolDeclaration};
use tokio::sync::watch;

use super::settings::{has_new_flow, risk};
use super::standing::StandingConfirmations;
use super::{ConfirmationBinding, ConfirmationSettings};
use crate::permission::{
    ApprovalAnswer, ApprovalQuestion, ApprovalReply, ApprovalSubject, Approver, ShownArguments,
    WaitingSubject, check_operator, waits_for_approval,
};
use crate::refusal::advice;

/// A gate that lets a call through once a human has confirmed it.
///
/// The gate stands further in than the layers that check or change arguments, so that a human sees what will be sent;
/// further out than every timeout, because a call may wait for minutes; and further in than the permission gate, so
/// that nobody is asked about a call that is refused anyhow. It reads `context.tool` or `context.operation`, and
/// `context.principal`; a call that needs confirmation is refused without them. It writes `context.trail`. A refusal
/// is 1000 with advice. A call that needs no confirmation costs no lock and no allocation. Dropping a waiting call
/// withdraws its question. An operator can confirm several calls of a tool that is not dangerous at once. If the server of a confirmed call asks for input, the round that brings the input goes on
/// under the same confirmation.
#[derive(Debug, Clone)]
pub struct ConfirmationGate(Arc<ConfirmationShared>);

#[derive(Debug)]
struct ConfirmationShared {
    settings: ConfirmationSettings,
    approver: Arc<dyn Approver>,
    /// The confirmed calls whose servers asked for input before they went on.
    rounds: StandingConfirmations,
    /// The confirmations of several calls of a tool by an agent, with whatever arguments.
    batches: StandingConfirmations,
    /// The number of times that several calls were confirmed at once.
    given: watch::Sender<u64>,
}

impl ConfirmationGate {
    /// Returns a gate that has calls confirmed as `settings` says, through `approver`.
    pub fn new(settings: ConfirmationSettings, approver: Arc<dyn Approver>) -> Self {
        Self(Arc::new(ConfirmationShared {
            settings,
            approver,
            rounds: StandingConfirmations::default(),
            batches: StandingConfirmations::default(),
            given: watch::Sender::new(0),
        }))
    }
}

impl Gate for ConfirmationGate {
    type Pass = Option<(ConfirmationBinding, Principal)>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let call = match self.0.admit(request) {
            Ok(None) => return Flow::Pass(None),
            Ok(Some(call)) => call,
            Err(error) => return Flow::refuse(error),
        };
        let (shared, request) = (Arc::clone(&self.0), request.take());
        Flow::wait(async move {
            let approver = match shared.known(&call, &request) {
                Some(approver) => Ok(approver),
                None => shared.confirm(&call, &request).await,
            };
            let flow = approver.map(|approver| {
                if let Some(trail) = &request.context.trail {
                    trail.note_approved_by(&approver.id());
                }
                Some((call.binding, approver))
            });
            (request, flow.into())
        })
    }

    fn explain(&self, request: &mut Request, answers: &mut Vec<AskedRule>) {
        answers.push(match self.0.admit(request) {
            Ok(Some(call)) if !has_new_flow(request) && self.0.batches.holds(call.any) => {
                AskedRule::judged("confirmation", Ok("a person confirmed calls of this tool before"))
            }
            Ok(Some(call)) if call.is_asked_once => {
                AskedRule::asks("confirmation", "a person confirms it, and a yes holds a day")
            }
            Ok(Some(_)) => AskedRule::asks("confirmation", "a person confirms it each time"),
            admitted => AskedRule::judged("confirmation", admitted.map(|_| "")),
        });
    }

    fn leave(&self, pass: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let (Some((binding, approver)), Ok(response)) = (pass, outcome) {
            self.0.rounds.note(binding, approver, response);
        }
    }
}

/// A call that needs confirmation.
struct UnconfirmedCall {
    tool: Arc<ResolvedTool>,
    arguments: Option<RawJson>,
    /// True if a yes also holds for the calls to come.
    is_asked_once: bool,
    /// The binding of the calls that may be confirmed together: those of the tool by this caller, and where a rule has it
    /// asked once, those of them with this effect.
    any: ConfirmationBinding,
    binding: ConfirmationBinding,
}

impl ConfirmationShared {
    fn admit(&self, request: &Request) -> Result<Option<UnconfirmedCall>, Error> {
        let Some(judged) = request.judged_by(GateKind::Confirmation)? else { return Ok(None) };
        let tool = judged.tool;
        let Some(asking) = self.settings.asking(tool, request) else { return Ok(None) };
        let caller = request.context.principal.clone();
        let caller = caller.ok_or_else(|| Error::invalid_request("nobody says who calls"))?;
        let arguments = judged.arguments();
        let any = ConfirmationBinding::of_tool(&caller, tool)?;
        let binding = any.with_arguments(arguments.as_ref())?;
        let is_asked_once = asking == Asking::Once;
        let any = if is_asked_once { any.with_effect(request.context.effect) } else { any };
        Ok(Some(UnconfirmedCall { tool: tool.clone(), arguments, is_asked_once, any, binding }))
    }

    /// Returns the operator who has already confirmed `call`: in an earlier round of it, or with other calls of its
    /// tool.
    fn known(&self, call: &UnconfirmedCall, request: &Request) -> Option<Principal> {
        let in_batch = || if has_new_flow(request) { None } else { self.batches.take(call.any) };
        self.rounds.take_round(call.binding, request).or_else(in_batch)
    }

    /// Waits for a confirmation that is given to other calls, and is for this one, too.
    async fn given(&self, call: &UnconfirmedCall) -> Principal {
        let mut given = self.given.subscribe();
        loop {
            if let Some(approver) = self.batches.take(call.any) {
                return approver;
            }
            // The sender is held here, so it cannot be dropped.
            let _ = given.changed().await;
        }
    }

    /// Waits until a human confirms `call`, and returns who did.
    ///
    /// # Errors
    /// Fails if a human says no, if nobody answers in time, or if the answer is from somebody who may not give it.
    async fn confirm(&self, call: &UnconfirmedCall, request: &Request) -> Result<Principal, Error> {
        let arguments = ShownArguments::of(call.arguments.as_ref())
            .map_err(|why| refuse("unshowable", format!("the call cannot be confirmed: {why}"), request))?;
        let answer = match self.ask(call, arguments, request).await {
            Ok(ApprovalReply::Answer(answer)) => answer,
            Ok(ApprovalReply::Waits(id)) => {
                note_refusal("timeout", request);
                let waits = WaitingSubject::Call { tool: call.tool.name.as_str(), server: &call.tool.server };
                return Err(waits_for_approval(code::PERMISSION_DENIED, &waits, &id, &request.context));
            }
            Err(error) if error.origin() == Origin::InputRequired => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "nobody can be asked to confirm a call");
                let message = format!("the call cannot be put before a person: {}", error.message());
                return Err(refuse("unasked", message, request));
            }
        };
        match answer.decision {
            Decision::Approved => {}
            Decision::Denied => {
                let message = match answer.terms.expires_at {
                    Some(end) => {
                        format!("an operator did not confirm the call; the same call is refused until {end}")
                    }
                    None => "an operator did not confirm the call".to_owned(),
                };
                return Err(refuse("denied", message, request));
            }
            Decision::Deferred => {
                return Err(refuse("deferred", "nobody has decided about the call yet", request));
            }
        }
        check_operator(&answer.approver)?;
        // What is dangerous is confirmed call by call.
        let may_batch = call.is_asked_once || risk(&call.tool, request) < RiskLevel::Dangerous;
        if may_batch && self.batches.give(call.any, &answer, call.is_asked_once) {
            self.given.send_modify(|given| *given += 1);
        }
        Ok(answer.approver)
    }

    /// Returns the result of asking, or a confirmation that was given with other calls in the meantime.
    async fn ask(
        &self,
        call: &UnconfirmedCall,
        arguments: ShownArguments,
        request: &Request,
    ) -> Result<ApprovalReply, Error> {
        let subject = ApprovalSubject::Call {
            tool: call.tool.name.clone(),
            risk: risk(&call.tool, request),
            effect: request.context.effect,
            flow: request.context.flow.as_ref().map(|flow| flow.in_words()),
            says: server_question(&call.tool, &arguments),
            is_for_a_day: call.is_asked_once,
            arguments,
            binding: call.binding.0.to_string(),
        };
        let question = ApprovalQuestion::new(call.tool.server.clone(), subject, (*request.context).clone());
        let question = question.for_call(request, self.settings.patience);
        let reply = self.approver.ask(question.clone());
        match select(reply, pin!(self.given(call))).await {
            Either::Left((reply, _)) => reply,
            Either::Right((approver, asking)) => {
                drop(asking);
                self.approver.take_back(&question).await;
                Ok(ApprovalReply::Answer(ApprovalAnswer::new(approver, Decision::Approved)))
            }
        }
    }
}

/// Returns the question that the server of a call has for people. Its placeholders stand for arguments as they are shown;
/// where a part of these is hidden, they stay as they are written.
#[cfg(feature = "ext")]
fn server_question(tool: &ResolvedTool, arguments: &ShownArguments) -> Option<String> {
    let shown = Object::parse(arguments.whole().to_owned()).unwrap_or_default();
    ToolDeclaration::of_definition(&tool.definition).confirmation_question(&shown)
}

#[cfg(not(feature = "ext"))]
const fn server_question(_: &ResolvedTool, _: &ShownArguments) -> Option<String> {
    None
}

fn refuse(reason: &'static str, message: impl Into<Cow<'static, str>>, request: &Request) -> Error {
    note_refusal(reason, request);
    let next = match reason {
        "unshowable" => "call it again with less at once, so that a person can be shown all of it",
        "denied" => "do not call it again with these arguments; ask the user what to do instead",
        _ => "tell the user that an operator has to confirm it, and call again then",
    };
    let recovery = advice(code::PERMISSION_DENIED, &[("reason", reason), ("next", next)]);
    Error::new(code::PERMISSION_DENIED, message).with_recovery(recovery)
}

fn note_refusal(reason: &'static str, request: &Request) {
    tracing::debug!(reason, "a call was not confirmed");
    request
        .context
        .note_refusal(Refusal::new("confirmation", reason).with_event(EventType::PermissionDenied));
}
