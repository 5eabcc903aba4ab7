use std::borrow::Cow;
use std::sync::Arc;

use mgp_types::mgp::{
    Actor, ActorType, AgentId, AuditEvent, AuditPort, AuditTarget, CallRecord, EventType, Outcome, Refusal,
    ResolvedTool, ServerId, ToolName, TraceId, ValidatorName, code,
};
use mgp_types::{
    CallEnding, Error, GateKind, Method, Object, Origin, Principal, RawJson, Request, RequestConcern,
    Response,
};
use tokio::time::Instant;

use super::clip::{clip, printable};
use super::details::EventDetails;
use super::layer::AuditLayerSettings;
use super::redact;

/// What is known of a call while it runs, for the record of it.
#[derive(Debug)]
pub(super) struct RecordedCall {
    settings: Arc<AuditLayerSettings>,
    subject: RecordSubject,
    method: Method,
    trace: TraceId,
    trail: Arc<CallRecord>,
    principal: Option<Principal>,
    /// Who speaks in the principal's name.
    speaker: Option<Principal>,
    /// What the request names: a tool, a resource or a prompt.
    named: Option<RawJson>,
    tool: Option<Arc<ResolvedTool>>,
    arguments: Option<RawJson>,
    started: Instant,
}

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordSubject {
    Tool,
    Resource,
    Prompt,
    Other,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordEnding {
    Done,
    Failed,
    Blocked,
    /// The tool asks for input first; the call comes again with it.
    Asking,
    Cancelled,
}

impl RecordSubject {
    pub(super) fn of(method: &Method) -> Self {
        if *method == Method::TOOLS_CALL {
            return Self::Tool;
        }
        match method.rule().filter(|rule| rule.gates.has(GateKind::Record)).map(|rule| rule.concern) {
            Some(RequestConcern::Resource) => Self::Resource,
            Some(RequestConcern::Prompt) => Self::Prompt,
            _ => Self::Other,
        }
    }

    /// Whether every such request is recorded; of the others only those that are refused.
    pub(super) const fn is_always_recorded(self) -> bool {
        !matches!(self, Self::Other)
    }

    fn event_type(self, ending: RecordEnding) -> EventType {
        let custom = match (self, ending) {
            (Self::Tool, RecordEnding::Blocked) => return EventType::ToolBlocked,
            (Self::Tool, RecordEnding::Asking) => "dev.cloto.mgp.input_required",
            (Self::Tool, _) => return EventType::ToolExecuted,
            (Self::Resource, _) => "dev.cloto.mgp.resource_read",
            (Self::Prompt, _) => "dev.cloto.mgp.prompt_used",
            (Self::Other, RecordEnding::Blocked) => "dev.cloto.mgp.request_blocked",
            (Self::Other, _) => "dev.cloto.mgp.method_passed",
        };
        EventType::Custom(custom.into())
    }
}

impl RecordedCall {
    pub(super) fn new(
        request: &Request,
        subject: RecordSubject,
        trace: TraceId,
        trail: Arc<CallRecord>,
        settings: Arc<AuditLayerSettings>,
    ) -> Self {
        let params = &request.params;
        let named = match subject {
            RecordSubject::Tool | RecordSubject::Prompt => params.get("name"),
            RecordSubject::Resource => params.get("uri"),
            RecordSubject::Other => None,
        };
        let wants_arguments = subject == RecordSubject::Tool && !settings.arguments.is_omitted();
        Self {
            subject,
            method: request.method.clone(),
            trace,
            trail,
            principal: request.context.principal.clone(),
            speaker: request.context.speaker.clone(),
            named,
            tool: request.context.tool.clone(),
            arguments: if wants_arguments { params.get("arguments") } else { None },
            started: Instant::now(),
            settings,
        }
    }

    pub(super) fn port(&self) -> &Arc<dyn AuditPort> {
        &self.settings.port
    }

    /// What is recorded of a call that was answered with this.
    pub(super) fn events(&self, answer: &Result<Response, Error>) -> Vec<AuditEvent> {
        let ending = match ending(answer, self.trail.refusal().is_some()) {
            // A call that its caller stopped is answered with what there was.
            RecordEnding::Done if self.trail.is_cancelled() => RecordEnding::Cancelled,
            ending => ending,
        };
        let code = answer.as_ref().err().filter(|_| ending != RecordEnding::Asking);
        self.write(ending, code)
    }

    /// What is recorded of a call for whose answer nobody waits any more.
    pub(super) fn cancelled(&self) -> Vec<AuditEvent> {
        self.write(RecordEnding::Cancelled, None)
    }

    fn write(&self, ending: RecordEnding, error: Option<&Error>) -> Vec<AuditEvent> {
        if !self.subject.is_always_recorded() && ending != RecordEnding::Blocked && !self.is_passed() {
            return Vec::new();
        }
        let result = match ending {
            RecordEnding::Done | RecordEnding::Asking => Outcome::Success,
            RecordEnding::Failed | RecordEnding::Cancelled => Outcome::Failure,
            RecordEnding::Blocked => Outcome::Blocked,
        };
        let (server, tool) = self.found();
        let mut event = self.event(self.subject.event_type(ending), result, (server.clone(), tool.clone()));
        event.details = self.details(ending, error, (&server, &tool));
        let cause = if ending == RecordEnding::Blocked { self.cause(error) } else { None };
        let Some(cause) = cause.filter(|cause| *cause != event.event_type) else { return vec![event] };
        let mut cause = self.event(cause, result, (server, tool));
        cause.timestamp = event.timestamp;
        let mut details = EventDetails::new();
        self.write_refusal(&mut details, error);
        cause.details = details.finish();
        vec![event, cause]
    }

    /// Whether it is a method beyond MCP and MGP that came as far as a server.
    fn is_passed(&self) -> bool {
        self.method.rule().is_none() && self.trail.target().is_some()
    }

    fn event(&self, event_type: EventType, result: Outcome, (server, tool): FoundTarget) -> AuditEvent {
        let tool = tool.map(|name| match clip(name.as_str(), MAX_NAME_BYTES) {
            Cow::Borrowed(_) => name.clone(),
            Cow::Owned(short) => short.as_str().into(),
        });
        let (now, target) = (self.settings.clock.now(), AuditTarget::new(server, tool));
        AuditEvent::new(now, self.trace, event_type, self.actor(), target, result)
    }

    fn actor(&self) -> Actor {
        let Some(principal) = &self.principal else {
            let name = self.settings.agent.as_ref().map_or("anonymous", AgentId::as_str);
            return Actor::new(ActorType::Agent, clip(name, MAX_NAME_BYTES));
        };
        let actor = Actor::of(principal);
        Actor::new(actor.kind, clip(&actor.id, MAX_NAME_BYTES))
    }

    /// What the trail says, for it comes from whoever decided; or else what the request said when it came in.
    fn found(&self) -> FoundTarget {
        if let Some((server, tool)) = self.trail.target() {
            return (Some(server.clone()), tool.cloned());
        }
        if let Some(tool) = &self.tool {
            return (Some(tool.server.clone()), Some(tool.name.clone()));
        }
        let named = if self.subject == RecordSubject::Tool { self.named() } else { None };
        (self.settings.server.clone(), named.as_deref().map(Into::into))
    }

    fn named(&self) -> Option<String> {
        self.named.as_ref().and_then(RawJson::to_text)
    }

    fn details(
        &self,
        ending: RecordEnding,
        error: Option<&Error>,
        (server, tool): (&Option<ServerId>, &Option<ToolName>),
    ) -> Object {
        let mut details = EventDetails::new();
        let risk = self.trail.risk().or_else(|| self.tool.as_ref().map(|tool| tool.security.risk));
        if let Some(risk) = risk {
            details.text("risk_level", risk.as_str());
        }
        if let [first, rest @ ..] = self.trail.validators() {
            details.text("validator_applied", first.as_str());
            if !rest.is_empty() {
                details.texts("validators", self.trail.validators().iter().map(ValidatorName::as_str));
            }
        }
        details.number("duration_ms", u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX));
        self.write_refusal(&mut details, error);
        if let Some(error) = error {
            details.signed("code", error.code());
        }
        if let Some(approver) = self.trail.approved_by() {
            details.text("approved_by", &clip(approver, MAX_NAME_BYTES));
        }
        if let Some(speaker) = &self.speaker {
            details.text("spoken_by", &clip(&speaker.id(), MAX_NAME_BYTES));
        }
        if ending == RecordEnding::Cancelled {
            details.flag("cancelled");
        }
        match self.subject {
            RecordSubject::Resource => {
                self.named().iter().for_each(|uri| details.text("uri", &without_secrets(uri)));
            }
            RecordSubject::Prompt => {
                self.named().iter().for_each(|name| details.text("prompt", &clip(name, MAX_NAME_BYTES)));
            }
            RecordSubject::Other => details.text("method", &printable(self.method.as_str(), MAX_NAME_BYTES)),
            RecordSubject::Tool => {}
        }
        if let Some(arguments) = &self.arguments {
            let at = server.as_ref().zip(tool.as_ref());
            self.settings.arguments.write(&mut details, arguments, self.tool.as_deref(), at);
        }
        details.finish()
    }

    fn write_refusal(&self, details: &mut EventDetails, error: Option<&Error>) {
        if let Some(Refusal { by, rule, .. }) = self.trail.refusal() {
            details.text("section", by);
            details.text("rule", rule);
        } else if error.is_some_and(|error| error.origin() == Origin::Peer && is_security(error.code())) {
            details.text("section", "peer");
        }
    }

    /// The event that tells why the call was blocked, if there is more to tell.
    fn cause(&self, error: Option<&Error>) -> Option<EventType> {
        match (self.trail.refusal(), error) {
            (Some(refusal), _) => refusal.event.clone(),
            // What a server decides is no decision of the kernel, which these events tell of.
            (None, Some(error)) if error.origin() == Origin::Peer => None,
            (None, error) => match error?.code() {
                code::PERMISSION_DENIED => Some(EventType::PermissionDenied),
                code::VALIDATION_BLOCKED => Some(EventType::ValidationFailed),
                code::CODE_SAFETY_VIOLATION => Some(EventType::CodeRejected),
                _ => None,
            },
        }
    }
}

fn ending(answer: &Result<Response, Error>, is_refused: bool) -> RecordEnding {
    match answer {
        Err(error) if error.origin() == Origin::InputRequired => RecordEnding::Asking,
        Err(error) if is_refused || is_security(error.code()) => RecordEnding::Blocked,
        Err(_) => RecordEnding::Failed,
        Ok(response) => match CallEnding::of(&response.result) {
            // A refusal may have been turned into a result on the way; one that was then answered was none.
            CallEnding::Failed if is_refused => RecordEnding::Blocked,
            CallEnding::Failed => RecordEnding::Failed,
            CallEnding::Asking => RecordEnding::Asking,
            CallEnding::Done => RecordEnding::Done,
        },
    }
}

fn is_security(number: i64) -> bool {
    code::category(number) == Some(mgp_types::mgp::Category::Security)
}

/// The address without what often carries a secret: the user, the query and the fragment.
fn without_secrets(uri: &str) -> String {
    let address = uri.split(['?', '#']).next().unwrap_or_default();
    redact::text(&clip(address, MAX_NAME_BYTES)).into_owned()
}

/// The server and its tool that a call is for, as far as they are known.
type FoundTarget = (Option<ServerId>, Option<ToolName>);

const MAX_NAME_BYTES: usize = 256;
