//! A kernel in the background: it is started for a client, and does not end with it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::exit::{Exit, Failure};

/// What came of the start of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartOutcome {
    /// It listens.
    Listens,
    /// It has ended without a word, as one that is killed.
    Died,
}

/// The right to start a kernel of one state, which one process has at a time. It ends with the process.
#[derive(Debug)]
pub(super) struct StartLock {
    _file: File,
}

impl StartLock {
    /// Takes the right, unless another process has it.
    ///
    /// # Errors
    /// The folder of the state, or the file in it, cannot be made.
    pub(super) fn take(state: &Path) -> Result<Option<Self>, Failure> {
        let path = state.join("start.lock");
        let unusable = |error: io::Error| Failure::usage(format!("{}: {error}", path.display()));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(unusable)?;
        let file = OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(unusable(error)),
        }
    }
}

/// Starts a kernel with these options in front of and behind `serve`, in a session of its own, and waits until it listens.
///
/// # Errors
/// It says why it does not start.
pub(super) async fn start(
    state: PathBuf,
    global: Vec<OsString>,
    options: Vec<OsString>,
) -> Result<StartOutcome, Failure> {
    let started = tokio::task::spawn_blocking(move || {
        let unusable = |error: io::Error| Failure::usage(format!("a kernel cannot be started: {error}"));
        let (log, begins_at) = open_log(&state).map_err(unusable)?;
        let mut child = command(&global, "--detach", &options)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(unusable)?;
        let mut told = String::new();
        if let Some(out) = child.stdout.take() {
            // It ends when the kernel does, if that says nothing.
            BufReader::new(out).read_line(&mut told).map_err(unusable)?;
        }
        child.wait().map_err(unusable)?;
        read(&told, &state, begins_at)
    });
    started.await.map_err(|error| Failure::usage(format!("a kernel cannot be started: {error}")))?
}

/// Becomes a process without a terminal whose parent is not the client's, starts the kernel as such, and leaves it alone.
///
/// # Errors
/// The system starts no process.
pub(super) fn detach(global: &[OsString], options: &[OsString]) -> Result<(), Failure> {
    let unusable = |error: io::Error| Failure::usage(format!("a kernel cannot be started: {error}"));
    // Whoever leads a group already has a session that nobody's terminal ends.
    let _ = rustix::process::setsid();
    command(global, "--background", options).spawn().map_err(unusable)?;
    Ok(())
}

/// Says to the process that waits for the kernel that it listens.
pub(super) fn tell_listening() {
    say(LISTENS);
}

/// Says to the process that waits for the kernel why it does not start.
pub(super) fn tell_failure(failure: &Failure) {
    let failure = serde_json::json!({
        "exit": failure.exit.number(), "message": failure.message(), "hint": failure.advice(),
    });
    say(&failure.to_string());
}

fn say(line: &str) {
    // Nobody may wait for it any more.
    let _ = writeln!(io::stdout(), "{line}");
}

fn read(told: &str, state: &Path, begins_at: u64) -> Result<StartOutcome, Failure> {
    if told.trim_end() == LISTENS {
        return Ok(StartOutcome::Listens);
    }
    let Ok(failure) = serde_json::from_str::<serde_json::Value>(told) else {
        tracing::warn!(log = %last_lines(state, begins_at), "a kernel ended while it started");
        return Ok(StartOutcome::Died);
    };
    let text = |name: &str| failure[name].as_str().map(str::to_owned);
    let exit = Exit::of_number(failure["exit"].as_u64());
    let failed =
        Failure::new(exit, text("message").unwrap_or_else(|| "the kernel does not start".to_owned()));
    Err(match text("hint") {
        Some(hint) => failed.hint(hint),
        None => failed.hint(format!("{} says more", log_file(state).display())),
    })
}

fn command(global: &[OsString], how: &str, options: &[OsString]) -> Command {
    // The file may have been replaced by a newer one meanwhile; what runs is what is meant.
    let own = std::env::current_exe().ok().filter(|path| path.exists());
    let program = own.unwrap_or_else(|| PathBuf::from("/proc/self/exe"));
    let mut command = Command::new(program);
    command.args(global).arg("serve").arg(how).args(options).stdin(Stdio::null());
    command
}

/// Where a kernel in the background writes its log.
pub(super) fn log_file(state: &Path) -> PathBuf {
    state.join("kernel.log")
}

/// The log to be added to, and how long it is. One that is long gives its place to a new one.
fn open_log(state: &Path) -> io::Result<(File, u64)> {
    let path = log_file(state);
    if fs::metadata(&path).is_ok_and(|log| log.len() > LONGEST_LOG) {
        fs::rename(&path, path.with_extension("log.1"))?;
    }
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
    let length = log.metadata()?.len();
    Ok((log, length))
}

/// What was written to the log behind `begins_at`, as far as it is worth reading.
pub(super) fn last_lines(state: &Path, begins_at: u64) -> String {
    let Ok(mut log) = File::open(log_file(state)) else { return String::new() };
    let mut text = Vec::new();
    if log.seek(SeekFrom::Start(begins_at)).is_err() || log.read_to_end(&mut text).is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().rev().take(MOST_LINES).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

const LISTENS: &str = "listening";
const LONGEST_LOG: u64 = 4 << 20;
const MOST_LINES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_starts_the_kernel_of_a_state() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("deep").join("state");
        let first = StartLock::take(&state).unwrap();
        assert!(first.is_some());
        assert!(StartLock::take(&state).unwrap().is_none());
        drop(first);
        assert!(StartLock::take(&state).unwrap().is_some());
    }

    #[test]
    fn a_failure_arrives_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let told = r#"{"exit":4,"message":"the port is taken","hint":"name another one"}"#;
        let failure = read(told, folder.path(), 0).unwrap_err();
        assert_eq!((failure.exit, failure.message()), (Exit::Unreachable, "the port is taken"));
        assert_eq!(failure.advice(), Some("name another one"));
        assert_eq!(read("listening\n", folder.path(), 0).unwrap(), StartOutcome::Listens);
        assert_eq!(read("", folder.path(), 0).unwrap(), StartOutcome::Died);
    }
}
