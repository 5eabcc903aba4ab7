//! A running server: waiting for its end, and shutting it down.

use std::collections::BTreeSet;
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::process::Child;
use tokio::time::timeout;

use super::group::ProcessGroup;
use super::pipes::{StderrReader, StdinPipe};

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

/// The report on the end of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExitReport {
    /// The cause of the exit.
    pub how: ExitCause,
    /// The exit status; `None` if it could not be read.
    pub status: Option<ExitStatus>,
}

/// The cause of a server's exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ExitCause {
    /// The server had exited before the shutdown began.
    ByItself,
    /// The server exited when its stdin was closed.
    StdinClosed,
    /// The server exited after SIGTERM.
    Terminated,
    /// The server was killed.
    Killed,
}

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

    /// Ends the server: closes its stdin, waits, asks its group to terminate, waits, kills the group.
    ///
    /// # Cancel safety
    /// Dropping the future kills the group at once.
    pub async fn shutdown(mut self) -> ExitReport {
        let report = self.end_process().await;
        self.group.server_exited();
        self.group.end().await;
        report
    }

    async fn end_process(&mut self) -> ExitReport {
        if let Ok(Some(status)) = self.child.try_wait() {
            return ExitReport { how: ExitCause::ByItself, status: Some(status) };
        }
        self.stdin.close();
        if let Ok(status) = timeout(self.exit_timeout, self.child.wait()).await {
            return ExitReport { how: ExitCause::StdinClosed, status: status.ok() };
        }
        self.group.terminate();
        if cfg!(unix)
            && let Ok(status) = timeout(self.terminate_timeout, self.child.wait()).await
        {
            return ExitReport { how: ExitCause::Terminated, status: status.ok() };
        }
        self.group.kill();
        // This serves systems without groups, and a process that has left its group.
        let killed = self.child.kill().await;
        let status = if killed.is_ok() { self.child.wait().await.ok() } else { None };
        ExitReport { how: ExitCause::Killed, status }
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
