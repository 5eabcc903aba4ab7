//! The limits and the duties that a process has on Unix.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use mgp_discovery::config::model::ListenSettings;
use mgp_kernel_core::lifecycle::installed;
use mgp_kernel_core::terminal::{Failure, Result};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getrlimit, kill_process, setrlimit, wait,
};
use rustix::termios::tcsetpgrp;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

/// Raises the number of files that this process may open as far as it may, and warns if that does not do for the connections
/// of clients.
pub(in crate::cli) fn raise_file_limit(listen: &ListenSettings) {
    let connections = listen.max_connections.map_or(USUAL_CONNECTIONS, u64::from);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let mut files = current.unwrap_or(u64::MAX);
    let most = maximum.unwrap_or(u64::MAX).min(ENOUGH_FILES.max(3 * connections));
    let raised = Rlimit { current: Some(most), maximum };
    if files < most && setrlimit(Resource::Nofile, raised).is_ok() {
        files = most;
    }
    if listen.http.is_some() && files / 2 < connections {
        tracing::warn!(
            files,
            connections,
            "fewer clients can connect over HTTP than `listen.max_connections` says, because this process may open \
             too few files: raise the limit with `LimitNOFILE=` of the service, or `ulimit -Hn`"
        );
    }
}

/// Runs the same command in a child, for the first process of a container, which has duties that no other process has: passes
/// signals on to the child, and waits for all processes that are left behind. Returns the exit code of the child.
///
/// # Errors
/// The child cannot be started.
pub(in crate::cli) fn run_as_init(args: &[OsString]) -> Result<u8> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let code = runtime.and_then(|runtime| runtime.block_on(tend(args)));
    code.map_err(Failure::with_error("the kernel cannot be started"))
}

async fn tend(args: &[OsString]) -> io::Result<u8> {
    let mut ended = signal(SignalKind::child())?;
    let mut passed = Vec::new();
    for sent in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2] {
        passed.push((signal(SignalKind::from_raw(sent.as_raw()))?, sent));
    }
    // In a group of its own the child gets each key that interrupts once: from the terminal, and not from here as well.
    let mut command = Command::new(installed());
    command.args(args.iter().skip(1)).process_group(0);
    // Sockets that this process was given are meant for the child.
    let child = command.env_remove("LISTEN_PID").spawn().map(|child| Pid::from_child(&child))?;
    // Without a terminal there is nothing to hand over.
    let _ = tcsetpgrp(io::stdin(), child);
    let mut passing = JoinSet::new();
    for (mut received, sent) in passed {
        passing.spawn(async move {
            while received.recv().await.is_some() {
                // A child that has just ended takes no signal.
                let _ = kill_process(child, sent);
            }
        });
    }
    loop {
        while let Ok(Some((process, status))) = wait(WaitOptions::NOHANG) {
            if process == child {
                return Ok(exit_code(status));
            }
        }
        ended.recv().await;
    }
}

/// Returns the exit code that a shell gives for this end of a process.
pub(super) fn exit_code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or_else(|| Some(128 + status.terminating_signal()?));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// The number of files that is asked for at least: some systems allow any number, and some programs look at each number that
/// they may use.
const ENOUGH_FILES: u64 = if cfg!(target_os = "macos") { 10_240 } else { 1 << 16 };
/// The number of connections if the configuration names none.
const USUAL_CONNECTIONS: u64 = 1024;
