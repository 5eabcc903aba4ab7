//! The way of a client to the one kernel of a state directory: it joins the running kernel, or starts one.
//!
//! A lock on a file, which the system releases with its process, lets one process at a time start a kernel; the lock
//! of the database settles that there is one. So nobody who is killed at any moment blocks the next. All clients
//! share the kernel's environment: a kernel for each environment would need pins, grants and a record for each.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mgp_discovery::Config;
use mgp_kernel_core::Kernel;
use mgp_kernel_core::kernel::ServerStarts;
use mgp_kernel_core::listen::socket::{self, SocketReader, SocketWriter};
use mgp_kernel_core::platform::hide_process;
use mgp_kernel_core::state::kernel_note::KernelNote;
use mgp_kernel_core::terminal::{Exit, Failure, Result};
use tokio::time::{Instant, sleep};

use super::background::{self, start_lock};
use super::link::{join, make_way};
use super::output::Output;

fn of_others(state: &Path, could_join: bool) -> Failure {
    let whose = if could_join { ", from other files or for another agent" } else { "" };
    let message = format!("a kernel runs already with the state in {}{whose}", state.display());
    Failure::unreachable(message).hint(INSTEAD)
}

/// The settings with which a client joins the running kernel, or starts one in the background.
pub(super) struct KernelConnector<'a> {
    pub(super) config: &'a Config,
    pub(super) state: &'a Path,
    /// The socket at which operators reach the kernel.
    pub(super) operators: &'a Path,
    /// The socket that the kernel shares with all clients that would start the same kernel.
    pub(super) at: &'a Path,
    /// The options before and after `serve` with which a kernel is started; `None` if none may be started.
    pub(super) starting: Option<(Vec<OsString>, Vec<OsString>)>,
    pub(super) output: &'a Output,
}

/// A connection to a kernel as an agent's client.
pub(super) struct JoinedKernel {
    pub(super) reader: SocketReader,
    pub(super) writer: SocketWriter,
    /// The note that the kernel keeps about itself, if it could be read.
    pub(super) note: Option<KernelNote>,
}

impl KernelConnector<'_> {
    /// Notes, for readers of the client's log, which kernel was joined, and how it differs from a kernel of this
    /// process.
    pub(super) fn tell(&self, kernel: &JoinedKernel) {
        let Some(note) = &kernel.note else { return };
        self.output.note(&format!("joined the running kernel, process {}", note.pid));
        note.differences(self.config).iter().for_each(|difference| self.output.note(difference));
    }

    /// Starts a kernel in this process; returns `None` if the state directory is in use by a kernel that can be joined at the
    /// socket `at`. A kernel in the background that nobody uses makes way; while the state directory is in use otherwise,
    /// waits. `follows` says that the sockets of the kernel are this process's own already, so that nobody answers there.
    pub(super) async fn start_own(
        &self,
        own_files: &[PathBuf],
        at: Option<&Path>,
        starts: ServerStarts,
        follows: bool,
    ) -> Result<Option<Kernel>> {
        let mut held = StateInUse::new(self.state, self.operators, self.output);
        loop {
            match Kernel::begin(self.config.clone(), self.state.to_owned(), own_files.to_vec(), starts).await
            {
                Ok(kernel) => {
                    // No process that only leads to a kernel is hidden: the kernel reads there in which folder a client works.
                    hide_process();
                    return Ok(Some(kernel));
                }
                Err(error) if !error.is_in_use() => return Err(error.into()),
                Err(_) if follows || make_way(self.state, self.operators, None, self.output).await => {
                    held.wait().await?;
                    continue;
                }
                Err(_) => {}
            }
            if let Some(at) = at
                && socket::connect(at).await.is_ok()
            {
                return Ok(None);
            }
            // A kernel that is just starting or stopping is not shared, so it is waited for.
            if socket::is_shared(self.operators, at).await {
                return Err(of_others(self.state, at.is_some()));
            }
            held.wait().await?;
        }
    }

    /// Connects to the running kernel, or starts one. Of several processes that find no kernel, one starts it.
    ///
    /// # Errors
    /// The running kernel cannot be shared, or the new one does not start.
    pub(super) async fn reach(&self) -> Result<JoinedKernel> {
        let began = Instant::now();
        let (mut has_reported, mut has_made_way, mut deaths) = (false, false, 0);
        loop {
            if let Some(joined) = self.join().await? {
                let is_other = joined.note.as_ref().is_some_and(|note| !note.fits(self.config));
                if !is_other || self.starting.is_none() || std::mem::replace(&mut has_made_way, true) {
                    return Ok(joined);
                }
                // A kernel that can apply the configuration does so now, and need not notice first that it has changed.
                drop(joined);
                let ends = make_way(self.state, self.operators, Some(self.config), self.output).await;
                while ends && began.elapsed() < PATIENCE && socket::connect(self.at).await.is_ok() {
                    sleep(LOOK_EVERY).await;
                }
                continue;
            }
            if socket::is_shared(self.operators, Some(self.at)).await {
                return Err(of_others(self.state, true));
            }
            let waited = began.elapsed();
            if waited >= SILENT && !std::mem::replace(&mut has_reported, true) {
                self.output.note("waiting for a kernel that another client starts");
            }
            let Some((global, options)) = &self.starting else {
                return Err(Failure::unreachable("the kernel that this client joined has ended"));
            };
            match start_lock(self.state)? {
                None if waited >= PATIENCE => {
                    let message = format!("no kernel answers at {}", self.at.display());
                    return Err(Failure::unreachable(message).hint(INSTEAD));
                }
                None => sleep(LOOK_EVERY).await,
                Some(_lock) => {
                    // The process that had the lock before may have started a kernel.
                    if let Some(joined) = self.join().await? {
                        return Ok(joined);
                    }
                    let state = self.state.to_owned();
                    match background::start(state, global.clone(), options.clone()).await {
                        Ok(listens) => deaths += u32::from(!listens),
                        Err(failure) => return self.join().await?.ok_or(failure),
                    }
                    if deaths >= MAX_DEATHS {
                        let log = background::log_file(self.state);
                        let message = "the kernel ended during its start without an error message";
                        let failure = Failure::unreachable(message);
                        return Err(failure.hint(format!("its log is {}", log.display())));
                    }
                }
            }
        }
    }

    async fn join(&self) -> Result<Option<JoinedKernel>> {
        let halves = match join(self.at).await {
            // A kernel that many clients reach at once is there a moment later.
            Err(failure) if failure.exit == Exit::Unreachable => None,
            joined => joined?,
        };
        Ok(halves.map(|(reader, writer)| JoinedKernel { reader, writer, note: KernelNote::read(self.state) }))
    }
}

/// The wait for a state directory that another process has open. The process may be a kernel that is just starting or
/// stopping, or a command that ends soon, so the caller tries again for a while.
pub(super) struct StateInUse<'a> {
    state: &'a Path,
    operators: &'a Path,
    pub(super) output: &'a Output,
    since: Instant,
    is_announced: bool,
}

impl<'a> StateInUse<'a> {
    pub(super) fn new(state: &'a Path, operators: &'a Path, output: &'a Output) -> Self {
        Self { state, operators, output, since: Instant::now(), is_announced: false }
    }

    /// Waits until the next attempt.
    ///
    /// # Errors
    /// The state directory has been in use for too long.
    pub(super) async fn wait(&mut self) -> Result<()> {
        let (state, waited) = (self.state.display(), self.since.elapsed());
        let user = || match KernelNote::read(self.state) {
            Some(note) => format!("the kernel that uses {state} (pid {})", note.pid),
            None => format!("another mgp process that uses {state}"),
        };
        if waited >= LONGEST_IN_USE {
            let message = format!("{} does not answer at {}", user(), self.operators.display());
            return Err(Failure::unreachable(message).hint(INSTEAD));
        }
        if waited >= SILENT && !std::mem::replace(&mut self.is_announced, true) {
            self.output.note(&format!("Waiting for {} to exit", user()));
        }
        sleep(LOOK_EVERY).await;
        Ok(())
    }
}

/// The hint on how to use another kernel or another state.
const INSTEAD: &str =
    "stop the other mgp, name its socket with `--socket`, or use another state with `--state DIR`";
/// The longest time to wait for a state directory; longer than a command waits for its servers, or a kernel that stops waits
/// for its calls.
const LONGEST_IN_USE: Duration = Duration::from_secs(40);
/// The longest time to wait for a kernel; longer than a kernel that stops waits for its calls.
const PATIENCE: Duration = Duration::from_mins(1);
/// The time after which the user is told what is waited for.
const SILENT: Duration = Duration::from_secs(1);
/// The time between two attempts.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The number of kernels that end during their start before the client gives up.
const MAX_DEATHS: u32 = 3;
