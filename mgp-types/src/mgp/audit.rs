use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Waker};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ServerId, Timestamp, ToolName, TraceId};
use crate::{BoxFuture, Error, Object, Principal, Role};

macro_rules! event_types {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)+) => {
        /// What happened (§6.4): one of the standard types, or a custom one in reverse-domain notation.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum EventType {
            $($(#[$doc])* $variant,)+
            /// A type that the specification does not name.
            Custom(Box<str>),
        }

        impl EventType {
            /// The standard types, in the order of the specification.
            pub const STANDARD: &'static [Self] = &[$(Self::$variant,)+];

            /// Reads a name.
            pub fn read(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)+
                    other => Self::Custom(other.into()),
                }
            }

            /// The name on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)+
                    Self::Custom(name) => name,
                }
            }
        }
    };
}

event_types! {
    /// A tool was called and completed.
    ToolExecuted = "TOOL_EXECUTED";
    /// A call was blocked, by validation or access control.
    ToolBlocked = "TOOL_BLOCKED";
    /// A permission was approved.
    PermissionGranted = "PERMISSION_GRANTED";
    /// A permission was denied.
    PermissionDenied = "PERMISSION_DENIED";
    /// A permission granted before was taken back.
    PermissionRevoked = "PERMISSION_REVOKED";
    /// An agent was given access to a server or tool.
    AccessGranted = "ACCESS_GRANTED";
    /// An agent's access was taken back.
    AccessRevoked = "ACCESS_REVOKED";
    /// A server connected.
    ServerConnected = "SERVER_CONNECTED";
    /// A server disconnected.
    ServerDisconnected = "SERVER_DISCONNECTED";
    /// A validator of the kernel refused a call.
    ValidationFailed = "VALIDATION_FAILED";
    /// The code safety framework refused code.
    CodeRejected = "CODE_REJECTED";
}

impl Serialize for EventType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for EventType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'_, str>::deserialize(deserializer).map(|name| Self::read(&name))
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification and its patterns")]
pub enum Outcome {
    /// It was done.
    Success,
    /// It was tried and went wrong.
    Failure,
    /// It was not let happen.
    Blocked,
}

impl Outcome {
    /// Reads a word in any case; `None` if it is none of the three.
    pub fn read(word: &str) -> Option<Self> {
        [Self::Success, Self::Failure, Self::Blocked]
            .into_iter()
            .find(|outcome| outcome.as_str().eq_ignore_ascii_case(word))
    }

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "SUCCESS",
            Self::Failure => "FAILURE",
            Self::Blocked => "BLOCKED",
        }
    }
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Cow::<'_, str>::deserialize(deserializer)?;
        Self::read(&word).ok_or_else(|| serde::de::Error::custom("expected SUCCESS, FAILURE or BLOCKED"))
    }
}

/// What kind of party an actor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ActorType {
    /// Something that calls tools.
    Agent,
    /// A human, or a program in a human's name.
    Operator,
    /// What stands between agents and servers.
    Kernel,
    /// What serves tools.
    Server,
}

/// Who did it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Actor {
    /// What kind of party it is.
    #[serde(rename = "type")]
    pub kind: ActorType,
    /// Its name.
    pub id: String,
}

impl Actor {
    /// The party `id`.
    pub fn new(kind: ActorType, id: impl Into<String>) -> Self {
        Self { kind, id: id.into() }
    }

    /// Returns the party that `principal` is: an operator or an agent, by its [id](Principal::id).
    pub fn of(principal: &Principal) -> Self {
        let kind = match principal.role() {
            Role::Operator => ActorType::Operator,
            Role::Agent => ActorType::Agent,
        };
        Self::new(kind, principal.id())
    }

    /// What stands between agents and servers.
    pub fn kernel() -> Self {
        Self::new(ActorType::Kernel, "kernel")
    }
}

/// What it was done to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditTarget {
    /// The server; null if none was found.
    pub server_id: Option<ServerId>,
    /// The tool; null for a whole server.
    pub tool_name: Option<ToolName>,
}

impl AuditTarget {
    /// A server, or a tool of it.
    pub const fn new(server_id: Option<ServerId>, tool_name: Option<ToolName>) -> Self {
        Self { server_id, tool_name }
    }
}

/// Something that happened (§6.3): the parameters of `notifications/mgp.audit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditEvent {
    /// When.
    pub timestamp: Timestamp,
    /// In which chain of requests.
    pub trace_id: TraceId,
    /// What.
    pub event_type: EventType,
    /// Who did it.
    pub actor: Actor,
    /// To what.
    pub target: AuditTarget,
    /// How it ended.
    pub result: Outcome,
    /// Whatever else is known.
    #[serde(default)]
    pub details: Object,
}

impl AuditEvent {
    /// An event without details.
    pub fn new(
        timestamp: Timestamp,
        trace_id: TraceId,
        event_type: EventType,
        actor: Actor,
        target: AuditTarget,
        result: Outcome,
    ) -> Self {
        Self { timestamp, trace_id, event_type, actor, target, result, details: Object::new() }
    }

    /// The event with a detail. A value that is no JSON is left out.
    pub fn with_detail<T: Serialize + ?Sized>(mut self, name: &str, value: &T) -> Self {
        if let Ok(value) = crate::RawJson::from_value(value) {
            self.details.set(name, value);
        }
        self
    }
}

/// Where sections report what happened; whoever keeps the log implements it.
///
/// Dropping the future of a record does not take the events back.
pub trait AuditPort: Send + Sync + fmt::Debug + 'static {
    /// Takes an event. It is done when the event is as safe as the log promises, and an error means that it is not:
    /// what the event is about must then not happen.
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>>;

    /// Takes events that belong together, like a blocked call and its cause; a log that can keeps all of them or none.
    fn record_all(&self, events: Vec<AuditEvent>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            for event in events {
                self.record(event).await?;
            }
            Ok(())
        })
    }

    /// Takes events that belong together if they are as safe as the log promises at once, so that nobody has to wait; else
    /// gives them back, and takes none.
    fn try_record(&self, events: Vec<AuditEvent>) -> Result<(), Vec<AuditEvent>> {
        Err(events)
    }

    /// Takes events that nobody waits for, because whoever caused them is gone.
    ///
    /// Unless the log knows better, what cannot be taken at once is lost.
    fn record_now(&self, events: Vec<AuditEvent>) {
        let mut record = self.record_all(events);
        let _ = record.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }

    /// Whether an event would be taken now, as far as is known: to be asked before something happens that must not go
    /// unrecorded.
    ///
    /// # Errors
    /// The one that a record would end in.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}

impl<P: AuditPort + ?Sized> AuditPort for Arc<P> {
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        (**self).record(event)
    }

    fn record_all(&self, events: Vec<AuditEvent>) -> BoxFuture<'_, Result<(), Error>> {
        (**self).record_all(events)
    }

    fn try_record(&self, events: Vec<AuditEvent>) -> Result<(), Vec<AuditEvent>> {
        (**self).try_record(events)
    }

    fn record_now(&self, events: Vec<AuditEvent>) {
        (**self).record_now(events);
    }

    fn check(&self) -> Result<(), Error> {
        (**self).check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-6.3-05..10
    #[test]
    fn an_event_has_the_members_of_the_specification() {
        let json = concat!(
            r#"{"timestamp":"2026-02-27T12:00:00.000Z","trace_id":"550e8400-e29b-41d4-a716-446655440000","#,
            r#""event_type":"TOOL_EXECUTED","actor":{"type":"agent","id":"agent.cloto_default"},"#,
            r#""target":{"server_id":"tool.terminal","tool_name":"execute_command"},"result":"SUCCESS","#,
            r#""details":{"risk_level":"dangerous","validator_applied":"sandbox","duration_ms":1200}}"#
        );
        let event: AuditEvent = serde_json::from_str(json).unwrap();
        assert_eq!(event.event_type, EventType::ToolExecuted);
        assert_eq!(event.result, Outcome::Success);
        assert_eq!(serde_json::to_string(&event).unwrap(), json);
        let lower = json.replace("SUCCESS", "success");
        assert_eq!(serde_json::from_str::<AuditEvent>(&lower).unwrap(), event);
        assert!(serde_json::from_str::<AuditEvent>(&json.replace("SUCCESS", "MAYBE")).is_err());
    }

    // covers: MGP-6.4-01..12
    #[test]
    fn the_standard_types_have_their_names_and_custom_ones_keep_theirs() {
        let names: Vec<_> = EventType::STANDARD.iter().map(EventType::as_str).collect();
        assert_eq!(
            names,
            [
                "TOOL_EXECUTED",
                "TOOL_BLOCKED",
                "PERMISSION_GRANTED",
                "PERMISSION_DENIED",
                "PERMISSION_REVOKED",
                "ACCESS_GRANTED",
                "ACCESS_REVOKED",
                "SERVER_CONNECTED",
                "SERVER_DISCONNECTED",
                "VALIDATION_FAILED",
                "CODE_REJECTED",
            ]
        );
        assert!(names.iter().all(|name| !matches!(EventType::read(name), EventType::Custom(_))));
        let custom = EventType::read("com.example.custom_event");
        assert_eq!(serde_json::to_string(&custom).unwrap(), r#""com.example.custom_event""#);
    }
}
