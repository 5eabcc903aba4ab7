//! The socket at which a running kernel is reached by its operators.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mgp_transport::unix::{self, Listener};
use mgp_transport::{Connection, ConnectionLimits, connect};
use mgp_types::Principal;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::kernel::Kernel;

/// A kernel's socket. Whoever connects is an operator if the system says that it is the same user, or root; nobody else
/// gets an answer. The file is for this user only, in a folder that is, too.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    listener: Listener,
    owner: u32,
}

impl ControlSocket {
    /// Listens at `path`. A socket that a dead kernel left there is replaced.
    ///
    /// # Errors
    /// Another kernel listens there, or the folder is none of this user's.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private_folder(folder)?;
        }
        let listener = unix::listen(path)?;
        // The file is ours, so its owner is who this process is.
        let owner = std::fs::symlink_metadata(listener.path())?.uid();
        Ok(Self { listener, owner })
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        self.listener.path()
    }

    /// Answers whoever connects, until the future is dropped; then all connections are closed.
    pub(crate) async fn serve(self, kernel: Kernel) {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            while connections.try_join_next().is_some() {}
            let (reader, writer) = match self.listener.accept().await {
                Ok(halves) => halves,
                Err(error) => {
                    tracing::warn!(%error, "connection not accepted");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let Some(operator) = self.operator(&reader) else {
                tracing::warn!("somebody else than this user was not let in at the socket");
                continue;
            };
            let kernel = kernel.clone();
            connections.spawn(async move {
                let _place = place;
                carry(&kernel, operator, reader, writer).await;
            });
        }
    }

    fn operator(&self, reader: &OwnedReadHalf) -> Option<Principal> {
        let stream: &UnixStream = reader.as_ref();
        let peer = stream.peer_cred().ok()?;
        operator(peer.uid(), self.owner)
    }
}

/// Who may decide, of those who run programs on this machine.
pub(crate) fn operator(peer: u32, owner: u32) -> Option<Principal> {
    if peer == owner {
        Some(Principal::operator(user_name(owner)))
    } else if peer == ROOT {
        Some(Principal::operator("root"))
    } else {
        None
    }
}

/// The operator that this process is for its own kernel.
pub(crate) fn oneself() -> Principal {
    Principal::operator(std::env::var("USER").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| {
        std::env::var("LOGNAME").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "operator".into())
    }))
}

/// Where the socket is if nothing else is said: where programs of this user find each other, else beside the state.
pub(crate) fn default_path(state: &Path) -> PathBuf {
    std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute() && folder.is_dir())
        .map_or_else(|| state.join("mgp.sock"), |folder| folder.join("mgp").join("mgp.sock"))
}

async fn carry(kernel: &Kernel, operator: Principal, reader: OwnedReadHalf, writer: OwnedWriteHalf) {
    let accept = kernel.accept(operator);
    let (_, connection): (_, Connection<_, _, _>) =
        connect(reader, writer, &accept, ConnectionLimits::default());
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection at the socket ended");
    }
}

fn user_name(uid: u32) -> String {
    match oneself().as_str() {
        "operator" => format!("uid {uid}"),
        name => name.to_owned(),
    }
}

/// Makes the folder if there is none. One that others can write to would let them put a socket of their own there.
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
const MAX_CONNECTIONS: usize = 64;
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use mgp_types::Role;

    use super::*;

    #[test]
    fn only_the_same_user_and_root_are_operators() {
        assert_eq!(operator(1000, 1000).unwrap().role(), Role::Operator);
        assert_eq!(operator(ROOT, 1000).unwrap().as_str(), "root");
        assert!(operator(1001, 1000).is_none());
        assert!(operator(1000, ROOT).is_none());
    }

    #[tokio::test]
    async fn nobody_else_can_reach_the_socket_and_a_stale_one_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run").join("mgp.sock");
        let mode = |path: &Path| std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
        let socket = ControlSocket::open(&path).unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let second = ControlSocket::open(&path).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
        drop(socket);
        // What a process leaves that was killed.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        ControlSocket::open(&path).unwrap();
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
