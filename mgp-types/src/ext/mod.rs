//! Optional extensions of MCP beside those of MGP: envelopes, manifests, hints, scopes, and errors that say what to do.
//!
//! A side declares an extension in its capabilities under its [id](ExtensionId); where one side does not, the
//! extension is silent. Fields of a request travel in the `_meta` of its params, fields of a result in its `_meta`,
//! and what a tool declares stands on the top level of its definition.

mod advice;
mod checkpoint;
mod compensation;
mod confirmation;
mod data_reference;
mod declared_bounds;
mod effect_id;
mod envelope;
mod id;
mod idempotency;
mod intent;
mod manifest;
mod manifest_of_tools;
mod projection;
mod provenance;
mod recommendation;
mod reference;
mod registry_error;
pub mod scope;
mod session_state;
mod structured_error;
mod subscription;
mod tool_declaration;
pub mod transaction;

use serde::Serialize;

pub(crate) use self::advice::recovery_of;
use crate::RawJson;

pub use self::checkpoint::{MAX_CHECKPOINT_BYTES, RESUME, Resume};
pub use self::compensation::Compensation;
pub use self::confirmation::{CONFIRMATION_TOKEN, ConfirmationRequired, USER_CONFIRMED};
pub use self::data_reference::{
    Checksum, ChecksumAlgorithm, DataReference, ImportData, ImportStatus, ImportedData,
};
pub use self::effect_id::{IdempotencyKey, InvalidEffectId, StepId, TransactionId};
pub use self::envelope::{
    DottedName, ENVELOPE_VERSION, ERROR_DETAIL_SCHEMA, EnvelopeClient, EnvelopeFault, EnvelopeGate,
    EnvelopeReading, ErrorDetail, ErrorType, ProjectedNames, ResultStatus, TOOL_CALL_SCHEMA,
    TOOL_RESULT_SCHEMA, ToolCall, ToolResult,
};
pub use self::id::{ExtensionId, ExtensionIds, PREFIX};
pub use self::idempotency::{IDEMPOTENCY_HEADER, IdempotencyTtl, IdempotentCall, IdempotentResult};
pub use self::intent::{Intent, IntentCategory, MAX_INTENT_BYTES, Suggestion, max_units};
pub use self::manifest::{
    AuthMethod, DEFAULT_MANIFEST_TTL_SECONDS, GetManifest, LatencyPercentiles, ListedExtension,
    MANIFEST_VERSION, MAX_MANIFEST_TTL_SECONDS, ManifestAuth, ManifestNotModified, ManifestServer,
    ManifestTool, ManifestVersion, RateLimits, ScopeDefinition, ServiceManifest,
};
pub use self::projection::{ErrorProjection, projection, registry_code};
pub use self::provenance::{
    Confidence, MAX_SOURCES, MAX_SOURCES_BYTES, Provenance, SourceLocation, Unverified,
};
pub use self::recommendation::{MatchConfidence, RecommendServers, RecommendedServers, ServerRecommendation};
pub use self::reference::{ReferenceAnswer, ReferenceGate};
pub use self::registry_error::registry_error_data;
pub use self::session_state::{
    MAX_SESSION_STATE_BYTES, SESSION_STATE, STATE_CHANGED, STATE_DROPPED, SessionChange, SessionEvent,
    SessionMetadata, SessionState,
};
pub use self::structured_error::{ErrorClass, StructuredError, UnsafeAdvice};
pub use self::subscription::{
    ActionHint, OwnSubscription, OwnSubscriptions, PayloadFilter, SubscriptionAnswer, SubscriptionEnd,
    SubscriptionEnded, SubscriptionRequest, SubscriptionStatus, event_in_both_words,
};
pub use self::tool_declaration::{Cost, CostCategory, Impact, LatencyClass, Quota, ToolDeclaration};

/// Returns a value of texts, numbers and JSON as JSON, which it always can be written as.
fn written<T: Serialize + ?Sized>(value: &T) -> RawJson {
    RawJson::from_value(value).unwrap_or(RawJson::null())
}
