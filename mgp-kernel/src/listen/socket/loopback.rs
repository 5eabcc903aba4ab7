//! The sockets on Windows: connections within this machine, on which each side proves that it has read the secret in the file of
//! the socket.
//!
//! A named pipe would need no secret, but it cannot end in one direction only, and so clients tell that they ask nothing more.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, TcpListener as UnservedListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mgp_security::auth::reserved_owner;
use mgp_types::{Principal, random_bytes};
use ring::hmac::{HMAC_SHA256, Key, sign, verify};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
pub(crate) use tokio::net::tcp::{OwnedReadHalf as SocketReader, OwnedWriteHalf as SocketWriter};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{AcceptedConnection, PAUSE, SocketAudience, SocketPeer};
use crate::state_folder::{read_json, write_json};

/// A socket of the kernel. A peer is let in if it has read the file, which lies in a folder that only this user may open.
#[derive(Debug)]
pub(crate) struct UserSocket {
    path: PathBuf,
    file: SocketFile,
    proven: Mutex<mpsc::Receiver<TcpStream>>,
    /// The task that accepts connections, which ends with the socket.
    _accepting: JoinSet<()>,
}

/// The contents of the file of a socket.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SocketFile {
    port: u16,
    secret: [u8; LENGTH],
}

mgp_types::partial_debug!(SocketFile, self => port: self.port);

impl SocketFile {
    fn key(&self) -> Key {
        Key::new(HMAC_SHA256, &self.secret)
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await?;
        proved(stream, &self.key(), CLIENT, KERNEL).await
    }
}

impl UserSocket {
    /// Listens, and writes the port and a new secret to the file at `path`. A file that a dead kernel left there is replaced.
    ///
    /// # Errors
    /// Fails if another kernel listens there, if a group is to be let in, or if the file cannot be written.
    pub(in crate::listen) fn open(
        path: &Path,
        operators: SocketAudience,
        _: Option<Infallible>,
    ) -> io::Result<Self> {
        if operators == SocketAudience::Group {
            let message = "Windows has no group that could operate a kernel: leave `--group-operates` out";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        if is_taken(path) {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "somebody listens there"));
        }
        let listener = UnservedListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let file = SocketFile { port: listener.local_addr()?.port(), secret: random_bytes() };
        let (proven, connections) = mpsc::channel(1);
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(TcpListener::from_std(listener)?, file.key(), proven));
        write_json(path, &file)?;
        Ok(Self { path: path.to_owned(), file, proven: Mutex::new(connections), _accepting: accepting })
    }

    /// Hands nothing over: no kernel follows another in its process.
    ///
    /// # Errors
    /// Always fails.
    #[expect(clippy::unused_self, reason = "on other systems the socket goes on")]
    pub(in crate::listen) fn hand_over(self) -> io::Result<(String, Infallible)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Waits for the next connection that is let in.
    ///
    /// # Cancel safety
    /// Dropping the future loses no connection.
    pub(crate) async fn accept(&self) -> AcceptedConnection<SocketReader, SocketWriter> {
        match self.proven.lock().await.recv().await {
            Some(stream) => {
                let (reader, writer) = stream.into_split();
                AcceptedConnection { user: SocketPeer::Owner, uid: own_uid(), process: None, reader, writer }
            }
            // The task that sends them is this socket's own.
            None => std::future::pending().await,
        }
    }
}

impl Drop for UserSocket {
    fn drop(&mut self) {
        if read_json(&self.path).is_ok_and(|there| there.as_ref() == Some(&self.file)) {
            // The file may be gone already.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Returns whether a kernel answers at the socket whose file lies at `path`. Blocks.
fn is_taken(path: &Path) -> bool {
    let asking = || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        runtime.is_ok_and(|runtime| runtime.block_on(connect(path)).is_ok())
    };
    // The caller may be in a runtime, whose thread waits for no other future.
    std::thread::scope(|scope| scope.spawn(asking).join().unwrap_or_default())
}

/// Accepts connections, and passes on those whose peer has proved that it knows the secret.
async fn accept(listener: TcpListener, key: Key, proven: mpsc::Sender<TcpStream>) {
    let mut proofs = JoinSet::new();
    loop {
        let accepted = listener.accept().await;
        while proofs.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) if proofs.len() < MAX_UNPROVEN => {
                let (key, proven) = (key.clone(), proven.clone());
                proofs.spawn(async move {
                    // A peer without the secret goes, and so does one whose kernel is gone.
                    if let Ok(Ok(stream)) = timeout(LONGEST_PROOF, proved(stream, &key, KERNEL, CLIENT)).await
                    {
                        let _ = proven.send(stream).await;
                    }
                });
            }
            Ok(_) => tracing::warn!("too many connect to the socket without a proof"),
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                sleep(PAUSE).await;
            }
        }
    }
}

/// Connects to a socket of a kernel, if both this process and the kernel have read its file.
///
/// # Errors
/// Fails if nobody listens there, or somebody who has not read the file.
pub(crate) async fn connect(path: &Path) -> io::Result<(SocketReader, SocketWriter)> {
    let file: SocketFile = read_json(path)?.ok_or(io::ErrorKind::NotFound)?;
    let connected = timeout(LONGEST_PROOF, file.connect()).await;
    // The port of a kernel that was killed may be another program's by now.
    let stream = connected.ok().and_then(Result::ok).ok_or(io::ErrorKind::ConnectionRefused)?;
    Ok(stream.into_split())
}

/// Proves to the other side, as the side `own`, that this one knows the secret, and checks that the side `other` does.
async fn proved(mut stream: TcpStream, key: &Key, own: &[u8], other: &[u8]) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    let (question, mut theirs, mut proof) = (random_bytes::<LENGTH>(), [0; LENGTH], [0; LENGTH]);
    stream.write_all(&question).await?;
    stream.read_exact(&mut theirs).await?;
    stream.write_all(sign(key, &[own, &theirs[..]].concat()).as_ref()).await?;
    stream.read_exact(&mut proof).await?;
    let is_right = verify(key, &[other, &question[..]].concat(), &proof).is_ok();
    if is_right { Ok(stream) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Returns 0 for the user that this process runs as: users have no numbers.
pub(crate) const fn own_uid() -> u32 {
    0
}

/// Returns the operator that the user of this process is, by the name that the user has in the environment, unless that name is
/// reserved for somebody else.
pub(crate) fn operator(_: u32) -> Principal {
    let is_free = |name: &String| !name.is_empty() && reserved_owner(name).is_none();
    Principal::operator(std::env::var("USERNAME").ok().filter(is_free).unwrap_or_else(|| "user".to_owned()))
}

/// The length in bytes of a secret, of a question and of a proof.
const LENGTH: usize = 32;
/// What the proofs of the two sides begin with, so that neither is one of the other side.
const KERNEL: &[u8] = b"kernel";
const CLIENT: &[u8] = b"client";
/// The time that a proof may take.
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
        let other = SocketFile { secret: [0; LENGTH], ..socket.file.clone() };
        assert!(other.connect().await.is_err());
        let mut stranger = TcpStream::connect((Ipv4Addr::LOCALHOST, other.port)).await.unwrap();
        stranger.write_all(&[0; 2 * LENGTH]).await.unwrap();
        let mut answer = Vec::new();
        // The kernel breaks off, with what was not read or without.
        let _ = stranger.read_to_end(&mut answer).await;
        assert!(answer.len() <= 2 * LENGTH);
        assert!(socket.proven.lock().await.try_recv().is_err());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_second_kernel_is_refused_and_a_dead_one_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mgp.sock");
        let socket = opened(&path).unwrap();
        assert_eq!(opened(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let left = socket.file.clone();
        drop(socket);
        assert!(!path.exists());
        write_json(&path, &left).unwrap();
        opened(&path).unwrap();
    }
}
