//! The wait for a state directory that another process has open.

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::output::Output;
use crate::terminal::{Exit, Failure};

/// The wait for a state directory that another process has open. The process may be a kernel that is just starting or
/// stopping, or a command that ends soon, so the caller tries again for a while.
pub(super) struct StateInUse<'a> {
    state: &'a Path,
    operators: &'a Path,
    output: &'a Output,
    since: Instant,
    told: bool,
}

impl<'a> StateInUse<'a> {
    pub(super) fn new(state: &'a Path, operators: &'a Path, output: &'a Output) -> Self {
        Self { state, operators, output, since: Instant::now(), told: false }
    }

    /// Waits until the next attempt.
    ///
    /// # Errors
    /// The state directory has been in use for too long.
    pub(super) async fn wait(&mut self) -> Result<(), Failure> {
        let (state, waited) = (self.state.display(), self.since.elapsed());
        if waited >= PATIENCE {
            let operators = self.operators.display();
            let message = format!("another mgp has {state} open, and nobody answers at {operators}");
            return Err(Failure::new(Exit::Unreachable, message).hint(INSTEAD));
        }
        if waited >= SILENT && !std::mem::replace(&mut self.told, true) {
            self.output.note(&format!("another mgp has {state} open; waiting for it to end"));
        }
        sleep(LOOK_EVERY).await;
        Ok(())
    }
}

/// The hint on how to use another kernel or another state.
pub(super) const INSTEAD: &str =
    "stop the other mgp, name its socket with `--socket`, or use another state with `--state DIR`";
/// The longest time to wait; longer than a command waits for its servers, or a kernel that stops waits for its calls.
const PATIENCE: Duration = Duration::from_secs(40);
/// The time after which the user is told what the command waits for.
const SILENT: Duration = Duration::from_secs(1);
/// The time between two attempts.
const LOOK_EVERY: Duration = Duration::from_millis(50);
