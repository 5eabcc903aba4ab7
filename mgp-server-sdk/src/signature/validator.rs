//! Validators: checks of arguments that no schema can express.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::Error;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::Violation;
use super::settings::late;

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

/// The validators of a server, by name.
#[derive(Clone)]
pub(crate) struct Validators {
    by_name: HashMap<Box<str>, Arc<dyn ToolValidator>>,
    /// The free threads: a validator that hangs keeps its own.
    free: Arc<Semaphore>,
}

impl Default for Validators {
    fn default() -> Self {
        Self { by_name: HashMap::new(), free: Arc::new(Semaphore::new(MAX_RUNNING)) }
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
