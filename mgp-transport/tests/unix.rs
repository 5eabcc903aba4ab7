//! Unix domain sockets: permissions to connect, and the treatment of files at their place.
#![cfg(all(unix, feature = "unix"))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use mgp_transport::unix::{Listener, connect, listen};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A folder of its own for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("mgp-unix-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }

    fn entries(&self) -> usize {
        fs::read_dir(&self.0).unwrap().count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn bytes_go_both_ways() {
    let folder = Folder::new("both");
    let listener = listen(folder.socket()).unwrap();
    let ((mut from, mut to), (mut client_from, mut client_to)) =
        tokio::try_join!(listener.accept(), connect(folder.socket())).unwrap();
    client_to.write_all(b"ping").await.unwrap();
    let mut four = [0; 4];
    from.read_exact(&mut four).await.unwrap();
    to.write_all(b"pong").await.unwrap();
    client_from.read_exact(&mut four).await.unwrap();
    assert_eq!(&four, b"pong");
}

#[tokio::test]
async fn only_the_same_user_may_connect_and_nothing_else_is_left_there() {
    let folder = Folder::new("mode");
    let listener = listen(folder.socket()).unwrap();
    assert_eq!(fs::metadata(folder.socket()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(listener.path(), folder.socket());
    assert_eq!(folder.entries(), 1);
    drop(listener);
    assert_eq!(folder.entries(), 0);
}

#[tokio::test]
async fn a_stale_socket_is_replaced() {
    let folder = Folder::new("stale");
    drop(std::os::unix::net::UnixListener::bind(folder.socket()).unwrap());
    assert_eq!(connect(folder.socket()).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    let _listener = listen(folder.socket()).unwrap();
    connect(folder.socket()).await.unwrap();
}

#[tokio::test]
async fn a_socket_in_use_is_not_touched() {
    let folder = Folder::new("used");
    let _first = listen(folder.socket()).unwrap();
    assert_eq!(listen(folder.socket()).unwrap_err().kind(), ErrorKind::AddrInUse);
    connect(folder.socket()).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_no_socket_is_not_touched() {
    let folder = Folder::new("file");
    fs::write(folder.socket(), "precious").unwrap();
    assert_eq!(listen(folder.socket()).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(folder.socket()).unwrap(), "precious");
}

#[tokio::test]
async fn a_socket_that_replaced_ours_outlives_us() {
    let folder = Folder::new("replaced");
    let first = listen(folder.socket()).unwrap();
    fs::remove_file(folder.socket()).unwrap();
    let _second = listen(folder.socket()).unwrap();
    drop(first);
    connect(folder.socket()).await.unwrap();
}

#[tokio::test]
async fn who_connects_while_a_socket_is_handed_over_reaches_the_next_listener() {
    let folder = Folder::new("handed");
    let first = listen(folder.socket()).unwrap();
    let socket = first.hand_over().unwrap();
    let (_from, mut to) = connect(folder.socket()).await.unwrap();
    to.write_all(b"ping").await.unwrap();
    let second = Listener::take_over(socket.into(), folder.socket()).unwrap();
    let (mut from, _to) = second.accept().await.unwrap();
    let mut four = [0; 4];
    from.read_exact(&mut four).await.unwrap();
    assert_eq!(&four, b"ping");
    drop(second);
    assert_eq!(folder.entries(), 0);
}
