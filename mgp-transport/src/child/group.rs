//! The process group of a server, with the guard that kills it when this process dies.

use std::ffi::OsStr;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};

use super::process::AwaitedChild;

/// Returns the command of a program, which the system searches for in `PATH`.
pub(super) fn command(program: &OsStr) -> Command {
    Command::new(program)
}

/// The process group of one server. Dropping it kills every process in the group.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    /// The leader of the group, which kills the group when this process is gone. The group's number cannot be reused
    /// before the guard is waited for.
    guard: Option<Child>,
    _awaited: Option<AwaitedChild>,
    /// The number of the group; `None` while the group has no process.
    id: Option<Pid>,
    /// True if the leader of the group is a keeper, which kills all others wherever they went.
    is_kept: bool,
}

impl ProcessGroup {
    /// Creates a group that has a guard, if one can be started.
    pub(super) fn guarded() -> Self {
        let guard = start_guard();
        let id = guard.as_ref().and_then(pid);
        let awaited = guard.as_ref().and_then(Child::id).map(AwaitedChild::new);
        Self { guard, _awaited: awaited, id, is_kept: false }
    }

    /// Creates a group whose leader will be a keeper.
    pub(super) const fn kept() -> Self {
        Self { guard: None, _awaited: None, id: None, is_kept: true }
    }

    /// Makes `command` start in the group.
    pub(super) fn prepare(&self, command: &mut Command) {
        // The number 0 makes the process the leader of a group of its own.
        command.process_group(Pid::as_raw(self.id));
    }

    /// Returns the group with `child` in it, which [`prepare`](Self::prepare) has led there.
    pub(super) fn with(mut self, child: &Child) -> Self {
        self.id = self.id.or_else(|| pid(child));
        self
    }

    /// Kills the rest of the group after the server has exited and was waited for.
    pub(super) fn server_exited(&mut self) {
        // A keeper that has exited left nobody behind.
        if !self.is_kept {
            self.kill();
        }
        if self.guard.is_none() {
            // The number may be reused from here on.
            self.id = None;
        }
    }

    /// Asks every process in the group to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Kills every process in the group, or has the keeper kill what it keeps.
    pub(super) fn kill(&self) {
        match self.id.filter(|_| self.is_kept) {
            Some(keeper) => report(kill_process(keeper, Signal::USR1)),
            None => self.signal(Signal::KILL),
        }
    }

    /// Kills every process in the group and frees its number.
    pub(super) async fn end(mut self) {
        self.kill();
        // The number may be reused from here on.
        self.id = None;
        if let Some(mut guard) = self.guard.take()
            && let Err(error) = guard.wait().await
        {
            tracing::warn!(%error, "the guard of a child process was not waited for");
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id {
            report(kill_process_group(id, signal));
        }
    }
}

fn report(signalled: rustix::io::Result<()>) {
    match signalled {
        // The processes may be gone already.
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => tracing::warn!(%error, "a process group was not signalled"),
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The script of the guard. It waits for the end of its stdin, which only this process holds open. The signals that
/// shut the others down gently must not end the guard before them.
const GUARD: &str = "trap '' HUP INT QUIT TERM; while read -r _; do :; done; kill -KILL 0";

fn start_guard() -> Option<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", GUARD]).env_clear().current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    command.spawn().inspect_err(|error| tracing::warn!(%error, "a child process runs without a guard")).ok()
}

fn pid(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
}
