//! The program that follows this one in its process: the next version, where that lies at the same path.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// Returns the path at which this program was started, which leads to the next version after an upgrade: as it was named, if
/// that was a whole path, for a link may lead to another file by then.
pub(crate) fn installed() -> PathBuf {
    let named = env::args_os().next().map(PathBuf::from);
    let named = named.filter(|path| path.is_absolute() && !path.starts_with("/proc"));
    named.unwrap_or_else(|| {
        let own = env::current_exe().unwrap_or_default();
        // So the system names a file that has been replaced or removed.
        let replaced = own.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
        replaced.unwrap_or(own)
    })
}

/// Checks that the program at the path of this one starts, and is an `mgp`.
///
/// # Errors
/// The program cannot take the place of this one, for the reason that the text says.
pub(crate) async fn check_successor() -> Result<(), String> {
    let program = installed();
    let mut asking = Command::new(&program);
    asking.arg("--version").stdin(Stdio::null());
    let why = match timeout(LONGEST_ANSWER, spawn_blocking(move || asking.output())).await {
        Ok(Ok(Ok(answer))) if answer.stdout.starts_with(b"mgp ") => return Ok(()),
        Ok(Ok(Err(error))) => error.to_string(),
        _ => "`--version` gives no version of mgp".to_owned(),
    };
    Err(format!("the kernel goes on, because {} cannot follow it: {why}", program.display()))
}

/// The time that a program has to tell its version.
const LONGEST_ANSWER: Duration = Duration::from_secs(10);
