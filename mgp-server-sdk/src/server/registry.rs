//! The settings of a server for its registry of tools: validators, demands on schemas, and time limits.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::Recovery;
use mgp_types::{Error, code};
use serde_json::json;

use super::Server;
use crate::error::Fault;
use crate::method::ErasedMethod;
use crate::signature::{ToolValidator, to_raw, validate};
use crate::tool::{ToolEntry, ToolFuture};

/// The time limits of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "limits do nothing until a server has them"]
pub struct Timeouts {
    tool: Duration,
    validation: Duration,
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
}

impl Default for Timeouts {
    /// Returns the usual limits: 30 seconds for a tool, 5 for validators.
    fn default() -> Self {
        Self { tool: Duration::from_secs(30), validation: Duration::from_secs(5) }
    }
}

/// The time limits that a server applies. Calls have none before the server gets some, validators always do.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AppliedTimeouts(Option<Timeouts>);

impl AppliedTimeouts {
    pub(crate) fn validation(self) -> Duration {
        self.0.unwrap_or_default().validation
    }

    /// Ends the call of a tool at its limit, by dropping its future.
    pub(crate) fn limit(self, tool: &ToolEntry, future: ToolFuture) -> ToolFuture {
        let Some(Timeouts { tool: limit, .. }) = self.0 else { return future };
        let name = tool.name().clone();
        Box::pin(async move {
            let outcome = tokio::time::timeout(limit, future).await;
            outcome.unwrap_or_else(|_| Err(late(&name, limit)))
        })
    }
}

fn late(tool: &str, limit: Duration) -> Error {
    let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let data = json!({
        "error_type": "ToolTimeout",
        "tool_name": tool,
        "timeout_ms": limit,
        "reason": format!("`{tool}` did not end within {limit} ms"),
        "suggestions": [
            "Increase timeout for long-running analysis",
            "Check tool server health",
            "Break request into smaller chunks",
        ],
    });
    Error::timeout("Tool execution timeout")
        .with_data(to_raw(&data))
        .with_recovery(Recovery::for_code(code::TIMEOUT).unwrap_or_default())
}

impl<L> Server<L> {
    /// Registers a validator, which constraints name by [`Constraint::Custom`](crate::Constraint::Custom). A tool that
    /// names an unknown one cannot be served.
    pub fn validator(mut self, validator: impl ToolValidator) -> Self {
        let subject = format!("validator `{}`", validator.name());
        if !self.parts.about.validators.add(Arc::new(validator)) {
            self.parts.faults.push(Fault::new(subject, "it is registered twice"));
        }
        self
    }

    /// Serves `tools/validate`, also as `mgp/tools/validate`: whether a call with these arguments would be accepted, and
    /// all that is wrong with them. No tool runs for it.
    pub fn offer_validation(mut self) -> Self {
        let methods = Arc::make_mut(&mut self.parts.catalog.methods);
        for name in ["tools/validate", "mgp/tools/validate"] {
            methods.insert(name.into(), ErasedMethod::new(|input| Box::pin(validate(input))));
        }
        self
    }

    /// Refuses tools that do not describe their arguments and their results by schemas.
    pub fn require_schemas(mut self) -> Self {
        self.parts.about.requires_schemas = true;
        self
    }

    /// Limits how long a call may take. Without this, a tool takes as long as it does. A call that runs as a task has the
    /// limits of tasks instead.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.parts.about.timeouts = AppliedTimeouts(Some(timeouts));
        self
    }
}
