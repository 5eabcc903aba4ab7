//! The sockets on Windows: connections within this machine, on which each side says the secret that the file of the socket has for
//! it.
//!
//! A named pipe would need no secret, but it cannot end in one direction only, and so clients tell that they ask nothing more.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener as UnservedListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mgp_security::auth::reserved_owner;
use mgp_types::{Principal, random_bytes};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
pub use tokio::net::tcp::{OwnedReadHalf as SocketReader, OwnedWriteHalf as SocketWriter};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{AcceptedConnection, PAUSE, SocketAudience, SocketPeer};
use crate::state::folder::{read_json, write_json};

/// A socket of the kernel. A peer is let in if it has read the file, which lies in a folder that only this user may open.
pub struct UserSocket {
    path: PathBuf,
    listener: TcpListener,
    secrets: [Secret; 2],
    /// The connections that have not said the secret yet.
    unproven: Mutex<JoinSet<io::Result<TcpStream>>>,
    /// A file that one kernel at a time can lock.
    _lock: File,
}

mgp_types::partial_debug!(UserSocket, self => path: self.path);

type Secret = [u8; 32];

/// The contents of the file of a socket: the port, what a client says, and what the kernel answers.
type SocketFile = (u16, [Secret; 2]);

impl UserSocket {
    /// Listens, and writes the port and new secrets to the file at `path`. A file that a dead kernel left there is replaced.
    ///
    /// # Errors
    /// Fails if another kernel listens there, if a group is to be let in, or if the file cannot be written.
    pub(in crate::listen) fn open(
        path: &Path,
        operators: SocketAudience,
        _: Option<Infallible>,
    ) -> io::Result<Self> {
        if operators == SocketAudience::Group {
            return Err(io::Error::other("Windows has no group for a kernel: leave `--group-operates` out"));
        }
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        let lock = path.with_added_extension("lock");
        let lock = File::options().read(true).append(true).create(true).open(lock)?;
        lock.try_lock().map_err(|_| io::ErrorKind::AddrInUse)?;
        let listener = UnservedListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let secrets: [Secret; 2] = [random_bytes(), random_bytes()];
        write_json(path, &(listener.local_addr()?.port(), secrets))?;
        Ok(Self { path: path.to_owned(), listener, secrets, unproven: Mutex::default(), _lock: lock })
    }

    /// Hands nothing over: no kernel follows another in its process.
    ///
    /// # Errors
    /// Always fails.
    pub(in crate::listen) fn hand_over(self) -> io::Result<(String, Infallible)> {
        Err(io::Error::other(format!("{} is handed over to nobody", self.path.display())))
    }

    /// Waits for the next connection that is let in.
    ///
    /// # Cancel safety
    /// Dropping the future loses no connection.
    pub(crate) async fn accept(&self) -> AcceptedConnection<SocketReader, SocketWriter> {
        let mut unproven = self.unproven.lock().await;
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if unproven.len() < MAX_UNPROVEN => match accepted {
                    Ok((stream, _)) => drop(unproven.spawn(answered(stream, self.secrets))),
                    Err(error) => {
                        tracing::warn!(%error, "connection not accepted");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
                // A peer without the secret is not let in.
                Some(proven) = unproven.join_next() => if let Ok(Ok(stream)) = proven {
                    let (user, (reader, writer)) = (SocketPeer::Owner, stream.into_split());
                    return AcceptedConnection { user, uid: own_uid(), process: None, reader, writer };
                },
            }
        }
    }
}

impl Drop for UserSocket {
    fn drop(&mut self) {
        // The file may be gone already.
        let _ = fs::remove_file(&self.path);
    }
}

/// Connects to a socket of a kernel, if both this process and the kernel have read its file.
///
/// # Errors
/// Fails if nobody listens there, or somebody who has not read the file.
pub async fn connect(path: &Path) -> io::Result<(SocketReader, SocketWriter)> {
    let (port, [own, other]): SocketFile = read_json(path)?.ok_or(io::ErrorKind::NotFound)?;
    let connected = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.write_all(&own).await?;
        proven(stream, other).await
    };
    // The port of a kernel that was killed may be another program's by now.
    let stream = timeout(LONGEST_PROOF, connected).await.ok().and_then(Result::ok);
    Ok(stream.ok_or(io::ErrorKind::ConnectionRefused)?.into_split())
}

/// Lets a client in that says its secret, and only then says that of the kernel.
async fn answered(stream: TcpStream, [other, own]: [Secret; 2]) -> io::Result<TcpStream> {
    let mut stream = timeout(LONGEST_PROOF, proven(stream, other)).await??;
    stream.write_all(&own).await?;
    Ok(stream)
}

/// Checks that the other side says this secret.
async fn proven(mut stream: TcpStream, secret: Secret) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    let mut said = Secret::default();
    stream.read_exact(&mut said).await?;
    // The time of the comparison tells of the digests alone, from which nobody finds the secret.
    let is_right = Sha256::digest(said) == Sha256::digest(secret);
    if is_right { Ok(stream) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Returns 0 for the user that this process runs as: users have no numbers.
pub const fn own_uid() -> u32 {
    0
}

/// Returns the operator that the user of this process is, by the name that the user has in the environment, unless that name is
/// reserved for somebody else.
pub fn operator(_: u32) -> Principal {
    let is_free = |name: &String| !name.is_empty() && reserved_owner(name).is_none();
    Principal::operator(std::env::var("USERNAME").ok().filter(is_free).unwrap_or_else(|| "user".to_owned()))
}

/// The time that a side has to say its secret.
const LONGEST_PROOF: Duration = Duration::from_secs(5);
/// The number of connections that may be without a proof at once.
const MAX_UNPROVEN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(path: &Path) -> io::Result<UserSocket> {
        UserSocket::open(path, SocketAudience::User, None)
    }

    #[tokio::test]
    async fn who_has_read_the_file_is_let_in_and_may_end_one_direction() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run").join("mgp.sock");
        assert_eq!(connect(&path).await.unwrap_err().kind(), io::ErrorKind::NotFound);
        let socket = opened(&path).unwrap();
        let (connected, mut accepted) = tokio::join!(connect(&path), socket.accept());
        let (mut reader, mut writer) = connected.unwrap();
        writer.write_all(b"asked").await.unwrap();
        writer.shutdown().await.unwrap();
        let (mut asked, mut answer) = (String::new(), String::new());
        accepted.reader.read_to_string(&mut asked).await.unwrap();
        accepted.writer.write_all(b"answered").await.unwrap();
        drop(accepted);
        reader.read_to_string(&mut answer).await.unwrap();
        assert_eq!((asked.as_str(), answer.as_str()), ("asked", "answered"));
    }

    #[tokio::test]
    async fn neither_side_is_trusted_without_the_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mgp.sock");
        let socket = opened(&path).unwrap();
        let port = socket.listener.local_addr().unwrap().port();
        let mut stranger = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        stranger.write_all(&[0; 32]).await.unwrap();
        let mut answer = Vec::new();
        tokio::select! {
            _ = socket.accept() => panic!("a stranger is let in"),
            // The kernel breaks off, with what was not read or without.
            _ = stranger.read_to_end(&mut answer) => {}
        }
        assert!(answer.is_empty());
        let wrong = folder.path().join("wrong.sock");
        write_json(&wrong, &(port, [socket.secrets[0], [0; 32]])).unwrap();
        let (refused, _) = tokio::join!(connect(&wrong), socket.accept());
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }

    #[tokio::test]
    async fn a_second_kernel_is_refused_and_a_dead_one_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mgp.sock");
        let socket = opened(&path).unwrap();
        assert_eq!(opened(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let left = fs::read(&path).unwrap();
        drop(socket);
        assert!(!path.exists());
        fs::write(&path, left).unwrap();
        opened(&path).unwrap();
    }
}
