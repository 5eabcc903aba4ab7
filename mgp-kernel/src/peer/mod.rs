//! The processes at the other end of the kernel's sockets: their identity and their ancestors.

mod adopted;
mod clients;
mod process;

use std::path::PathBuf;

pub(crate) use self::adopted::{adopt_orphans, reap_adopted};
pub(crate) use self::clients::{ConnectedClients, speaker};
pub(crate) use self::process::{Lineage, Process, ProcessId};

/// The process that connected to a socket of the kernel, as it was when the connection was let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PeerProcess {
    Known(Lineage),
    /// The process has ended, or the system does not tell from whom it descends.
    Unknown,
}

impl PeerProcess {
    /// Returns the process that has just connected, by the number that it had then according to the system.
    pub(crate) fn of(pid: Option<i32>) -> Self {
        let pid = pid.and_then(|pid| u32::try_from(pid).ok());
        pid.and_then(lineage).map_or(Self::Unknown, Self::Known)
    }

    /// Returns the working folder of the process, if it still runs and the system shows it.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        let Self::Known(lineage) = self else { return None };
        let id = lineage.process().id;
        let folder = std::fs::read_link(format!("/proc/{}/cwd", id.pid)).ok();
        // The process was there all the time if it still is, so nobody else had its number.
        folder.filter(|_| id.is_there())
    }

    /// Returns whether the process was started by `ancestor`, directly or through processes that `ancestor` started.
    pub(crate) fn comes_from(&self, ancestor: Option<ProcessId>) -> bool {
        match (self, ancestor) {
            (Self::Known(lineage), Some(ancestor)) => lineage.comes_from(ancestor),
            _ => false,
        }
    }
}

/// Returns the lineage of the process `pid`, if it is still the one that connected.
///
/// A number alone deceives: a process may end while it is looked at, and its number may be given to another one. A
/// descriptor holds the process, and names no number once that has ended. A process that ended before it could be held,
/// and whose number had been given away by then, would be taken for another; so the peer is looked at before anything
/// else, and a system gives a number anew only after it has used up all others.
#[cfg(target_os = "linux")]
fn lineage(pid: u32) -> Option<Lineage> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    let held = Pid::from_raw(i32::try_from(pid).ok()?)?;
    let held = pidfd_open(held, PidfdFlags::empty()).ok()?;
    let lineage = Lineage::of(pid)?;
    // The process had this number all the time if it still has it.
    (number(&held)? == pid).then_some(lineage)
}

#[cfg(not(target_os = "linux"))]
fn lineage(_pid: u32) -> Option<Lineage> {
    None
}

/// Returns the number of the process that a descriptor is of, while the process has one.
#[cfg(target_os = "linux")]
fn number(process: &std::os::fd::OwnedFd) -> Option<u32> {
    use std::os::fd::AsRawFd as _;

    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", process.as_raw_fd())).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn who_connected_is_known_with_its_ancestors() {
        let own = Process::own().unwrap();
        let pid = i32::try_from(own.id.pid).unwrap();
        let peer = PeerProcess::of(Some(pid));
        assert!(peer.comes_from(Some(own.id)), "{peer:?}");
        assert!(!peer.comes_from(None));
        assert_eq!(peer.folder(), std::env::current_dir().ok());
        assert_eq!(PeerProcess::of(None), PeerProcess::Unknown);
    }
}
