use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mgp_discovery::Config;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, sleep};

use super::background::{self, StartLock, StartOutcome};
use super::exit::{Exit, Failure};
use super::link::not_started;
use super::output::Output;
use super::state_in_use::{INSTEAD, StateInUse};
use crate::Kernel;
use crate::listen::kernel_note::KernelNote;
use crate::listen::socket;

/// The kernel that a client is to have: of one state there is one at a time.
pub(super) enum StartedKernel {
    Own(Kernel),
    Shared,
}

/// Starts a kernel, unless the state is `held` by another one that can be joined `at` a socket.
pub(super) async fn started(
    config: &Config,
    state: &Path,
    own_files: &[PathBuf],
    operators: &Path,
    at: Option<&Path>,
    mut held: StateInUse<'_>,
) -> Result<StartedKernel, Failure> {
    loop {
        match Kernel::start_from(config.clone(), state.to_owned(), own_files.to_vec()).await {
            Ok(kernel) => return Ok(StartedKernel::Own(kernel)),
            Err(error) if !error.is_in_use() => return Err(not_started(&error)),
            Err(_) => {}
        }
        if let Some(at) = at
            && socket::connect(at).await.is_ok()
        {
            return Ok(StartedKernel::Shared);
        }
        // One that is just starting, or stops, lets nobody share it.
        if socket::is_shared(operators).await {
            return Err(of_others(state, at.is_some()));
        }
        held.wait().await?;
    }
}

fn of_others(state: &Path, could_join: bool) -> Failure {
    let whose = if could_join { ", from other files or for another agent" } else { "" };
    let message = format!("a kernel runs already with the state in {}{whose}", state.display());
    Failure::new(Exit::Unreachable, message).hint(INSTEAD)
}

/// How a client comes to a kernel: to the one that runs, or to one that is started in the background.
pub(super) struct KernelConnector<'a> {
    pub(super) config: &'a Config,
    pub(super) state: &'a Path,
    /// Where operators reach the kernel.
    pub(super) operators: &'a Path,
    /// Where clients reach it that would start the same one.
    pub(super) at: &'a Path,
    /// The options with which a kernel is started, in front of and behind `serve`; `None` if none is.
    pub(super) starting: Option<(Vec<OsString>, Vec<OsString>)>,
    pub(super) output: &'a Output,
}

/// A connection to a kernel as an agent's client.
pub(super) struct JoinedKernel {
    pub(super) reader: OwnedReadHalf,
    pub(super) writer: OwnedWriteHalf,
    /// What the kernel notes of itself, if it could be read.
    pub(super) note: Option<KernelNote>,
}

impl KernelConnector<'_> {
    /// Tells whoever reads the log of the client which kernel it has, and what that does otherwise than one of its own would.
    pub(super) fn tell(&self, kernel: &JoinedKernel) {
        let Some(note) = &kernel.note else { return };
        self.output.note(&format!("joined the running kernel, process {}", note.pid));
        for difference in note.differences(self.config) {
            self.output.note(&difference);
        }
    }

    /// Whether a kernel is started where none runs.
    pub(super) const fn can_start(&self) -> bool {
        self.starting.is_some()
    }

    /// Whether the kernel that had a note has ended in a way that it did not mean to, or another one runs by now. One that is
    /// stopped takes its note away before it lets go of its clients.
    pub(super) fn was_lost(&self, note: Option<&KernelNote>) -> bool {
        note.is_some() && KernelNote::read(self.state).is_some()
    }

    /// Connects to the kernel. Of several processes that find none, one starts it.
    ///
    /// # Errors
    /// A kernel runs that cannot be shared, or does not start.
    pub(super) async fn reach(&self) -> Result<JoinedKernel, Failure> {
        let began = Instant::now();
        let (mut has_told, mut deaths) = (false, 0);
        loop {
            if let Some(joined) = self.join().await? {
                return Ok(joined);
            }
            if socket::is_shared(self.operators).await {
                return Err(of_others(self.state, true));
            }
            let waited = began.elapsed();
            if waited >= SILENT && !std::mem::replace(&mut has_told, true) {
                self.output.note("waiting for a kernel that another client starts");
            }
            let Some((global, options)) = &self.starting else {
                return Err(Failure::new(Exit::Unreachable, "the kernel that this client joined has ended"));
            };
            match StartLock::take(self.state)? {
                None if waited >= PATIENCE => {
                    let message = format!("no kernel answers at {}", self.at.display());
                    return Err(Failure::new(Exit::Unreachable, message).hint(INSTEAD));
                }
                None => sleep(LOOK_EVERY).await,
                Some(_lock) => {
                    // Whoever had the right before may have started one.
                    if let Some(joined) = self.join().await? {
                        return Ok(joined);
                    }
                    let state = self.state.to_owned();
                    match background::start(state, global.clone(), options.clone()).await {
                        Ok(StartOutcome::Listens) => {}
                        Ok(StartOutcome::Died) => deaths += 1,
                        Err(failure) => return self.join().await?.ok_or(failure),
                    }
                    if deaths >= MOST_DEATHS {
                        let log = background::log_file(self.state);
                        let message = "the kernel ended during its start without an error message";
                        let failure = Failure::new(Exit::Unreachable, message);
                        return Err(failure.hint(format!("its log is {}", log.display())));
                    }
                }
            }
        }
    }

    async fn join(&self) -> Result<Option<JoinedKernel>, Failure> {
        match socket::connect(self.at).await {
            Ok((reader, writer)) => {
                let note = KernelNote::read(self.state);
                Ok(Some(JoinedKernel { reader, writer, note }))
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(Failure::new(
                Exit::Auth,
                format!("the kernel at {} belongs to another user", self.at.display()),
            )),
            // There is none, or a dead one has left the socket.
            Err(_) => Ok(None),
        }
    }
}

/// Longer than a kernel that stops waits for its calls.
const PATIENCE: Duration = Duration::from_mins(1);
const SILENT: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(50);
const MOST_DEATHS: u32 = 3;
