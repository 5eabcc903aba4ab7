use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::exit::{Exit, Failure};
use super::output::Output;

/// A state that another process has open. It may be a kernel that is just starting or stopping, or a command that soon
/// has ended, so whoever wants the state looks again for a while.
pub(super) struct StateInUse<'a> {
    state: &'a Path,
    operators: &'a Path,
    output: Output,
    since: Instant,
    told: bool,
}

impl<'a> StateInUse<'a> {
    pub(super) fn new(state: &'a Path, operators: &'a Path, output: Output) -> Self {
        Self { state, operators, output, since: Instant::now(), told: false }
    }

    /// Waits until it is time to look again.
    ///
    /// # Errors
    /// It has been waited for long enough.
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

pub(super) const INSTEAD: &str =
    "stop the other mgp, name its socket with `--socket`, or use another state with `--state DIR`";
/// Longer than a command waits for servers that it needs, or a kernel that stops for its calls.
const PATIENCE: Duration = Duration::from_secs(40);
const SILENT: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(50);
