//! The process itself: the number of files that a kernel may open, the first process of a container in front of it, and the
//! programs that it becomes by `mgp confine` and `mgp server`.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use mgp_discovery::config::model::ListenSettings;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, getrlimit, kill_process, setrlimit, wait};
use rustix::termios::tcsetpgrp;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use crate::lifecycle::installed;
use crate::pattern_servers::{self, PROGRAM};
use crate::servers::confine::become_program;
use crate::terminal::{Exit, Failure, Result};

/// Raises the number of files that this process may open as far as it may, and warns if that does not do for the connections
/// of clients.
pub(super) fn raise_file_limit(listen: &ListenSettings) {
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
pub(super) fn run_as_init(args: &[OsString]) -> Result<u8> {
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
                // Shells write the code of a process that a signal has ended in this way.
                let code = status.exit_status().or_else(|| Some(128 + status.terminating_signal()?));
                return Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX));
            }
        }
        ended.recv().await;
    }
}

/// The number of files that is asked for at least: some systems allow any number, and some programs look at each number that
/// they may use.
const ENOUGH_FILES: u64 = if cfg!(target_os = "macos") { 10_240 } else { 1 << 16 };
/// The number of connections if the configuration names none.
const USUAL_CONNECTIONS: u64 = 1024;

#[derive(Debug, Args)]
pub(super) struct ConfineArgs {
    /// The file with the files, ports and sockets that the program may reach, as the kernel wrote it
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// The full path of the program
    program: PathBuf,
    /// The arguments of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// Becomes the confined program; returns only if that fails.
pub(super) fn confine(confine: &ConfineArgs) -> Failure {
    let Err(why) = become_program(&confine.to, &confine.program, &confine.args);
    Failure::new(Exit::Usage, why)
}

/// The server that is wanted, in the words of `mgp-patterns`.
#[derive(Debug, Args)]
pub(super) struct PatternServerArgs {
    /// The name of the server, and its options
    #[arg(value_name = "NAME", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Replaces this process by the server; returns only if that fails.
pub(super) fn serve(args: &PatternServerArgs) -> Failure {
    let Some(program) = pattern_servers::program() else {
        let message = format!("`{PROGRAM}`, the program of the servers, is not installed");
        return Failure::unreachable(message).hint(INSTALL);
    };
    let error = Command::new(&program).args(&args.words).exec();
    Failure::unreachable(format!("{}: {error}", program.display()))
}

/// The command that installs `mgp-patterns` from the sources of `mgp`.
const INSTALL: &str =
    "put it beside `mgp`: `cargo install --path mgp-server-sdk/examples/patterns` in a checkout makes it";
