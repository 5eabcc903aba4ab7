//! A running server: the command that starts it as a child process, waiting for its end, and shutting it down.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use super::group::{ProcessGroup, command};
use super::pipes::{self, ChildStdin, StderrReader, StderrTarget, StdinPipe};

/// A running server. Dropping it kills every process in its group.
#[derive(Debug)]
pub struct ChildProcess {
    // The group is dropped first, so that it is killed before the process is waited for.
    pub(super) group: ProcessGroup,
    pub(super) child: Child,
    pub(super) _awaited: Option<AwaitedChild>,
    pub(super) stdin: Arc<StdinPipe>,
    pub(super) stderr: Option<StderrReader>,
    pub(super) exit_timeout: Duration,
    pub(super) terminate_timeout: Duration,
    pub(super) exit_into: Option<ExitSlot>,
}

/// The place of an exit status.
pub(super) type ExitSlot = Arc<Mutex<Option<ExitStatus>>>;

impl ChildProcess {
    /// Returns the process id; `None` once the process has been waited for.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits until the server exits by itself, and kills the processes that it left behind. Its last lines are read
    /// before, for they say why it ended.
    ///
    /// # Errors
    /// The operating system does not report the exit.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.group.server_exited();
        if let Some(place) = &self.exit_into {
            *place.lock() = Some(status);
        }
        if let Some(stderr) = &mut self.stderr {
            stderr.read_to_end().await;
        }
        Ok(status)
    }

    /// Ends the server: closes its stdin, waits, asks its group to terminate, waits, kills the group. Returns the exit
    /// status; `None` if it could not be read.
    ///
    /// # Cancel safety
    /// Dropping the future kills the group at once.
    pub async fn shutdown(mut self) -> Option<ExitStatus> {
        let status = self.end_process().await;
        self.group.server_exited();
        self.group.end().await;
        status
    }

    async fn end_process(&mut self) -> Option<ExitStatus> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Some(status);
        }
        self.stdin.close();
        if let Ok(status) = timeout(self.exit_timeout, self.child.wait()).await {
            return status.ok();
        }
        self.group.terminate();
        if cfg!(unix)
            && let Ok(status) = timeout(self.terminate_timeout, self.child.wait()).await
        {
            return status.ok();
        }
        self.group.kill();
        if cfg!(unix)
            && let Ok(status) = timeout(self.terminate_timeout, self.child.wait()).await
        {
            return status.ok();
        }
        // This serves a process that has left its group, or that is in none.
        self.child.kill().await.ok()?;
        self.child.wait().await.ok()
    }
}

/// The note that this process awaits the end of a child process. Dropping it removes the note.
#[derive(Debug)]
pub(super) struct AwaitedChild(u32);

static AWAITED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

impl AwaitedChild {
    pub(super) fn new(id: u32) -> Self {
        AWAITED.lock().insert(id);
        Self(id)
    }
}

impl Drop for AwaitedChild {
    fn drop(&mut self) {
        AWAITED.lock().remove(&self.0);
    }
}

/// Returns whether this module awaits the end of the child process `id`. A process that also adopts orphans of its
/// servers must not collect the exit status of such children.
pub fn is_awaited(id: u32) -> bool {
    AWAITED.lock().contains(&id)
}

/// The command of a server that runs as a child process.
#[derive(Debug)]
#[must_use]
pub struct ChildCommand {
    command: Command,
    stderr: StderrTarget,
    exit_timeout: Duration,
    terminate_timeout: Duration,
    id_into: Option<Arc<AtomicU32>>,
    exit_into: Option<ExitSlot>,
    is_kept: bool,
}

impl ChildCommand {
    /// Creates the command for `program`, which is searched for in `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            command: command(program.as_ref()),
            stderr: StderrTarget::default(),
            exit_timeout: Duration::from_secs(2),
            terminate_timeout: Duration::from_secs(2),
            id_into: None,
            exit_into: None,
            is_kept: false,
        }
    }

    mgp_types::setters! { self =>
        /// Adds an argument.
        pub fn arg(arg: impl AsRef<OsStr>) => self.command.arg(arg);

        /// Adds arguments.
        pub fn args(args: impl IntoIterator<Item = impl AsRef<OsStr>>) => self.command.args(args);

        /// Sets an environment variable.
        pub fn env(name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) => self.command.env(name, value);

        /// Removes an environment variable.
        pub fn env_remove(name: impl AsRef<OsStr>) => self.command.env_remove(name);

        /// Removes every inherited environment variable.
        pub fn env_clear() => self.command.env_clear();

        /// Sets the working directory.
        pub fn current_dir(folder: impl AsRef<Path>) => self.command.current_dir(folder);

        /// Sets the target of stderr. Default: the stderr of this process.
        pub fn stderr(stderr: StderrTarget) => self.stderr = stderr;

        /// Sets the place to which the process id is written when the server starts, for display.
        pub fn id_into(place: Arc<AtomicU32>) => self.id_into = Some(place);

        /// Sets the place to which the exit status is written of a server that exits by itself; a start empties it.
        pub fn exit_into(place: Arc<Mutex<Option<ExitStatus>>>) => self.exit_into = Some(place);

        /// Declares that the program is a keeper: it starts the server, outlives SIGTERM, kills every descendant on SIGUSR1,
        /// and when the server or this process ends, and then exits like the server. It needs no guard.
        pub fn kept() => self.is_kept = true;

        /// Sets the time that a server has to exit once its stdin is closed. Default: 2 s.
        pub fn exit_timeout(timeout: Duration) => self.exit_timeout = timeout;

        /// Sets the time that a server has to exit once it got SIGTERM. Default: 2 s.
        pub fn terminate_timeout(timeout: Duration) => self.terminate_timeout = timeout;
    }

    /// Starts the server; returns it with its stdout and its stdin.
    ///
    /// # Errors
    /// The program cannot be started.
    ///
    /// # Panics
    /// The caller runs outside of a tokio runtime with IO.
    pub fn spawn(mut self) -> io::Result<(ChildProcess, ChildStdout, ChildStdin)> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(self.stderr.to_stdio());
        // A keeper that is killed keeps nothing.
        self.command.kill_on_drop(!self.is_kept);
        let group = if self.is_kept { ProcessGroup::kept() } else { ProcessGroup::guarded() };
        group.prepare(&mut self.command);
        let mut child = self.command.spawn()?;
        let group = group.with(&child);
        if let (Some(place), Some(id)) = (&self.id_into, child.id()) {
            place.store(id, Ordering::Relaxed);
        }
        if let Some(place) = &self.exit_into {
            *place.lock() = None;
        }
        let pipes = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = pipes else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let stderr = child.stderr.take().and_then(|pipe| pipes::read(pipe, self.stderr));
        let (stdin, pipe) = pipes::closable(stdin);
        let process = ChildProcess {
            group,
            _awaited: child.id().map(AwaitedChild::new),
            child,
            stdin: pipe,
            stderr,
            exit_timeout: self.exit_timeout,
            terminate_timeout: self.terminate_timeout,
            exit_into: self.exit_into,
        };
        Ok((process, stdout, stdin))
    }
}
