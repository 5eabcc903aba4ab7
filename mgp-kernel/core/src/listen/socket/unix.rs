//! The sockets of Unix, whose peers the system tells.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::Path;

use mgp_security::auth::reserved_owner;
use mgp_transport::unix::{self, Listener};
use mgp_types::Principal;
use tokio::net::UnixStream;
pub use tokio::net::unix::{OwnedReadHalf as SocketReader, OwnedWriteHalf as SocketWriter};

use super::{AcceptedConnection, PAUSE, SocketAudience, SocketPeer, socket_name};
use crate::peer::lineage_of;

/// A socket of the kernel. A peer is let in if the system says that it is the same user, or root; nobody else gets an
/// answer. Only this user may use the file, and the folder that it is in.
#[derive(Debug)]
pub struct UserSocket {
    listener: Listener,
    owner: u32,
    operators: SocketAudience,
}

impl UserSocket {
    /// Listens at `path` for these users, or goes on at the socket there that the kernel before has handed over. A socket that a
    /// dead kernel left there is replaced. The system decides who belongs to the group, from the permissions of the file.
    ///
    /// # Errors
    /// Fails if another kernel listens there, or if the folder does not belong to this user.
    pub(in crate::listen) fn open(
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
    pub(in crate::listen) fn hand_over(self) -> io::Result<(String, OwnedFd)> {
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
pub async fn connect(path: &Path) -> io::Result<(SocketReader, SocketWriter)> {
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

/// Returns the number of the user that this process runs as.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the operator that the user `uid` is: by the name that the system has for the user, whatever the environment of
/// this process says, unless that name is reserved for somebody else.
pub fn operator(uid: u32) -> Principal {
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

#[cfg(test)]
mod tests {
    use super::super::oneself;
    use super::*;

    #[test]
    fn a_user_is_one_operator_at_the_socket_and_in_the_own_process() {
        assert_eq!(oneself(), operator(own_uid()));
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
