use std::path::Path;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_transport::stdio;
use tokio::io::{AsyncWriteExt as _, copy};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, sleep};

use super::exit::{Exit, Failure};
use super::link::not_started;
use crate::Kernel;
use crate::operator::socket;

/// The kernel that a client is to have: of one state there is one at a time.
pub(super) enum Started {
    Own(Kernel),
    Shared(Shared),
}

/// A way to the kernel that another process has.
pub(super) struct Shared {
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
}

/// Starts a kernel, or, where the state is another one's and `may_join`, finds that one by its operators' socket. Waits a
/// while, as the other may just be starting, or be a command that soon has ended.
pub(super) async fn started(
    config: &Config,
    state: &Path,
    operators: &Path,
    may_join: bool,
) -> Result<Started, Failure> {
    let agents = socket::agents_path(operators);
    let end = Instant::now() + PATIENCE;
    loop {
        match Kernel::start(config.clone(), state.to_owned()).await {
            Ok(kernel) => return Ok(Started::Own(kernel)),
            Err(error) if !error.is_in_use() => return Err(not_started(&error)),
            Err(_) => {}
        }
        if may_join && let Ok((reader, writer)) = socket::connect(&agents).await {
            return Ok(Started::Shared(Shared { reader, writer }));
        }
        if !may_join && socket::connect(operators).await.is_ok() {
            let message = format!("a kernel runs already with the state in {}", state.display());
            return Err(Failure::new(Exit::Unreachable, message).hint(INSTEAD));
        }
        if Instant::now() >= end {
            let (state, at) = (state.display(), if may_join { &agents } else { operators }.display());
            let message = format!("another mgp has {state} open, and nobody answers at {at}");
            return Err(Failure::new(Exit::Unreachable, message).hint(INSTEAD));
        }
        sleep(LOOK_EVERY).await;
    }
}

impl Shared {
    /// Carries what standard input says to the kernel, and what that answers to standard output, until the kernel has
    /// ended, or has answered all that was asked before the input ended.
    pub(super) async fn carry(self) -> Result<(), Failure> {
        let Self { mut reader, mut writer } = self;
        let unusable = |error| Failure::usage(format!("standard input and output cannot be used: {error}"));
        let (mut input, mut output) = stdio::stdio().map_err(unusable)?;
        let asked = async {
            let copied = copy(&mut input, &mut writer).await;
            // Where the kernel is gone, its end is seen below.
            let _ = writer.shutdown().await;
            match copied {
                Ok(_) => std::future::pending().await,
                Err(error) => tracing::debug!(%error, "nothing more is carried to the kernel"),
            }
        };
        tokio::select! {
            () = asked => {}
            answered = copy(&mut reader, &mut output) => {
                if let Err(error) = answered {
                    tracing::debug!(%error, "nothing more is carried from the kernel");
                }
            }
        }
        Ok(())
    }
}

const INSTEAD: &str = "stop it, or give this one a state of its own with `--state DIR`";
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(50);
