//! The processes that servers leave behind when they start a process and end: they become children of this kernel.
//!
//! Otherwise they would be children of the system's first process, like all that a person starts.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs;
use std::time::Duration;

use mgp_transport::child::is_awaited;
use tokio::time::sleep;

use crate::platform::collect_child;

/// Makes all that descends from this process its descendant for good. Returns whether the system does so.
pub fn adopt_orphans() -> bool {
    #[cfg(target_os = "linux")]
    let adopts = rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .inspect_err(|error| tracing::warn!(%error, "processes that servers leave behind are not adopted"))
        .is_ok();
    #[cfg(not(target_os = "linux"))]
    let adopts = false;
    adopts
}

/// Waits for adopted processes that have ended, for as long as it is polled: nobody else waits for them.
pub async fn reap_adopted() -> Infallible {
    let mut ended = BTreeSet::new();
    loop {
        sleep(LOOK_EVERY).await;
        let now: BTreeSet<_> = children().into_iter().filter(|child| has_ended(*child)).collect();
        // The starter of a new process may not have said yet that it waits for it, so a process has to be seen
        // twice.
        for pid in now.intersection(&ended).filter(|pid| !is_awaited(**pid)) {
            if let Err(error) = collect_child(*pid) {
                tracing::debug!(%error, pid, "an adopted process is not waited for");
            }
        }
        ended = now;
    }
}

/// Returns the children of all threads of this process.
pub fn children() -> Vec<u32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of_thread = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).ok();
    let texts = threads.filter_map(of_thread).collect::<Vec<_>>().join(" ");
    texts.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn has_ended(pid: u32) -> bool {
    let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) else { return false };
    let name_ends = stat.iter().rposition(|byte| *byte == b')');
    name_ends.is_some_and(|end| stat[end..].starts_with(b") Z"))
}

const LOOK_EVERY: Duration = Duration::from_secs(5);
