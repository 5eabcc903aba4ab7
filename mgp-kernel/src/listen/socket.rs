//! The sockets at which programs of the same user reach a running kernel.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mgp_security::auth::reserved_owner;
use mgp_transport::unix::{self, Listener};
use mgp_types::Principal;
use sha2::{Digest as _, Sha256};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::peer::{Lineage, lineage_of};

/// A socket of the kernel. A peer is let in if the system says that it is the same user, or root; nobody else gets an
/// answer. Only this user may use the file, and the folder that it is in.
#[derive(Debug)]
pub(crate) struct UserSocket {
    listener: Listener,
    owner: u32,
    operators: SocketAudience,
}

/// The users that a socket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketAudience {
    /// Only the user who runs the kernel may connect.
    User,
    /// The user who runs the kernel may connect, and the members of the group that the kernel runs as.
    Group,
}

/// A user who is let in at a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
pub(crate) struct AcceptedConnection {
    pub(crate) user: SocketPeer,
    /// The number of the user.
    pub(crate) uid: u32,
    /// The process that connected and its ancestors, as they were then, if the system tells them.
    pub(crate) process: Option<Lineage>,
    pub(crate) reader: OwnedReadHalf,
    pub(crate) writer: OwnedWriteHalf,
}

impl UserSocket {
    /// Listens at `path` for these users, or goes on at the socket there that the kernel before has handed over. A socket that a
    /// dead kernel left there is replaced. The system decides who belongs to the group, from the permissions of the file.
    ///
    /// # Errors
    /// Fails if another kernel listens there, or if the folder does not belong to this user.
    pub(super) fn open(
        path: &Path,
        operators: SocketAudience,
        handed: Option<UnixListener>,
    ) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private_folder(folder)?;
        }
        let taken_over = handed.and_then(|socket| Listener::take_over(socket, path).ok());
        let listener = taken_over.map_or_else(|| unix::listen(path), Ok)?;
        // The file was made by this process, so its owner is the user of this process.
        let owner = std::fs::symlink_metadata(listener.path())?.uid();
        if operators == SocketAudience::Group {
            std::fs::set_permissions(listener.path(), std::fs::Permissions::from_mode(0o660))?;
        }
        Ok(Self { listener, owner, operators })
    }

    /// Stops accepting, and returns the socket with its [name](socket_name) for the kernel that follows this one.
    ///
    /// # Errors
    /// Fails if this process may open no further file.
    pub(super) fn hand_over(self) -> io::Result<(String, OwnedFd)> {
        Ok((socket_name(self.listener.path()), self.listener.hand_over()?))
    }

    /// Waits for the next connection that is let in.
    ///
    /// # Cancel safety
    /// Dropping the future loses no connection.
    pub(crate) async fn accept(&self) -> AcceptedConnection {
        loop {
            let (reader, writer) = match self.listener.accept().await {
                Ok(halves) => halves,
                Err(error) => {
                    tracing::warn!(%error, "connection not accepted");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let stream: &UnixStream = reader.as_ref();
            let credentials = stream.peer_cred().ok();
            if let Some(credentials) = credentials
                && let Some(user) = self.admit(credentials.uid())
            {
                let process = credentials.pid().and_then(lineage_of);
                return AcceptedConnection { user, uid: credentials.uid(), process, reader, writer };
            }
            tracing::warn!("somebody else than this user was not let in at the socket");
        }
    }

    fn admit(&self, peer: u32) -> Option<SocketPeer> {
        let member = || (self.operators == SocketAudience::Group).then_some(SocketPeer::Member);
        SocketPeer::of(peer, self.owner).or_else(member)
    }
}

impl SocketPeer {
    /// Returns the role in which the user `peer` may connect to a kernel that `owner` runs; `None` for nobody who may.
    pub(crate) const fn of(peer: u32, owner: u32) -> Option<Self> {
        match peer {
            _ if peer == owner => Some(Self::Owner),
            ROOT => Some(Self::Root),
            _ => None,
        }
    }
}

/// Connects to a socket of a kernel, if the kernel is this user's or root's, or lets a group operate it that this user
/// belongs to: nobody else may read what is asked there.
///
/// # Errors
/// Fails if nobody listens there; or if somebody else does, which is
/// [`PermissionDenied`](io::ErrorKind::PermissionDenied).
pub(crate) async fn connect(path: &Path) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
    let (reader, writer) = unix::connect(path).await?;
    let own = UnixStream::pair()?.0.peer_cred()?.uid();
    let stream: &UnixStream = reader.as_ref();
    match stream.peer_cred().ok().map(|peer| peer.uid()) {
        Some(listening) if own == ROOT || SocketPeer::of(listening, own).is_some() => Ok((reader, writer)),
        Some(listening) if is_for_own_group(path, listening) => Ok((reader, writer)),
        _ => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// Returns whether the user `listening` lets a group of this process operate its kernel. Nobody else can have put the
/// socket there: only the owner of the folder may write to it.
fn is_for_own_group(path: &Path, listening: u32) -> bool {
    let found = |path: &Path| std::fs::symlink_metadata(path);
    let (Ok(socket), Some(Ok(folder))) = (found(path), path.parent().map(found)) else { return false };
    let is_own = |group: u32| {
        let groups = rustix::process::getgroups().unwrap_or_default();
        groups.iter().any(|own| own.as_raw() == group) || rustix::process::getegid().as_raw() == group
    };
    let is_private = folder.mode() & 0o022 == 0 && [listening, ROOT].contains(&folder.uid());
    is_private && socket.uid() == listening && socket.mode() & 0o070 == 0o060 && is_own(socket.gid())
}

/// Returns the operator that this process is for its own kernel: the one that it is for a running kernel, too.
pub(crate) fn oneself() -> Principal {
    operator(rustix::process::geteuid().as_raw())
}

/// Returns the operator that the user `uid` is: by the name that the system has for the user, whatever the environment of
/// this process says, unless that name is reserved for somebody else.
pub(crate) fn operator(uid: u32) -> Principal {
    let is_free = |name: &String| name == "root" || reserved_owner(name).is_none();
    let name = user_name(uid).filter(is_free);
    Principal::operator(name.unwrap_or_else(|| format!("uid {uid}")))
}

fn user_name(uid: u32) -> Option<String> {
    let users = std::fs::read("/etc/passwd").ok()?;
    String::from_utf8_lossy(&users).lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

/// Returns the path of the operators' socket if none is configured: beside the state, whatever the environment of the
/// process that looks for it. Where that is too long for a socket, the socket is in a folder for such sockets, under a
/// name that follows from the state's path.
pub(crate) fn default_path(state: &Path) -> PathBuf {
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
pub(crate) struct SharingKey(u64);

impl SharingKey {
    pub(crate) fn of(files: &[PathBuf], agent: &str) -> Self {
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
pub(crate) fn agents_path(operators: &Path, sharers: SharingKey) -> PathBuf {
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
pub(crate) async fn is_shared(operators: &Path, own: Option<&Path>) -> bool {
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

/// Makes the folder if there is none, and checks that only its owner can write to it: others could put a socket of
/// their own there.
fn private_folder(folder: &Path) -> io::Result<()> {
    match std::fs::metadata(folder) {
        Ok(found) if found.permissions().mode() & 0o022 == 0 => Ok(()),
        // In a folder like `/tmp` nobody can replace the files of others.
        Ok(found) if found.permissions().mode() & 0o1000 != 0 => Ok(()),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("others can write to {}; `chmod go-w` it, or name another place", folder.display()),
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
        }
        Err(error) => Err(error),
    }
}

const ROOT: u32 = 0;
/// The infix of the socket's name between that of the kernel and the key of the clients that may share it.
const AGENTS: &str = "-agent-";
const PAUSE: Duration = Duration::from_millis(50);
/// The length in bytes from which on a path is too long for a socket. Systems differ, and listening needs some more for
/// a moment.
const TOO_LONG: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_one_operator_at_the_socket_and_in_the_own_process() {
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(oneself(), operator(own));
        assert_eq!(operator(ROOT), Principal::operator("root"));
        assert_eq!(operator(4_000_000_000), Principal::operator("uid 4000000000"));
        assert_eq!(oneself().role(), mgp_types::PrincipalRole::Operator);
    }

    #[test]
    fn only_the_same_user_and_root_are_let_in() {
        assert_eq!(SocketPeer::of(1000, 1000), Some(SocketPeer::Owner));
        assert_eq!(SocketPeer::of(ROOT, 1000), Some(SocketPeer::Root));
        assert_eq!(SocketPeer::of(1001, 1000), None);
        assert_eq!(SocketPeer::of(1000, ROOT), None);
    }

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

    #[tokio::test]
    async fn nobody_else_can_reach_the_socket_and_a_stale_one_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run").join("mgp.sock");
        let mode = |path: &Path| std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
        let socket = UserSocket::open(&path, SocketAudience::User, None).unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let second = UserSocket::open(&path, SocketAudience::User, None).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
        drop(socket);
        // What a process leaves that was killed.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        UserSocket::open(&path, SocketAudience::User, None).unwrap();
    }

    #[test]
    fn a_folder_that_others_write_to_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("open");
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(private_folder(&folder).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
