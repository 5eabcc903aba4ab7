//! The sockets at which programs of the same user reach a running kernel: sockets of Unix, or on Windows loopback connections
//! that a secret opens.

#[cfg(all(unix, test))]
#[allow(dead_code, unreachable_pub, reason = "only its tests run here")]
mod loopback;
#[cfg_attr(unix, path = "socket/unix.rs")]
#[cfg_attr(windows, path = "socket/loopback.rs")]
mod system;

use std::path::{Path, PathBuf};
use std::time::Duration;

use mgp_types::Principal;
use sha2::{Digest as _, Sha256};

pub use self::system::{SocketReader, SocketWriter, UserSocket, connect, operator, own_uid};
use crate::peer::Lineage;

/// The users that a socket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketAudience {
    /// Only the user who runs the kernel may connect.
    User,
    /// The user who runs the kernel may connect, and the members of the group that the kernel runs as.
    Group,
}

/// A user who is let in at a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(windows, expect(dead_code, reason = "Windows has neither a superuser nor the group of a process"))]
pub(crate) enum SocketPeer {
    /// The user that the kernel runs as.
    Owner,
    /// The superuser, who may do everything anyway.
    Root,
    /// A member of the group.
    Member,
}

/// A connection that was let in at a socket.
#[derive(Debug)]
pub(crate) struct AcceptedConnection<R = SocketReader, W = SocketWriter> {
    pub(crate) user: SocketPeer,
    /// The number of the user, where users have one.
    pub(crate) uid: u32,
    /// The process that connected and its ancestors, as they were then, if the system tells them.
    pub(crate) process: Option<Lineage>,
    pub(crate) reader: R,
    pub(crate) writer: W,
}

/// Returns the operator that this process is for its own kernel: the one that it is for a running kernel, too.
pub fn oneself() -> Principal {
    operator(own_uid())
}

/// Returns the path of the operators' socket if none is configured: beside the state, whatever the environment of the
/// process that looks for it. Where that is too long for a socket, the socket is in a folder for such sockets, under a
/// name that follows from the state's path.
pub fn default_path(state: &Path) -> PathBuf {
    let state = std::path::absolute(state).unwrap_or_else(|_| state.to_owned());
    let beside = state.join("mgp.sock");
    if agents_path(&beside, SharingKey(0)).as_os_str().len() < TOO_LONG {
        return beside;
    }
    let digest = start_of(Sha256::new_with_prefix(state.as_os_str().as_encoded_bytes()));
    std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute() && folder.is_dir())
        .map_or_else(std::env::temp_dir, |folder| folder.join("mgp"))
        .join(format!("mgp-{digest:016x}.sock"))
}

/// Returns the name of a socket among those that one kernel hands to the next.
pub(super) fn socket_name(path: &Path) -> String {
    format!("{:016x}", start_of(Sha256::new_with_prefix(path.as_os_str().as_encoded_bytes())))
}

fn start_of(digest: Sha256) -> u64 {
    digest.finalize()[..8].iter().fold(0, |start, byte| start << 8 | u64::from(*byte))
}

/// The key of the clients that may share a kernel: those that would start it from the same files, and as the same
/// agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharingKey(u64);

impl SharingKey {
    /// Makes the key from the configuration files and the agent of a client.
    pub fn of(files: &[PathBuf], agent: &str) -> Self {
        let mut digest = Sha256::new_with_prefix(agent.as_bytes());
        for file in files {
            // Two names of one file give the same key.
            let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.clone());
            digest.update([0]);
            digest.update(file.as_os_str().as_encoded_bytes());
        }
        Self(start_of(digest))
    }
}

/// Returns the path at which such clients reach the kernel whose operators reach it at `operators`: `mgp-agent-….sock`
/// beside `mgp.sock`. Other clients find nobody there.
pub fn agents_path(operators: &Path, sharers: SharingKey) -> PathBuf {
    let mut name = operators.file_stem().unwrap_or_default().to_owned();
    name.push(format!("{AGENTS}{:016x}", sharers.0));
    if let Some(extension) = operators.extension() {
        name.push(".");
        name.push(extension);
    }
    operators.with_file_name(name)
}

/// Returns whether clients of any key can share the kernel whose operators reach it at `operators`, at another socket
/// than `own`, at which one may begin to listen just now.
pub async fn is_shared(operators: &Path, own: Option<&Path>) -> bool {
    let folder = operators.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(files) = std::fs::read_dir(folder.unwrap_or_else(|| Path::new("."))) else { return false };
    let mut start = operators.file_stem().unwrap_or_default().to_owned();
    start.push(AGENTS);
    for file in files.flatten() {
        let is_for_agents = file.file_name().as_encoded_bytes().starts_with(start.as_encoded_bytes());
        let is_own = own.and_then(Path::file_name).is_some_and(|own| own == file.file_name());
        if is_for_agents && !is_own && connect(&file.path()).await.is_ok() {
            return true;
        }
    }
    false
}

/// The infix of the socket's name between that of the kernel and the key of the clients that may share it.
const AGENTS: &str = "-agent-";
/// The length in bytes from which on a path is too long for a socket of Unix. Systems differ, and listening needs some more for
/// a moment.
const TOO_LONG: usize = if cfg!(windows) { usize::MAX } else { 100 };
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_socket_lies_beside_the_state_unless_that_is_too_long() {
        let state = Path::new("/srv/ada/.local/state/mgp");
        assert_eq!(default_path(state), state.join("mgp.sock"));
        let shared = agents_path(&default_path(state), SharingKey(0xAB));
        assert_eq!(shared, state.join("mgp-agent-00000000000000ab.sock"));
        let deep = |last: &str| default_path(&Path::new("/home").join("deep/".repeat(20)).join(last));
        assert!(
            agents_path(&deep("a"), SharingKey(0)).as_os_str().len() < TOO_LONG,
            "{}",
            deep("a").display()
        );
        assert_eq!(deep("a"), deep("a"));
        assert_ne!(deep("a"), deep("b"));
    }

    #[test]
    fn a_kernel_is_shared_by_those_of_the_same_files_and_agent() {
        let directory = tempfile::tempdir().unwrap();
        let [own, other] = ["mgp.toml", "other.toml"].map(|name| directory.path().join(name));
        for file in [&own, &other] {
            std::fs::write(file, "").unwrap();
        }
        let again = directory.path().join(".").join("mgp.toml");
        let sharers = SharingKey::of(std::slice::from_ref(&own), "local");
        assert_eq!(sharers, SharingKey::of(&[again], "local"));
        assert_ne!(sharers, SharingKey::of(std::slice::from_ref(&own), "agent.research"));
        assert_ne!(sharers, SharingKey::of(std::slice::from_ref(&other), "local"));
        assert_ne!(sharers, SharingKey::of(&[own, other], "local"));
    }

    #[tokio::test]
    async fn a_kernel_that_begins_to_listen_meanwhile_is_no_kernel_of_others() {
        let directory = tempfile::tempdir().unwrap();
        let operators = directory.path().join("mgp.sock");
        let [own, others] = [SharingKey(1), SharingKey(2)].map(|key| agents_path(&operators, key));
        assert!(!is_shared(&operators, None).await);
        let _begun = UserSocket::open(&own, SocketAudience::User, None).unwrap();
        assert!(is_shared(&operators, None).await && !is_shared(&operators, Some(&own)).await);
        let _other = UserSocket::open(&others, SocketAudience::User, None).unwrap();
        assert!(is_shared(&operators, Some(&own)).await);
    }
}
