use std::path::{Path, PathBuf};

use mgp_discovery::Config;
use mgp_transport::stdio;
use tokio::io::{AsyncWriteExt as _, copy};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::exit::{Exit, Failure};
use super::held::{Held, INSTEAD};
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

/// Starts a kernel, or, where the state is `held` by another one, joins that one `at` a socket, if it may.
pub(super) async fn started(
    config: &Config,
    state: &Path,
    own_files: &[PathBuf],
    operators: &Path,
    at: Option<&Path>,
    mut held: Held<'_>,
) -> Result<Started, Failure> {
    loop {
        match Kernel::start_from(config.clone(), state.to_owned(), own_files.to_vec()).await {
            Ok(kernel) => return Ok(Started::Own(kernel)),
            Err(error) if !error.is_in_use() => return Err(not_started(&error)),
            Err(_) => {}
        }
        if let Some(at) = at
            && let Ok((reader, writer)) = socket::connect(at).await
        {
            return Ok(Started::Shared(Shared { reader, writer }));
        }
        // One that is just starting, or stops, lets nobody share it.
        if socket::is_shared(operators).await {
            let whose = if at.is_some() { ", from other files or for another agent" } else { "" };
            let message = format!("a kernel runs already with the state in {}{whose}", state.display());
            return Err(Failure::new(Exit::Unreachable, message).hint(INSTEAD));
        }
        held.wait().await?;
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
            if let Err(error) = copied {
                tracing::debug!(%error, "nothing more is carried to the kernel");
            }
            // It ends, too, when it has answered what it heard; so this does below.
            let _ = writer.shutdown().await;
            std::future::pending::<()>().await;
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
