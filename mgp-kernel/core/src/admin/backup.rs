//! Copies of the kernel's state, made while it runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mgp_types::Error;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::operation::{Operation, OperatorCall};
use crate::state::copy::StateCopy;

/// Copies the state of the kernel to a folder.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct BackUp {
    /// The folder to make; nothing that is there is overwritten
    #[arg(value_name = "FOLDER", value_parser = |path: &str| std::path::absolute(path))]
    folder: PathBuf,
}

impl Operation for BackUp {
    type Reply = StateCopy;

    async fn run(self, call: &OperatorCall) -> Result<StateCopy, Error> {
        let (kernel, folder) = (&call.kernel, self.folder);
        let shown = folder.display().to_string();
        if folder.symlink_metadata().is_ok() {
            let message = format!("{shown} is there already: name a folder that is not");
            return Err(Error::invalid_params(message));
        }
        call.record_act("dev.cloto.mgp.state_copied", &[("folder", &shown)]).await?;
        let (state, now) = (kernel.config.state().to_owned(), kernel.audit.clock.now());
        let (log, runtime) = (kernel.audit.log.clone(), Handle::current());
        let copying = move || StateCopy::make(&state, &folder, now, || runtime.block_on(log.flush()));
        let mut copying = tokio::task::spawn_blocking(copying);
        let began = Instant::now();
        let copied = loop {
            tokio::select! {
                copied = &mut copying => break copied,
                () = sleep(TELL_EVERY) => {
                    let secs = began.elapsed().as_secs_f64();
                    call.waiting.tell(secs, &format!("the state is copied for {secs:.0} s by now")).await;
                }
            }
        };
        copied
            .map_err(|panic| Error::internal("the state could not be copied").with_source(panic))?
            .map_err(|error| Error::internal(format!("the state could not be copied to {shown}: {error:#}")))
    }
}

/// The interval at which an operator is told that the state is still copied; well below the time that clients wait.
const TELL_EVERY: Duration = Duration::from_secs(10);
