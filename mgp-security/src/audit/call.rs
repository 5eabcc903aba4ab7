//! The state of a call that is being audited, and the events that are made of it when it ends.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use mgp_types::json::ObjectWriter;
use mgp_types::mgp::{
    Actor, ActorType, AuditEvent, AuditTarget, CallRecord, EventType, Outcome, Refusal, ResolvedTool,
    ServerId, ToolName, TraceId, code,
};
use mgp_types::{
    CallEnding, Error, GateKind, Method, Object, Origin, Principal, RawJson, Request, RequestConcern,
    Response,
};
use tokio::time::Instant;

use super::clip::{clip, printable};
use super::layer::AuditLayerSettings;
use super::redact::{self, ArgumentRecording};

/// The facts about a running call that its audit record needs.
#[derive(Debug)]
pub(super) struct RecordedCall {
    pub(super) settings: Arc<AuditLayerSettings>,
    subject: RecordSubject,
    method: Method,
    trace: TraceId,
    trail: Arc<CallRecord>,
    /// The principal that speaks in the name of the caller, if there is one.
    speaker: Option<Principal>,
    /// The name in the request: that of a tool, a resource or a prompt.
    named: Option<RawJson>,
    tool: Option<Arc<ResolvedTool>>,
    arguments: Option<RawJson>,
    started: Instant,
    /// The number of its note in the log, for as long as it is in work.
    noted: Option<u32>,
}

/// The kind of thing that a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordSubject {
    Tool,
    Resource,
    Prompt,
    /// Something else; such a request is recorded only if it is refused, or passed to a server as a method beyond MCP
    /// and MGP.
    Other,
}

/// The way in which a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordEnding {
    Done,
    Failed,
    Blocked,
    /// The tool asked for input first; the call will be repeated with it.
    Asking,
    Cancelled,
}

impl RecordSubject {
    pub(super) fn of(method: &Method) -> Self {
        if *method == Method::TOOLS_CALL {
            return Self::Tool;
        }
        match method.rule().filter(|rule| rule.gates.contains(&GateKind::Record)).map(|rule| rule.concern) {
            Some(RequestConcern::Resource) => Self::Resource,
            Some(RequestConcern::Prompt) => Self::Prompt,
            _ => Self::Other,
        }
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
        let wants_arguments =
            subject == RecordSubject::Tool && !matches!(settings.arguments, ArgumentRecording::Omitted);
        Self {
            subject,
            method: request.method.clone(),
            trace,
            trail,
            speaker: request.context.speaker.clone(),
            named,
            tool: request.context.tool.clone(),
            arguments: if wants_arguments { params.get("arguments") } else { None },
            started: Instant::now(),
            settings,
            noted: None,
        }
    }

    /// Notes the call in the log before it is carried out.
    ///
    /// # Errors
    /// The call could not be recorded, so it must not happen.
    pub(super) fn open(&mut self) -> Result<(), Error> {
        if self.subject != RecordSubject::Other {
            self.noted = self.settings.port.open(&|| self.note())?;
        }
        Ok(())
    }

    /// Returns the facts about the call that are known before it is carried out.
    fn note(&self) -> Object {
        let mut note = ObjectWriter::new();
        note.plain("trace_id", self.trace);
        note.plain("timestamp", self.settings.clock.now());
        let agent = self.trail.caller().map_or(Cow::Borrowed(ANONYMOUS), Principal::id);
        note.text("agent", &printable(&agent, MAX_NOTED_BYTES));
        note.text("method", &printable(self.method.as_str(), MAX_NOTED_BYTES));
        if let Some(named) = self.named() {
            let named = named.split(['?', '#']).next().unwrap_or_default();
            note.text("name", &redact::name(&printable(named, MAX_NOTED_BYTES)));
        }
        note.finish()
    }

    /// Returns the events for a call that ended with `answer`.
    pub(super) fn events(&self, answer: &Result<Response, Error>) -> Vec<AuditEvent> {
        let ending = match ending(answer, self.trail.refusal().is_some()) {
            // A call that its caller cancelled is answered with the result so far.
            RecordEnding::Done if self.trail.is_cancelled() => RecordEnding::Cancelled,
            ending => ending,
        };
        let code = answer.as_ref().err().filter(|_| ending != RecordEnding::Asking);
        self.write(ending, code)
    }

    /// Returns the events for a call whose caller no longer waits for the answer.
    pub(super) fn cancelled(&self) -> Vec<AuditEvent> {
        self.write(RecordEnding::Cancelled, None)
    }

    fn write(&self, ending: RecordEnding, error: Option<&Error>) -> Vec<AuditEvent> {
        // A method beyond MCP and MGP that reached a server is recorded, too.
        let is_passed = || self.method.rule().is_none() && self.trail.target().is_some();
        if self.subject == RecordSubject::Other && ending != RecordEnding::Blocked && !is_passed() {
            return Vec::new();
        }
        let result = match ending {
            RecordEnding::Done | RecordEnding::Asking => Outcome::Success,
            RecordEnding::Failed | RecordEnding::Cancelled => Outcome::Failure,
            RecordEnding::Blocked => Outcome::Blocked,
        };
        let mut event = self.event(self.subject.event_type(ending), result);
        event.details = self.details(ending, error);
        event.ends = self.noted;
        let beside = |event_type, details: ObjectWriter| {
            let mut beside = event.clone();
            (beside.event_type, beside.details, beside.ends) = (event_type, details.finish(), None);
            beside
        };
        let sources = self.trail.flow();
        let flow = (!sources.is_empty() && ending != RecordEnding::Blocked).then(|| {
            let mut details = ObjectWriter::new();
            let sources: Vec<_> =
                sources.iter().map(|source| redact::name(&source.to_string()).into_owned()).collect();
            details.value("sources", &sources);
            beside(EventType::read(DATA_FLOW), details)
        });
        let cause = if ending == RecordEnding::Blocked { self.cause(error) } else { None };
        let cause = cause.filter(|cause| *cause != event.event_type).map(|cause| {
            let mut details = ObjectWriter::new();
            self.write_refusal(&mut details, error);
            beside(cause, details)
        });
        [Some(event), flow, cause].into_iter().flatten().collect()
    }

    fn event(&self, event_type: EventType, result: Outcome) -> AuditEvent {
        let (server, tool) = self.found();
        let tool = tool.map(|name| match clip(name.as_str(), MAX_NAME_BYTES) {
            Cow::Borrowed(_) => name.clone(),
            Cow::Owned(short) => short.as_str().into(),
        });
        let target = AuditTarget::new(server, tool).with_arguments(self.target_arguments());
        AuditEvent::new(self.settings.clock.now(), self.trace, event_type, self.actor(), target, result)
    }

    fn actor(&self) -> Actor {
        let anonymous = || Actor::new(ActorType::Agent, ANONYMOUS);
        let mut actor = self.trail.caller().map_or_else(anonymous, Actor::of);
        if let Cow::Owned(short) = clip(&actor.id, MAX_NAME_BYTES) {
            actor.id = short;
        }
        actor
    }

    /// Returns the target in the trail, because it comes from the code that decided; failing that, the target that
    /// the request named when it came in.
    fn found(&self) -> (Option<ServerId>, Option<ToolName>) {
        if let Some((server, tool)) = self.trail.target() {
            return (Some(server.clone()), tool.cloned());
        }
        if let Some(tool) = &self.tool {
            return (Some(tool.server.clone()), Some(tool.name.clone()));
        }
        let named = if self.subject == RecordSubject::Tool { self.named() } else { None };
        // A name that nobody knows may be anything.
        (self.settings.server.clone(), named.map(|name| (&*redact::name(&name)).into()))
    }

    /// Returns the arguments that name what the call acts on, as they are recorded: names and short texts, without
    /// what looks like a secret.
    fn target_arguments(&self) -> BTreeMap<String, String> {
        let noted = self.trail.target_arguments().into_iter().flatten();
        let recorded = |text: &str| redact::text(&printable(text, MAX_NAME_BYTES)).into_owned();
        noted.map(|(name, value)| (recorded(name), recorded(value))).collect()
    }

    fn named(&self) -> Option<String> {
        self.named.as_ref().and_then(RawJson::to_text)
    }

    fn details(&self, ending: RecordEnding, error: Option<&Error>) -> Object {
        let mut details = ObjectWriter::new();
        let risk = self.trail.risk().or_else(|| self.tool.as_ref().map(|tool| tool.security.risk));
        if let Some(risk) = risk {
            details.text("risk_level", risk.as_str());
        }
        if let [first, rest @ ..] = self.trail.validators() {
            details.text("validator_applied", first.as_str());
            if !rest.is_empty() {
                details.value("validators", self.trail.validators());
            }
        }
        details.value("duration_ms", &i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX));
        self.write_refusal(&mut details, error);
        if let Some(error) = error {
            details.value("code", &error.code());
        }
        if let Some(group) = self.trail.group() {
            details.text("access_group", &clip(group.as_str(), MAX_NAME_BYTES));
        }
        if let Some(approver) = self.trail.approved_by() {
            details.text("approved_by", &clip(approver, MAX_NAME_BYTES));
        }
        if let Some([asked, edited]) = self.trail.edit() {
            details.text("asked_arguments_digest", asked);
            details.text("edited_arguments_digest", edited);
        }
        if let Some(speaker) = &self.speaker {
            details.text("spoken_by", &clip(&speaker.id(), MAX_NAME_BYTES));
        }
        if ending == RecordEnding::Cancelled {
            details.value("cancelled", &true);
        }
        match self.subject {
            RecordSubject::Resource => {
                self.named().iter().for_each(|uri| details.text("uri", &without_secrets(uri)));
            }
            RecordSubject::Prompt => {
                self.named()
                    .iter()
                    .for_each(|name| details.text("prompt", &redact::name(&clip(name, MAX_NAME_BYTES))));
            }
            RecordSubject::Other => {
                details.text("method", &redact::name(&printable(self.method.as_str(), MAX_NAME_BYTES)));
            }
            RecordSubject::Tool => {}
        }
        if let Some(arguments) = &self.arguments {
            self.settings.arguments.write(&mut details, arguments, self.tool.as_deref());
        }
        details.finish()
    }

    fn write_refusal(&self, details: &mut ObjectWriter, error: Option<&Error>) {
        if let Some(Refusal { by, rule, .. }) = self.trail.refusal() {
            details.text("section", by);
            details.text("rule", rule);
        } else if error.is_some_and(|error| error.origin() == Origin::Peer && is_security(error.code())) {
            details.text("section", "peer");
        }
    }

    /// Returns the type of the event that gives the reason for a blocked call, if there is a reason to give.
    fn cause(&self, error: Option<&Error>) -> Option<EventType> {
        match (self.trail.refusal(), error) {
            (Some(refusal), _) => refusal.event.clone(),
            // These events report decisions of the kernel, and this one was made by a server.
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
        Ok(response) => match response.result.ending() {
            // A refusal may have been turned into a result on the way; if the call was then answered normally, it was
            // no refusal.
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

/// Returns the address without the parts that often carry a secret: the user, the query and the fragment.
fn without_secrets(uri: &str) -> String {
    let address = uri.split(['?', '#']).next().unwrap_or_default();
    redact::text(&clip(address, MAX_NAME_BYTES)).into_owned()
}

/// The type of the event that tells what the session of a call had taken in, where the call may have carried it out or
/// acted on it.
pub const DATA_FLOW: &str = "dev.cloto.mgp.data_flow";

/// The id of an actor that nobody knows.
const ANONYMOUS: &str = "anonymous";

/// The length in bytes to which names in the note of a call are cut: all of them, escaped, have room in a line.
const MAX_NOTED_BYTES: usize = 96;

/// The length in bytes to which names in an event are cut.
const MAX_NAME_BYTES: usize = 256;
