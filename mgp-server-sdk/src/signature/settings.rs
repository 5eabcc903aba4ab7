//! The settings of a server for its registry of tools: its time limits, and the checks that no schema can express.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::{BoxFuture, Error, Response};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::Violation;
use crate::schema::to_raw;

mgp_types::with_defaults! {
    /// The time limits of a server. Default: 30 seconds for a tool, 5 for validators, 2 for a list of tools, and half a
    /// second for a change that waits for another one.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[must_use = "limits do nothing until a server has them"]
    pub struct Timeouts {
        tool: Duration = Duration::from_secs(30),
        pub(super) validation: Duration = Duration::from_secs(5),
        discovery: Duration = Duration::from_secs(2),
        pub(crate) lock: Duration = Duration::from_millis(500),
    }
}

impl Timeouts {
    mgp_types::setters! { self =>
        /// Sets the time for one call of a tool, the time in which its handler waits for answers of the client
        /// included.
        pub fn tool_timeout(limit: Duration) => self.tool = limit;

        /// Sets the time for the validators of one call.
        pub fn validation_timeout(limit: Duration) => self.validation = limit;

        /// Sets the time for one list of tools that [`Server::fallback`](crate::Server::fallback) makes.
        pub fn discovery_timeout(limit: Duration) => self.discovery = limit;

        /// Sets the time that a change of the server waits for another change to end.
        pub fn lock_timeout(limit: Duration) => self.lock = limit;
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
    late("Discovery timeout", limit, data).with_usual_recovery()
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
    late("Tool execution timeout", limit, data).with_usual_recovery()
}

/// Returns the error for something that took longer than its limit, with its data.
pub(super) fn late(what: &'static str, limit: Duration, mut data: Value) -> Error {
    data["timeout_ms"] = milliseconds(limit).into();
    Error::timeout(what).with_data(to_raw(&data))
}

fn milliseconds(limit: Duration) -> u64 {
    u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)
}

/// A check of arguments that no schema can express, for [`Constraint::Custom`](super::Constraint::Custom).
///
/// A validator runs on a thread that may block, for as long as [`Timeouts`](crate::Timeouts) allow, and only if the
/// schema has nothing against the arguments that name it. It runs for calls and for questions about arguments, so it
/// must have no effects.
///
/// ```
/// use mgp_server_sdk::{Server, ToolValidator, Violation};
///
/// struct Weekday;
///
/// impl ToolValidator for Weekday {
///     fn name(&self) -> &'static str {
///         "weekday"
///     }
///
///     fn validate(&self, arguments: &serde_json::Value) -> Vec<Violation> {
///         match arguments["day"].as_str() {
///             Some("saturday" | "sunday") => vec![Violation::new("/day", "The exchange is closed on that day")],
///             _ => Vec::new(),
///         }
///     }
/// }
///
/// let server = Server::new("exchange", "1.0.0").validator(Weekday);
/// # drop(server);
/// ```
pub trait ToolValidator: Send + Sync + 'static {
    /// Returns the name by which constraints name the validator.
    fn name(&self) -> &str;

    /// Returns the faults of the arguments, an object.
    fn validate(&self, arguments: &Value) -> Vec<Violation>;
}

mgp_types::with_defaults! {
    /// The validators of a server, by name.
    #[derive(Clone)]
    pub(crate) struct Validators {
        by_name: HashMap<Box<str>, Arc<dyn ToolValidator>> = HashMap::new(),
        /// The free threads: a validator that hangs keeps its own.
        free: Arc<Semaphore> = Arc::new(Semaphore::new(MAX_RUNNING)),
    }
}

impl Validators {
    /// Adds a validator; returns whether its name was free.
    pub(crate) fn add(&mut self, validator: Arc<dyn ToolValidator>) -> bool {
        self.by_name.insert(validator.name().into(), validator).is_none()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Returns the faults that the named validators find, if they are done in time.
    pub(super) async fn run(
        &self,
        names: &[&str],
        arguments: Value,
        limit: Duration,
    ) -> Result<Vec<Violation>, Error> {
        let validators = names.iter().map(|name| self.by_name.get(*name).cloned());
        let Some(validators) = validators.collect::<Option<Vec<_>>>() else {
            return Err(Error::internal("a validator of the tool is missing"));
        };
        let work = async {
            let thread = self.free.clone().acquire_owned().await;
            let work = move || {
                let found = validators.iter().flat_map(|validator| {
                    let found = validator.validate(&arguments).into_iter().take(MAX_VIOLATIONS);
                    found.map(|violation| violation.found_by(validator.name())).collect::<Vec<_>>()
                });
                let found = found.collect();
                drop(thread);
                found
            };
            tokio::task::spawn_blocking(work).await
        };
        match tokio::time::timeout(limit, work).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(panic)) => Err(Error::internal("a validator broke").with_source(panic)),
            Err(_) => Err(late("Validation timeout", limit, too_slow())),
        }
    }
}

mgp_types::partial_debug!(Validators);

fn too_slow() -> Value {
    json!({
        "error_type": "ValidationTimeout",
        "reason": "the validators of the tool did not end in time",
        "suggestions": ["Try again later"],
    })
}

/// The largest number of validators that run at a time, those that hang included.
const MAX_RUNNING: usize = 16;

/// The largest number of faults that one validator reports.
const MAX_VIOLATIONS: usize = 100;
