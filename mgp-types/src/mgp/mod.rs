//! The additions of MGP to MCP: negotiation (§2), the bodies of each section, and errors with recovery (§14).
//!
//! An [`Offer`] is the declaration of one side among its capabilities, [`Negotiated`] holds the extensions that both
//! sides have, and a [`Recovery`] travels with an error whose number stands in [`code`].
//!
//! ```
//! use mgp_types::Object;
//! use mgp_types::mgp::{Extension, ExtensionSet, CapabilityMessage, Negotiated, Offer};
//!
//! let ours = Offer::new(ExtensionSet::standard());
//! let capabilities = Object::parse(r#"{"mgp":{"version":"0.6.0-draft","extensions":["permissions","audit"]}}"#)?;
//! let theirs = Offer::read(&capabilities)?.expect("this client speaks MGP");
//!
//! let mut result = Object::parse(r#"{"tools":{}}"#)?;
//! if let Some(answer) = ours.answer(&theirs) {
//!     answer.write(&mut result, CapabilityMessage::SessionResult);
//! }
//! let negotiated = Negotiated::agree(&ours, &theirs).expect("both are at major version 0");
//! assert!(negotiated.has(&Extension::Permissions));
//! assert!(!negotiated.has(&Extension::Streaming));
//! assert!(result.contains("mgp"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// The member that holds MGP's additions to the params of a call, to its result, and to the data of an error.
pub const MEMBER: &str = "_mgp";

pub mod code;
pub(crate) mod members;
pub mod method;

mod access;
mod audit;
mod call_options;
mod call_record;
mod callback;
mod code_safety;
mod discovery;
mod effective;
mod event;
mod extension;
mod lifecycle;
mod method_form;
mod name;
mod name_style;
mod negotiation;
mod offer;
mod permission;
mod recovery;
mod risk;
mod stream;
mod timestamp;
mod tool_pattern;
mod tool_request;
mod tool_search;
mod tool_security;
mod tool_session;
mod trace_id;
mod trust;
mod version;
pub(crate) mod words;

pub use self::access::{
    AccessGrant, AccessPermission, AccessQuery, AccessRevoke, AccessSource, AccessState, DefaultPolicy,
    EntryType,
};
pub use self::audit::{Actor, ActorType, AuditEvent, AuditPort, AuditTarget, EventType, Outcome};
pub use self::callback::{CallbackAnswer, CallbackRequest, CallbackRespond, CallbackType};
pub use self::code_safety::{CodeHints, CodeLocation, CodeRejection, CodeSafety, SafetyLevel};
pub use self::discovery::{
    DeregisterServer, DeregisteredServer, ListServers, ListedServer, ListedServers, RegisterMgp,
    RegisterServer, RegisteredServer, ServerFilter, ServerStatus,
};
pub use self::effective::{EffectiveSecurity, Operation, ResolvedTool};
pub use self::event::{
    ChannelError, ChannelName, ChannelPattern, Event, EventFilter, EventGap, EventReplay, EventReplayed,
    EventSeverity, EventSubscribe, EventSubscribed, EventUnsubscribe, EventUnsubscribed, SubscriptionId,
};
pub use self::extension::{Extension, ExtensionSet};
pub use self::lifecycle::{
    HealthPing, HealthPong, HealthReport, HealthStatus, LifecycleChange, ServerState, Shutdown,
    ShutdownAnswer, ShutdownReason,
};
pub use self::method_form::{MethodForm, written};
pub use self::name::{AgentId, ServerId, ToolName};
pub use self::name_style::{NameStyle, digest_in_name, name_digest};
pub use self::negotiation::Negotiated;
pub use self::offer::{
    CapabilityMessage, EXTENSION_ID, LEGACY_MEMBER, Offer, OfferError, OfferFault, OfferPlace,
};
pub use self::permission::{
    ApprovalPolicy, Decision, Grant, Permission, PermissionRequest, PermissionResponse, Scope,
};
pub use self::recovery::{Category, Recovery, RetryStrategy};
pub use self::risk::RiskLevel;
pub use self::stream::{
    PartialResult, StreamCancel, StreamCancelled, StreamChunk, StreamGap, StreamPace, StreamProgress,
    StreamSummary,
};
pub use self::timestamp::{Timestamp, TimestampError};

pub use self::call_options::CallOptions;
pub use self::call_record::{CallRecord, Refusal};
pub use self::tool_pattern::{AgentPattern, Glob, Specificity, ToolPattern, ToolPatternError};
pub use self::tool_request::{
    NearMiss, PendingTool, RequestReason, RequestTools, RequestedTools, ToolRequestStatus, ToolRequirements,
};
pub use self::tool_search::{
    DiscoverTools, DiscoveredTools, FoundTool, MatchEvidence, SearchStrategy, ToolFilter, ToolHints,
    ToolIndexEntry, UnlistedCall,
};
pub use self::tool_security::{SideEffect, ToolSecurity, ValidatorName};
pub use self::tool_session::{EvictTools, EvictedTools, ToolContextBudget, ToolSession};
pub use self::trace_id::{TraceId, TraceIdError};
pub use self::trust::TrustLevel;
pub use self::version::{MgpVersion, VersionError};
