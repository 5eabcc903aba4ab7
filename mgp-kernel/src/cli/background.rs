//! The start of a kernel in the background, which outlives the client that starts it.
//!
//! A process that ends at once starts the kernel, in a session of its own. A kernel that were the client's
//! grandchild would end with the process tree that clients kill, and all that it starts would look like the
//! client's.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mgp_discovery::create_private_folder;
use mgp_kernel_core::lifecycle::installed;
use mgp_kernel_core::platform::{leave_session, private_file_options};
use mgp_kernel_core::terminal::{Exit, Failure, Result};
use serde_json::json;

use super::proof::TOKEN;

/// Takes the lock under which one process at a time starts a kernel for a state directory, unless another process holds it. It
/// ends with the file that is returned, and with the process at the latest.
///
/// # Errors
/// The state directory or the lock file cannot be created.
pub(super) fn start_lock(state: &Path) -> Result<Option<File>> {
    let path = state.join("start.lock");
    let unusable = |error: io::Error| Failure::file(&path, error);
    create_private_folder(state).map_err(unusable)?;
    let file = private_file_options().create(true).write(true).truncate(false).open(&path);
    let file = file.map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(unusable(error)),
    }
}

/// Starts a kernel in a session of its own, with `global` before and `options` after `serve`, and waits until it
/// listens. Returns `false` if it ended without a message, as a process that is killed does.
///
/// # Errors
/// The kernel cannot be started, or reports why it does not start.
pub(super) async fn start(state: PathBuf, global: Vec<OsString>, options: Vec<OsString>) -> Result<bool> {
    let started = tokio::task::spawn_blocking(move || {
        let (log, begins_at) = open_log(&state).map_err(unstarted)?;
        let mut command = command(&global, "--detach", &options);
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().map_err(unstarted)?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            // The read ends with an empty text if the kernel ends without a message.
            BufReader::new(out).read_line(&mut line).map_err(unstarted)?;
        }
        child.wait().map_err(unstarted)?;
        read(&line, &state, begins_at)
    });
    started.await.map_err(unstarted)?
}

/// Starts the kernel as a process without a terminal, and does not wait for it. Once the calling process has exited,
/// the kernel has no parent that belongs to the client.
///
/// # Errors
/// The process cannot be started.
pub(super) fn detach(global: &[OsString], options: &[OsString]) -> Result<()> {
    let mut kernel = command(global, "--background", options);
    leave_session(&mut kernel);
    kernel.spawn().map_err(unstarted)?;
    Ok(())
}

fn unstarted(error: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("a kernel cannot be started: {error}"))
}

/// Tells the process that waits for the kernel that it listens, or why it does not start.
pub(super) fn tell(outcome: Result<(), &Failure>) {
    let failed = |failure: &Failure| json!([failure.exit, failure.message(), failure.advice()]).to_string();
    let line = outcome.map_or_else(failed, |()| LISTENS.to_owned());
    // The process that waited may have ended.
    let _ = writeln!(io::stdout(), "{line}");
}

fn read(line: &str, state: &Path, begins_at: u64) -> Result<bool> {
    if line.trim_end() == LISTENS {
        return Ok(true);
    }
    let Ok((exit, message, hint)) = serde_json::from_str::<(Exit, String, Option<String>)>(line) else {
        tracing::warn!(log = %last_lines(state, begins_at), "a kernel ended while it started");
        return Ok(false);
    };
    let hint = hint.unwrap_or_else(|| format!("{} says more", log_file(state).display()));
    Err(Failure::new(exit, message).hint(hint))
}

fn command(global: &[OsString], how: &str, options: &[OsString]) -> Command {
    // The program lies where this one did when it was started, so that the kernel after an upgrade is the new one.
    let program = Some(installed()).filter(|path| path.exists());
    let mut command = Command::new(program.unwrap_or_else(|| PathBuf::from("/proc/self/exe")));
    // What operators may do belongs to the command that starts the kernel.
    command.args(global).arg("serve").arg(how).args(options).env_remove(TOKEN).stdin(Stdio::null());
    command
}

/// Returns the path of the log of a kernel in the background.
pub(super) fn log_file(state: &Path) -> PathBuf {
    state.join("kernel.log")
}

/// Opens the log for appending, and returns it with its length. A log that is too long is renamed, and a new one
/// begins.
fn open_log(state: &Path) -> io::Result<(File, u64)> {
    let path = log_file(state);
    if fs::metadata(&path).is_ok_and(|log| log.len() > LONGEST_LOG) {
        fs::rename(&path, path.with_extension("log.1"))?;
    }
    let log = private_file_options().create(true).append(true).open(&path)?;
    let length = log.metadata()?.len();
    Ok((log, length))
}

/// Returns the lines that were written to the log after the position `begins_at`, at most the last `MAX_LINES`.
fn last_lines(state: &Path, begins_at: u64) -> String {
    let log = fs::read(log_file(state)).unwrap_or_default();
    let begin = usize::try_from(begins_at).unwrap_or(usize::MAX);
    let text = String::from_utf8_lossy(log.get(begin..).unwrap_or_default());
    let lines: Vec<_> = text.lines().rev().take(MAX_LINES).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// The line by which a kernel in the background says that it listens.
const LISTENS: &str = "listening";
/// The length in bytes beyond which a new log begins.
const LONGEST_LOG: u64 = 4 << 20;
/// The largest number of log lines that are reported.
const MAX_LINES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_starts_the_kernel_of_a_state() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("deep").join("state");
        let first = start_lock(&state).unwrap();
        assert!(first.is_some());
        assert!(start_lock(&state).unwrap().is_none());
        drop(first);
        assert!(start_lock(&state).unwrap().is_some());
    }

    #[test]
    fn a_failure_arrives_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let line = r#"["unreachable","the port is taken","name another one"]"#;
        let failure = read(line, folder.path(), 0).unwrap_err();
        assert_eq!((failure.exit, failure.message()), (Exit::Unreachable, "the port is taken"));
        assert_eq!(failure.advice(), Some("name another one"));
        assert!(read("listening\n", folder.path(), 0).unwrap());
        assert!(!read("", folder.path(), 0).unwrap());
    }
}
