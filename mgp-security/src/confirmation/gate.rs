//! The gate that holds a call until a human has confirmed it, and the settings for which calls need that.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use mgp_types::ext::ToolDeclaration;
use mgp_types::mgp::{
    Asking, CallEffect, Decision, EventType, Permission, Refusal, ResolvedTool, RiskLevel, code,
};
use mgp_types::{
    AskedRule, Error, Flow, Gate, GateKind, Method, Object, Origin, Principal, RawJson, Request, Response,
};

use super::binding::{ConfirmationBinding, EditedCall, canonical};
use super::standing::{ConfirmedCalls, ConfirmedRounds};
use crate::permission::{
    ApprovalAnswer, ApprovalQuestion, ApprovalReply, ApprovalSubject, Approver, GrantBook, GrantedOnce,
    ShownArguments, WaitingSubject, check_operator, waits_for_approval,
};
use crate::refusal::advice;

mgp_types::with_defaults! {
    /// The settings for which calls a human confirms (§4.4). They are independent of the permission policy: one that
    /// approves all permissions does not change them.
    ///
    /// A call whose tool asks for confirmation is confirmed, and so is one that destroys, sends, spends or gives access, as its
    /// [effect](CallEffect) says, and one whose effect is unknown, once a day for its tool. Beyond that, calls of `safe` tools
    /// are not, calls of `moderate` tools are if this is switched on, and calls of `dangerous` tools are, unless an operator's
    /// explicit permission is to be enough. A query that is known to read has the risk of a tool that reads. An operator's rule
    /// about the call, in `context.asking`, takes precedence over all of it.
    #[derive(Debug, Clone)]
    pub struct ConfirmationSettings {
        /// True if every call is confirmed, whatever the other settings say.
        pub every: bool = false,
        /// True if calls of moderate risk are confirmed.
        pub moderate: bool = false,
        /// True if calls are confirmed that are dangerous or whose tool asks for it. Default: true.
        pub dangerous: bool = true,
        /// The book whose explicit permission is accepted in place of the confirmation of a dangerous call: an operator
        /// must have granted every permission that its tool needs, and it must need at least one. Permissions granted by a
        /// policy do not count.
        pub instead: Option<GrantBook> = None,
        /// The time that a call waits for a human before it is refused. Default: 5 minutes.
        pub patience: Duration = Duration::from_mins(5),
    }
}

impl ConfirmationSettings {
    /// Returns how a person is asked about the call: each time, or once for the calls of a day, of this tool with this
    /// effect. `None` if nobody is asked.
    fn asking(&self, tool: &ResolvedTool, call: &Request) -> Option<Asking> {
        // No rule and no permission is about what an agent took in.
        let has_flow = self.dangerous && has_new_flow(call);
        match call.context.asking {
            Some(Asking::Never) => return has_flow.then_some(Asking::Always),
            Some(asking) => return Some(asking),
            None => {}
        }
        // A permission of the server says nothing about one call that destroys, sends, spends or gives access.
        let is_grave = call.context.effect.is_some_and(CallEffect::is_grave);
        //= mgp §4.4
        //# Require explicit confirmation or permission
        let each_time = has_flow
            || self.every
            || (self.dangerous && (is_grave || tool.security.confirmation))
            || match risk(tool, call) {
                RiskLevel::Safe => false,
                RiskLevel::Moderate => self.moderate,
                RiskLevel::Dangerous => self.dangerous && !self.is_permitted(tool, call),
            };
        let is_once = matches!(call.context.effect, Some(CallEffect::RunsLater | CallEffect::Unknown));
        if each_time { Some(Asking::Always) } else { (self.dangerous && is_once).then_some(Asking::Once) }
    }

    fn is_permitted(&self, tool: &ResolvedTool, call: &Request) -> bool {
        let Some(book) = &self.instead else { return false };
        let permissions = &tool.security.permissions;
        !permissions.is_empty()
            && permissions.iter().all(|permission| {
                GrantedOnce::holds(call, permission)
                    || book.is_granted_for(&tool.server, permission, &call.context)
            })
    }
}

/// Returns whether the call may be the first to carry out what its agent took in.
fn has_new_flow(call: &Request) -> bool {
    call.context.flow.as_ref().is_some_and(|flow| flow.is_new)
}

/// Returns the risk of a call, by its tool and its effect.
fn risk(tool: &ResolvedTool, call: &Request) -> RiskLevel {
    let runs_commands = tool.security.guessed_permissions.contains(&Permission::ShellExecute);
    match call.context.effect {
        // What a known command does is all that the call does.
        Some(effect) if runs_commands && effect < CallEffect::Runs => effect.risk(),
        Some(CallEffect::Reads) => tool.security.risk_of_reading,
        effect => effect.map_or(RiskLevel::Safe, CallEffect::risk).max(tool.security.risk),
    }
}

/// A gate that lets a call through once a human has confirmed it.
///
/// The gate stands further in than the layers that check or change arguments, so that a human sees what will be sent;
/// further out than every timeout, because a call may wait for minutes; and further in than the permission gate, so
/// that nobody is asked about a call that is refused anyhow. It reads `context.tool` or `context.operation`, and
/// `context.principal`; a call that needs confirmation is refused without them. It writes `context.trail`. A refusal
/// is 1000 with advice. A call that needs no confirmation costs no lock and no allocation. Dropping a waiting call
/// withdraws its question. An operator can confirm several calls of a tool that is not dangerous at once. If the server of a
/// confirmed call asks for input, the round that brings the input goes on under the same confirmation.
///
/// A call that is approved with other arguments takes these, and enters all gates of its set anew; it is confirmed once, if
/// it comes back with exactly these. If its server asks for input, the round that brings it is asked about.
#[derive(Debug, Clone)]
pub struct ConfirmationGate(Arc<ConfirmationShared>);

#[derive(Debug)]
struct ConfirmationShared {
    settings: ConfirmationSettings,
    approver: Arc<dyn Approver>,
    /// The confirmed calls whose servers asked for input before they went on.
    rounds: ConfirmedRounds,
    /// The confirmations of several calls of a tool by an agent, with whatever arguments.
    batches: ConfirmedCalls,
}

impl ConfirmationGate {
    /// Returns a gate that has calls confirmed as `settings` says, through `approver`.
    pub fn new(settings: ConfirmationSettings, approver: Arc<dyn Approver>) -> Self {
        Self(Arc::new(ConfirmationShared {
            settings,
            approver,
            rounds: ConfirmedRounds::default(),
            batches: ConfirmedCalls::default(),
        }))
    }

    /// Shares the confirmations of several calls with other gates, in `batches`.
    #[must_use]
    pub fn sharing(mut self, batches: ConfirmedCalls) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            shared.batches = batches;
        }
        self
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
        let (shared, mut request) = (Arc::clone(&self.0), request.take());
        Flow::wait(async move {
            let approver = match shared.known(&call, &request) {
                Some(approver) => Ok(approver),
                None => shared.confirm(&call, &mut request).await,
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
                AskedRule::asks("confirmation", "a person confirms it, and an approval lasts a day")
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
    /// The binding of all calls of the tool by this caller.
    of_tool: ConfirmationBinding,
    binding: ConfirmationBinding,
}

impl UnconfirmedCall {
    /// Has the request take the arguments that an operator approved in place of its own.
    fn edit(&self, request: &mut Request, approver: Principal, arguments: RawJson) -> Result<(), Error> {
        let binding = self.of_tool.with_arguments(Some(&arguments))?;
        if let Some(trail) = &request.context.trail {
            let asked = canonical(self.arguments.as_ref().unwrap_or(&RawJson::empty_object()))?;
            trail.note_edit(&asked.to_string(), &canonical(&arguments)?.to_string());
        }
        request.params.set("arguments", arguments.clone());
        // What was granted for the call of the agent alone is not granted for the edited one.
        request.extensions.remove::<GrantedOnce>();
        request.extensions.insert(EditedCall { binding, approver, arguments });
        Ok(())
    }
}

impl ConfirmationShared {
    fn admit(&self, request: &Request) -> Result<Option<UnconfirmedCall>, Error> {
        let Some(judged) = request.judged_by(GateKind::Confirmation)? else { return Ok(None) };
        let tool = judged.tool;
        let Some(asking) = self.settings.asking(tool, request) else { return Ok(None) };
        let caller = request.context.principal.clone();
        let caller = caller.ok_or_else(|| Error::invalid_request("nobody says who calls"))?;
        let arguments = judged.arguments();
        let of_tool = ConfirmationBinding::of_tool(&caller, tool)?;
        let binding = of_tool.with_arguments(arguments.as_ref())?;
        let is_asked_once = asking == Asking::Once;
        let any = if is_asked_once { of_tool.with_effect(request.context.effect) } else { of_tool };
        Ok(Some(UnconfirmedCall { tool: tool.clone(), arguments, is_asked_once, any, of_tool, binding }))
    }

    /// Returns the operator who has already confirmed `call`: by its edited arguments, in an earlier round of it, or with
    /// other calls of its tool.
    fn known(&self, call: &UnconfirmedCall, request: &Request) -> Option<Principal> {
        let edited = request.extensions.get::<EditedCall>().filter(|edited| edited.binding == call.binding);
        let in_round = || self.rounds.take(call.binding, request);
        let in_batch = || if has_new_flow(request) { None } else { self.batches.take(call.any) };
        edited.map(|edited| edited.approver.clone()).or_else(in_round).or_else(in_batch)
    }

    /// Waits until a human confirms `call`, and returns who did.
    ///
    /// # Errors
    /// Fails if a human says no, if nobody answers in time, or if the answer is from somebody who may not give it; and if a
    /// human edits the call, which enters its gates anew.
    async fn confirm(&self, call: &UnconfirmedCall, request: &mut Request) -> Result<Principal, Error> {
        let arguments = ShownArguments::of(call.arguments.as_ref())
            .map_err(|why| refuse("unshowable", format!("the call cannot be confirmed: {why}"), request))?;
        let mut answer = match self.ask(call, arguments, request).await {
            Ok(ApprovalReply::Answer(answer)) => answer,
            Ok(ApprovalReply::Waits(question)) => {
                note_refusal("timeout", request);
                let waits = WaitingSubject::Call { tool: call.tool.name.as_str(), server: &call.tool.server };
                return Err(waits_for_approval(code::PERMISSION_DENIED, &waits, &question));
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
                let until =
                    answer.terms.expires_at.map(|end| format!("; the same call is refused until {end}"));
                let until = until.unwrap_or_default();
                let message = format!("an operator did not confirm the call{}{until}", answer.because());
                return Err(refuse("denied", message, request));
            }
            Decision::Deferred => {
                return Err(refuse("deferred", "nobody has decided about the call yet", request));
            }
        }
        check_operator(&answer.approver)?;
        if let Some(arguments) = answer.arguments.take() {
            call.edit(request, answer.approver, arguments)?;
            return Err(Error::changed());
        }
        // What is dangerous is confirmed call by call.
        let may_batch = call.is_asked_once || risk(&call.tool, request) < RiskLevel::Dangerous;
        if may_batch {
            let what = (call.tool.server.clone(), call.tool.name.clone(), request.context.principal.clone());
            self.batches.give(call.any, what, &answer, call.is_asked_once);
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
            command: request.context.command.as_deref().cloned(),
            flow: request.context.flow.as_ref().map(|flow| flow.in_words()),
            says: server_question(&call.tool, &arguments),
            is_for_a_day: call.is_asked_once,
            can_be_edited: request.method == Method::TOOLS_CALL
                && RawJson::parse(arguments.whole().to_owned()).is_ok(),
            arguments,
            binding: call.binding.0.to_string(),
            of_tool: call.any.0.to_string(),
        };
        let question = ApprovalQuestion::new(call.tool.server.clone(), subject, (*request.context).clone());
        let question = question.for_call(request, self.settings.patience);
        let reply = self.approver.ask(question.clone());
        match select(reply, pin!(self.batches.given(call.any))).await {
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
fn server_question(tool: &ResolvedTool, arguments: &ShownArguments) -> Option<String> {
    let shown = Object::parse(arguments.whole().to_owned()).unwrap_or_default();
    ToolDeclaration::of_definition(&tool.definition).confirmation_question(&shown)
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
    let refusal = Refusal::new("confirmation", reason).with_event(EventType::PermissionDenied);
    request.context.note_refusal(refusal);
}
