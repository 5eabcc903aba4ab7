//! The keeper of a server: the process between the kernel and the server's program, to which the system gives all orphans
//! of the program. No other process could tell whose they are.

use std::ffi::OsString;
use std::io;
use std::process::Command;

use clap::Args;
use mgp_kernel_core::peer::children;
use mgp_kernel_core::terminal::{Failure, Result};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, set_child_subreaper,
    set_parent_process_death_signal, wait,
};
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::limits::exit_code;

#[derive(Debug, Args)]
pub(in crate::cli) struct KeepArgs {
    /// The program of the server
    program: OsString,
    /// The arguments of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// Runs a server in a child until it, or the kernel that started this process, ends or sends SIGUSR1. Then kills all that
/// descends from this process, in whatever session: orphans become its children. Returns the exit code of the server.
///
/// # Errors
/// The server cannot be started.
pub(in crate::cli) fn keep(server: &KeepArgs) -> Result<u8> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let status = runtime.and_then(|runtime| runtime.block_on(kept(server)));
    let name = server.program.display();
    let status =
        status.map_err(|error| Failure::unreachable(format!("{name} cannot be started: {error}")))?;
    if let Some(signal) = status.terminating_signal().and_then(Signal::from_named_raw) {
        // Whoever waits for this process is to see how the server ended.
        let _ = kill_process(getpid(), signal);
    }
    Ok(exit_code(status))
}

async fn kept(server: &KeepArgs) -> io::Result<WaitStatus> {
    let (kernel, mut ended) = (getppid(), signal(SignalKind::child())?);
    let (mut ordered, mut left) = (signal(SignalKind::user_defined1())?, signal(SignalKind::hangup())?);
    // A signal to the group is for the server.
    let _ignored = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::quit()].map(signal);
    set_child_subreaper(Some(getpid()))?;
    // The system sends it when a thread of the kernel ends, too.
    set_parent_process_death_signal(Some(Signal::HUP))?;
    let child = Pid::from_child(&Command::new(&server.program).args(&server.args).spawn()?);
    let (mut ends, mut of_server) = (getppid() != kernel, None);
    loop {
        if ends {
            for process in children() {
                let process = i32::try_from(process).ok().and_then(Pid::from_raw);
                // A process that has just ended takes no signal.
                let _ = process.map(|process| kill_process(process, Signal::KILL));
            }
        }
        match wait(WaitOptions::NOHANG) {
            Ok(Some((process, status))) => {
                if process == child {
                    (ends, of_server) = (true, Some(status));
                }
                // What it leaves behind are children of this process now.
                continue;
            }
            Ok(None) => {}
            Err(error) => return of_server.ok_or_else(|| error.into()),
        }
        tokio::select! {
            _ = ended.recv() => {}
            _ = ordered.recv() => ends = true,
            _ = left.recv() => ends |= getppid() != kernel,
        }
    }
}
