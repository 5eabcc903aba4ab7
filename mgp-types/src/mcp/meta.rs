//! The `_meta` member of requests, results, notifications and many of their parts.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use super::shape::{Member, Shaped as _};
use super::{
    ClientCapabilities, ForRevision, Implementation, LogLevel, Map, ProgressToken, task::RelatedTask,
};
use crate::{Id, RawJson, Revision};

/// The metadata of a message or a part of it: members by key, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Meta(Map<RawJson>);

impl Meta {
    /// Creates empty metadata.
    pub const fn new() -> Self {
        Self(Map::new())
    }

    crate::setters! { #[must_use] self =>
        /// Returns the same metadata with `value` under `key`.
        pub fn with(key: impl Into<Box<str>>, value: RawJson) => self.0.insert(key, value);
    }
}

impl Deref for Meta {
    type Target = Map<RawJson>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Meta {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
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

crate::convert!(Map<RawJson> => Meta, members => Self(members));

impl<N: Into<Box<str>>> FromIterator<(N, RawJson)> for Meta {
    fn from_iter<I: IntoIterator<Item = (N, RawJson)>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

/// The keys that MCP and MGP know, with the shapes of their values.
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
    Member { name: "dev.cloto/mgp", shape: RawJson::shape },
    Member { name: "dev.cloto/mgp/grants", shape: RawJson::shape },
    Member { name: "dev.cloto/mgp/index", shape: RawJson::shape },
    Member { name: "dev.cloto/mgp/agent", shape: RawJson::shape },
    Member { name: "dev.cloto/mgp/events", shape: RawJson::shape },
    Member { name: "dev.cloto/mgp/permissions", shape: RawJson::shape },
    Member { name: "dev.cloto/mgp/server", shape: RawJson::shape },
];

/// The keys of `_meta` that MCP reserves.
pub mod key {
    /// The key of the revision that a request speaks: a string, required on every stateless request.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// The key of the client's [`Implementation`](crate::mcp::Implementation).
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// The key of the [`ClientCapabilities`](crate::mcp::ClientCapabilities), required on every stateless request.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// The key of the lowest [`LogLevel`](crate::mcp::LogLevel) wanted while the request runs.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// The key of the server's [`Implementation`](crate::mcp::Implementation), on every stateless result.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The key of the id of the `subscriptions/listen` request that a message belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// The key of the [`RelatedTask`](crate::mcp::task::RelatedTask) of a message, in 2025-11-25 only.
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
    /// The key of the [`ProgressToken`](crate::mcp::ProgressToken) of a request.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// The key of the W3C `traceparent`.
    pub const TRACEPARENT: &str = "traceparent";
}
