use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::Guard;
use super::awaited::Awaited;

/// The process group of one server. Whatever is in it is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Group {
    /// Leads the group and kills it when this process is gone. While it is not waited for, nobody else can
    /// be given the group's number.
    guard: Option<Child>,
    _awaited: Option<Awaited>,
    /// `None` for as long as there is nobody in it.
    id: Option<Pid>,
}

impl Group {
    /// A group in which only the guard is, if there is to be one.
    pub(super) fn new(guard: Guard) -> Self {
        let guard = match guard {
            Guard::Process => start_guard(),
            Guard::Nothing => None,
        };
        let id = guard.as_ref().and_then(pid);
        let awaited = guard.as_ref().and_then(Child::id).map(Awaited::new);
        Self { guard, _awaited: awaited, id }
    }

    /// Makes `command` start in the group.
    pub(super) fn prepare(&self, command: &mut Command) {
        // 0 makes the process the leader of a group of its own.
        command.process_group(Pid::as_raw(self.id));
    }

    /// The group with `child` in it, which [`prepare`](Self::prepare) has led there.
    pub(super) fn with(mut self, child: &Child) -> Self {
        self.id = self.id.or_else(|| pid(child));
        self
    }

    /// The server has exited and was waited for: whoever it left behind goes too.
    pub(super) fn server_exited(&mut self) {
        self.kill();
        if self.guard.is_none() {
            // Nobody holds the number any more.
            self.id = None;
        }
    }

    /// Asks everything in the group to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Kills everything in the group.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Kills everything in the group and gives its number back.
    pub(super) async fn end(mut self) {
        self.kill();
        // From here on the number may be somebody else's.
        self.id = None;
        if let Some(mut guard) = self.guard.take()
            && let Err(error) = guard.wait().await
        {
            tracing::warn!(%error, "the guard of a child process was not waited for");
        }
    }

    fn signal(&self, signal: Signal) {
        let Some(id) = self.id else { return };
        match kill_process_group(id, signal) {
            // There may be nobody left.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => tracing::warn!(%error, "a process group was not signalled"),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

fn start_guard() -> Option<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", GUARD]).env_clear().current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    command.spawn().inspect_err(|error| tracing::warn!(%error, "a child process runs without a guard")).ok()
}

fn pid(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
}

/// Waits for the end of its stdin, which only this process holds open. The signals that shut the others down
/// gently must not end the guard before them.
const GUARD: &str = "trap '' HUP INT QUIT TERM; while read -r _; do :; done; kill -KILL 0";
