//! The settings of a server for its registry of tools, and its time limits.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::Recovery;
use mgp_types::{BoxFuture, Error, Response, code};
use serde_json::{Value, json};

use super::Validators;
use crate::schema::to_raw;

/// The time limits of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "limits do nothing until a server has them"]
pub struct Timeouts {
    tool: Duration,
    pub(super) validation: Duration,
    discovery: Duration,
    pub(crate) lock: Duration,
}

impl Timeouts {
    /// Sets the time for one call of a tool, the time in which its handler waits for answers of the client included.
    pub const fn tool_timeout(mut self, limit: Duration) -> Self {
        self.tool = limit;
        self
    }

    /// Sets the time for the validators of one call.
    pub const fn validation_timeout(mut self, limit: Duration) -> Self {
        self.validation = limit;
        self
    }

    /// Sets the time for one list of tools that [`Server::fallback`](crate::Server::fallback) makes.
    pub const fn discovery_timeout(mut self, limit: Duration) -> Self {
        self.discovery = limit;
        self
    }

    /// Sets the time that a change of the server waits for another change to end.
    pub const fn lock_timeout(mut self, limit: Duration) -> Self {
        self.lock = limit;
        self
    }
}

impl Default for Timeouts {
    /// Returns the usual limits: 30 seconds for a tool, 5 for validators, 2 for a list of tools, and half a second for a
    /// change that waits for another one.
    fn default() -> Self {
        Self {
            tool: Duration::from_secs(30),
            validation: Duration::from_secs(5),
            discovery: Duration::from_secs(2),
            lock: Duration::from_millis(500),
        }
    }
}

/// The settings of a server for its registry of tools.
#[derive(Debug, Clone, Default)]
pub(crate) struct RegistrySettings {
    pub(crate) validators: Validators,
    /// The time limits. Calls have none before the server gets some, validators always do.
    pub(crate) timeouts: Option<Timeouts>,
    /// True if each tool has to describe its arguments and its result.
    pub(crate) requires_schemas: bool,
}

impl RegistrySettings {
    /// Ends a list that another service makes at the limit, by dropping its future: what is there of it is not served.
    pub(crate) fn limit_list(
        &self,
        list: BoxFuture<'static, Result<Response, Error>>,
    ) -> BoxFuture<'static, Result<Response, Error>> {
        let Some(Timeouts { discovery: limit, .. }) = self.timeouts else { return list };
        Box::pin(
            async move { tokio::time::timeout(limit, list).await.unwrap_or_else(|_| Err(late_list(limit))) },
        )
    }

    /// Ends the call of a tool at its limit, by dropping its future.
    pub(crate) fn limit<T: 'static>(
        &self,
        tool: &Arc<str>,
        future: BoxFuture<'static, Result<T, Error>>,
    ) -> BoxFuture<'static, Result<T, Error>> {
        let Some(Timeouts { tool: limit, .. }) = self.timeouts else { return future };
        let tool = tool.clone();
        Box::pin(async move {
            let outcome = tokio::time::timeout(limit, future).await;
            outcome.unwrap_or_else(|_| Err(late_tool(&tool, limit)))
        })
    }
}

fn late_list(limit: Duration) -> Error {
    let data = json!({
        "error_type": "DiscoveryTimeout",
        "reason": "the tools could not be listed in time",
        "suggestions": ["List the tools again"],
    });
    late("Discovery timeout", limit, data)
        .with_recovery(Recovery::for_code(code::TIMEOUT).unwrap_or_default())
}

fn late_tool(tool: &str, limit: Duration) -> Error {
    let data = json!({
        "error_type": "ToolTimeout",
        "tool_name": tool,
        "reason": format!("`{tool}` did not end within {} ms", milliseconds(limit)),
        "suggestions": [
            "Increase timeout for long-running analysis",
            "Check tool server health",
            "Break request into smaller chunks",
        ],
    });
    late("Tool execution timeout", limit, data)
        .with_recovery(Recovery::for_code(code::TIMEOUT).unwrap_or_default())
}

/// Returns the error for something that took longer than its limit, with its data.
pub(super) fn late(what: &'static str, limit: Duration, mut data: Value) -> Error {
    data["timeout_ms"] = milliseconds(limit).into();
    Error::timeout(what).with_data(to_raw(&data))
}

fn milliseconds(limit: Duration) -> u64 {
    u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)
}
