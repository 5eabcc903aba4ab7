//! The processes at the other end of the kernel's sockets: their identity and their ancestors.

mod adopted;
mod clients;
mod process;
mod tcp_peer;

pub(crate) use self::adopted::{adopt_orphans, reap_adopted};
pub(crate) use self::clients::{ConnectedClients, speaker};
pub(crate) use self::process::{Lineage, Process, ProcessId};
pub(crate) use self::tcp_peer::{PeerUser, peer_user};

/// Returns the lineage of the process `pid`, which has just connected; `None` if it has ended, or if the system does not tell
/// from whom it descends.
///
/// A number alone deceives: a process may end while it is looked at, and its number may be given to another one. A
/// descriptor holds the process, and names no number once that has ended. A process that ended before it could be held,
/// and whose number had been given away by then, would be taken for another; so the peer is looked at before anything
/// else, and a system gives a number anew only after it has used up all others.
#[cfg(target_os = "linux")]
pub(crate) fn lineage_of(pid: i32) -> Option<Lineage> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    let held = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    let pid = u32::try_from(pid).ok()?;
    let lineage = Lineage::of(pid)?;
    // The process had this number all the time if it still has it.
    (number(&held)? == pid).then_some(lineage)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn lineage_of(_pid: i32) -> Option<Lineage> {
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
        let peer = lineage_of(pid).unwrap();
        assert!(peer.comes_from(own.id), "{peer:?}");
        assert_eq!(peer.folder(), std::env::current_dir().ok());
    }
}
