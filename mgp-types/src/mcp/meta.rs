//! The `_meta` member of requests, results, notifications and many of their parts.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::shape::{Member, Shaped as _};
use super::{
    ClientCapabilities, ForRevision, Implementation, LogLevel, Map, ProgressToken, task::RelatedTask,
};
use crate::{Id, RawJson, Revision, mgp};

/// Metadata that rides along with a message or a part of it: members by key, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meta(Map<RawJson>);

impl Meta {
    /// Empty metadata.
    pub const fn new() -> Self {
        Self(Map::new())
    }

    /// The members.
    pub const fn members(&self) -> &Map<RawJson> {
        &self.0
    }

    /// The members, to change.
    pub const fn members_mut(&mut self) -> &mut Map<RawJson> {
        &mut self.0
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&RawJson> {
        self.0.get(key)
    }

    /// Sets the value under `key` and returns the old one.
    pub fn insert(&mut self, key: impl Into<Box<str>>, value: RawJson) -> Option<RawJson> {
        self.0.insert(key, value)
    }

    /// Takes the value under `key` out.
    pub fn remove(&mut self, key: &str) -> Option<RawJson> {
        self.0.remove(key)
    }

    /// The same metadata with `value` under `key`.
    #[must_use]
    pub fn with(mut self, key: impl Into<Box<str>>, value: RawJson) -> Self {
        self.0.insert(key, value);
        self
    }

    /// The same metadata with `value` written under `key`.
    fn with_body<T: Serialize>(self, key: &str, value: &T) -> Self {
        self.with(key, RawJson::from_value(value).expect("the bodies of this module are always JSON"))
    }

    /// Sets the token that progress notifications are to carry.
    #[must_use]
    pub fn with_progress_token(self, token: &ProgressToken) -> Self {
        self.with_body(key::PROGRESS_TOKEN, token)
    }

    /// Sets the revision that a stateless request speaks.
    #[must_use]
    pub fn with_protocol_version(self, revision: Revision) -> Self {
        self.with_body(key::PROTOCOL_VERSION, &revision.as_str())
    }

    /// Sets the client that sends a stateless request.
    #[must_use]
    pub fn with_client_info(self, client: &Implementation) -> Self {
        self.with_body(key::CLIENT_INFO, client)
    }

    /// Sets what the client can do while it waits for a stateless request.
    #[must_use]
    pub fn with_client_capabilities(self, capabilities: &ClientCapabilities) -> Self {
        self.with_body(key::CLIENT_CAPABILITIES, capabilities)
    }

    /// Sets the lowest level of log messages wanted while a stateless request runs.
    #[must_use]
    pub fn with_log_level(self, level: &LogLevel) -> Self {
        self.with_body(key::LOG_LEVEL, level)
    }

    /// Sets the server that sends a stateless result.
    #[must_use]
    pub fn with_server_info(self, server: &Implementation) -> Self {
        self.with_body(key::SERVER_INFO, server)
    }

    /// Sets the id of the `subscriptions/listen` request that a message belongs to.
    #[must_use]
    pub fn with_subscription_id(self, id: &Id) -> Self {
        self.with_body(key::SUBSCRIPTION_ID, id)
    }

    /// Sets the task that a message belongs to, in the revision 2025-11-25.
    #[must_use]
    pub fn with_related_task(self, task: &RelatedTask) -> Self {
        self.with_body(key::RELATED_TASK, task)
    }

    /// The token that the sender of a request wants progress notifications to carry.
    ///
    /// # Errors
    /// The value is neither a string nor an integer.
    pub fn progress_token(&self) -> Result<Option<ProgressToken>, serde_json::Error> {
        self.0.read(key::PROGRESS_TOKEN)
    }

    /// The revision that a stateless request speaks.
    ///
    /// # Errors
    /// The value is not a string.
    pub fn protocol_version(&self) -> Result<Option<String>, serde_json::Error> {
        self.0.read(key::PROTOCOL_VERSION)
    }

    /// The client that sends a stateless request, for display only.
    ///
    /// # Errors
    /// The value is not an implementation.
    pub fn client_info(&self) -> Result<Option<Implementation>, serde_json::Error> {
        self.0.read(key::CLIENT_INFO)
    }

    /// What the client can do while it waits for a stateless request.
    ///
    /// # Errors
    /// The value is not an object of capabilities.
    pub fn client_capabilities(&self) -> Result<Option<ClientCapabilities>, serde_json::Error> {
        self.0.read(key::CLIENT_CAPABILITIES)
    }

    /// The lowest level of log messages wanted while a stateless request runs.
    ///
    /// # Errors
    /// The value is not a string.
    pub fn log_level(&self) -> Result<Option<LogLevel>, serde_json::Error> {
        self.0.read(key::LOG_LEVEL)
    }

    /// The server that sends a stateless result, for display only.
    ///
    /// # Errors
    /// The value is not an implementation.
    pub fn server_info(&self) -> Result<Option<Implementation>, serde_json::Error> {
        self.0.read(key::SERVER_INFO)
    }

    /// The id of the `subscriptions/listen` request that a message belongs to.
    ///
    /// # Errors
    /// The value is neither a string nor an integer.
    pub fn subscription_id(&self) -> Result<Option<Id>, serde_json::Error> {
        self.0.read(key::SUBSCRIPTION_ID)
    }

    /// The task that a message belongs to, in the revision 2025-11-25.
    ///
    /// # Errors
    /// The value has no `taskId`.
    pub fn related_task(&self) -> Result<Option<RelatedTask>, serde_json::Error> {
        self.0.read(key::RELATED_TASK)
    }

    /// The W3C trace context that a message belongs to.
    pub fn traceparent(&self) -> Option<String> {
        self.get(key::TRACEPARENT).and_then(RawJson::to_text)
    }
}

impl ForRevision for Meta {
    fn fit(&mut self, revision: Revision) {
        self.0.retain(|name, _| match name {
            key::PROTOCOL_VERSION
            | key::CLIENT_INFO
            | key::CLIENT_CAPABILITIES
            | key::LOG_LEVEL
            | key::SERVER_INFO
            | key::SUBSCRIPTION_ID => revision >= Revision::V2026_07_28,
            key::RELATED_TASK => revision == Revision::V2025_11_25,
            _ => true,
        });
    }
}

impl From<Map<RawJson>> for Meta {
    fn from(members: Map<RawJson>) -> Self {
        Self(members)
    }
}

impl<N: Into<Box<str>>> FromIterator<(N, RawJson)> for Meta {
    fn from_iter<I: IntoIterator<Item = (N, RawJson)>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

impl Serialize for Meta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self)
    }
}

/// The keys that MCP and MGP know, and the shapes of their values.
pub(crate) const KEYS: &[Member] = &[
    Member { name: key::PROTOCOL_VERSION, shape: String::shape },
    Member { name: key::CLIENT_INFO, shape: Implementation::shape },
    Member { name: key::CLIENT_CAPABILITIES, shape: ClientCapabilities::shape },
    Member { name: key::LOG_LEVEL, shape: LogLevel::shape },
    Member { name: key::SERVER_INFO, shape: Implementation::shape },
    Member { name: key::SUBSCRIPTION_ID, shape: Id::shape },
    Member { name: key::RELATED_TASK, shape: RelatedTask::shape },
    Member { name: key::PROGRESS_TOKEN, shape: ProgressToken::shape },
    Member { name: key::TRACEPARENT, shape: String::shape },
    Member { name: "tracestate", shape: String::shape },
    Member { name: "baggage", shape: String::shape },
    Member { name: mgp::EXTENSION_ID, shape: RawJson::shape },
    Member { name: mgp::method::GRANTS_META, shape: RawJson::shape },
    Member { name: mgp::method::INDEX_META, shape: RawJson::shape },
    Member { name: "dev.cloto/mgp/agent", shape: RawJson::shape },
    Member { name: "dev.cloto/mgp/events", shape: RawJson::shape },
    Member { name: "dev.cloto/mgp/permissions", shape: RawJson::shape },
    Member { name: "dev.cloto/mgp/server", shape: RawJson::shape },
];

/// The keys of `_meta` that MCP reserves.
pub mod key {
    /// The revision that a request speaks: a string, required on every stateless request.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// The [`Implementation`](crate::mcp::Implementation) of the client.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// The [`ClientCapabilities`](crate::mcp::ClientCapabilities), required on every stateless request.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// The lowest [`LogLevel`](crate::mcp::LogLevel) wanted while the request runs.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// The [`Implementation`](crate::mcp::Implementation) of the server, on every stateless result.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The id of the `subscriptions/listen` request that a message belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// The [`RelatedTask`](crate::mcp::task::RelatedTask) of a message, in 2025-11-25 only.
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
    /// The [`ProgressToken`](crate::mcp::ProgressToken) of a request.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// W3C `traceparent`.
    pub const TRACEPARENT: &str = "traceparent";
}
