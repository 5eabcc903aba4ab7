//! Signals to processes, and waiting for their end.

use std::fs;
use std::process::Command;
use std::time::Duration;

/// Sends a signal to a process.
pub(crate) fn signal(name: &str, pid: u32) {
    let script = ["-c", "kill -s \"$1\" -- \"$2\"", "sh", name, &pid.to_string()];
    assert!(Command::new("/bin/sh").args(script).status().unwrap().success());
}

/// Waits until a process is gone, and whoever was to wait for it has done so.
pub(crate) async fn gone(pid: u32) {
    for _ in 0..500 {
        if !is_there(pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("process {pid} is still there");
}

/// Returns whether the process exists. A process that has ended and that no parent waits for does not.
pub(crate) fn is_there(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('Z'))
}
