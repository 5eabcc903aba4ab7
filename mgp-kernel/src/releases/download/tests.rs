//! Tests of downloads from a server of this machine.

use std::fmt::Write as _;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::crypto::ring;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::*;

const CONTENTS: &[u8] = b"the contents of a published file, of some length";

/// The treatment of one request by the server.
#[derive(Clone, Copy)]
enum Step {
    /// Sends all that was asked for.
    Whole,
    /// Sends the whole file, whatever part was asked for.
    IgnoresRange,
    /// Says how long the rest is, and breaks off after so many bytes.
    Cut(usize),
    /// Sends these bytes instead.
    Other(&'static [u8]),
    /// Leads to this address.
    Leads(&'static str),
    Status(u16),
}

/// A server of HTTPS that answers each request by a step of a script, and the last step ever after.
struct Server {
    port: u16,
    trusted: JudgedHttp,
    /// The heads of all requests.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(script: &'static [Step]) -> Self {
        let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let text = STANDARD.encode(issued.cert.der());
        let pem = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
        let trusted = JudgedHttp::new().unwrap().trust_pem(pem.as_bytes()).unwrap();
        let certificate = issued.cert.der().to_vec().into();
        let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], issued.signing_key.serialize_der().try_into().unwrap())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let head = head(&mut stream).await;
                let number = noted.lock().len();
                noted.lock().push(head.clone());
                answer(&mut stream, script[number.min(script.len() - 1)], &head).await;
            }
        });
        Self { port, trusted, asked }
    }

    fn downloader(&self, proxies: Matcher) -> Downloader {
        Downloader::with(&self.trusted, proxies)
    }

    fn file(&self) -> PublishedFile {
        self.file_of(CONTENTS.len(), CONTENTS)
    }

    fn file_of(&self, size: usize, contents: &[u8]) -> PublishedFile {
        let mut sha256 = String::new();
        for byte in Sha256::digest(contents) {
            write!(sha256, "{byte:02x}").unwrap();
        }
        let url = format!("https://localhost:{}/file", self.port);
        let size = u64::try_from(size).unwrap();
        PublishedFile { url, size, sha256 }
    }

    fn ranges(&self) -> Vec<Option<String>> {
        let range = |head: &String| {
            Some(
                head.lines()
                    .find(|line| line.starts_with("range: "))?
                    .trim_start_matches("range: ")
                    .to_owned(),
            )
        };
        self.asked.lock().iter().map(range).collect()
    }
}

async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut read).await.unwrap_or_default() == 0 {
            break;
        }
    }
    String::from_utf8(read).unwrap().to_lowercase()
}

async fn answer(stream: &mut (impl AsyncWrite + Unpin), step: Step, head: &str) {
    let from = head.split("range: bytes=").nth(1).and_then(|rest| rest.split('-').next()?.parse().ok());
    let from = from.filter(|_| !matches!(step, Step::IgnoresRange)).unwrap_or(0);
    let whole = if let Step::Other(other) = step { other } else { CONTENTS };
    let rest = &whole[from.min(whole.len())..];
    let mut head = match step {
        Step::Status(status) => format!("HTTP/1.1 {status} X\r\n"),
        Step::Leads(to) => format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\n"),
        _ if from > 0 => {
            format!("HTTP/1.1 206 X\r\ncontent-range: bytes {from}-{}/{}\r\n", whole.len() - 1, whole.len())
        }
        _ => "HTTP/1.1 200 OK\r\n".to_owned(),
    };
    let body = match step {
        Step::Status(_) | Step::Leads(_) => &[],
        _ => rest,
    };
    write!(head, "connection: close\r\ncontent-length: {}\r\n\r\n", body.len()).unwrap();
    let sent = if let Step::Cut(most) = step { most.min(body.len()) } else { body.len() };
    // A client that has seen enough may be gone.
    let _gone = stream.write_all(&[head.as_bytes(), &body[..sent]].concat()).await;
    let _gone = stream.shutdown().await;
}

fn no_proxy() -> Matcher {
    Matcher::builder().build()
}

fn goal() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let goal = folder.path().join("file");
    (folder, goal)
}

#[tokio::test]
async fn a_file_is_downloaded() {
    let (server, (_folder, goal)) = (Server::start(&[Step::Whole]).await, goal());
    server.downloader(no_proxy()).fetch(&server.file(), &goal).await.unwrap();
    assert_eq!(std::fs::read(&goal).unwrap(), CONTENTS);
    assert!(!part(&goal).exists());
}

#[tokio::test]
async fn a_download_that_breaks_off_is_continued() {
    let (server, (_folder, goal)) =
        (Server::start(&[Step::Cut(10), Step::Cut(5), Step::Whole]).await, goal());
    server.downloader(no_proxy()).fetch(&server.file(), &goal).await.unwrap();
    assert_eq!(std::fs::read(&goal).unwrap(), CONTENTS);
    assert_eq!(server.ranges(), [None, Some("bytes=10-".into()), Some("bytes=15-".into())]);
}

#[tokio::test]
async fn what_was_brought_stays_for_the_next_time_when_nothing_more_comes() {
    let (server, (_folder, goal)) = (Server::start(&[Step::Cut(10), Step::Cut(0)]).await, goal());
    let error = server.downloader(no_proxy()).fetch(&server.file(), &goal).await.unwrap_err();
    assert!(matches!(error, DownloadError::Cut { bytes: 10, .. }), "{error}");
    assert!(!goal.exists());
    assert_eq!(std::fs::read(part(&goal)).unwrap(), CONTENTS[..10]);
    let later = Server::start(&[Step::Whole]).await;
    later.downloader(no_proxy()).fetch(&later.file(), &goal).await.unwrap();
    assert_eq!(std::fs::read(&goal).unwrap(), CONTENTS);
    assert_eq!(later.ranges(), [Some("bytes=10-".into())]);
}

#[tokio::test]
async fn a_server_that_knows_no_parts_sends_the_whole_file() {
    let (server, (_folder, goal)) = (Server::start(&[Step::Cut(10), Step::IgnoresRange]).await, goal());
    server.downloader(no_proxy()).fetch(&server.file(), &goal).await.unwrap();
    assert_eq!(std::fs::read(&goal).unwrap(), CONTENTS);
}

#[tokio::test]
async fn a_part_of_something_else_is_begun_anew() {
    let (server, (_folder, goal)) = (Server::start(&[Step::Status(416), Step::Whole]).await, goal());
    std::fs::write(part(&goal), "x").unwrap();
    server.downloader(no_proxy()).fetch(&server.file(), &goal).await.unwrap();
    let longer = "x".repeat(1000);
    std::fs::write(part(&goal), longer).unwrap();
    server.downloader(no_proxy()).fetch(&server.file(), &goal).await.unwrap();
    assert_eq!(std::fs::read(&goal).unwrap(), CONTENTS);
}

#[tokio::test]
async fn another_file_is_removed_and_named() {
    const OTHER: &[u8] = b"something else that is exactly as long as it is..";
    let (server, (folder, goal)) = (Server::start(&[Step::Other(OTHER)]).await, goal());
    let file = server.file_of(OTHER.len(), CONTENTS);
    let error = server.downloader(no_proxy()).fetch(&file, &goal).await.unwrap_err();
    assert!(error.to_string().contains(&file.sha256) && error.to_string().contains("removed"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_file_that_is_too_long_is_not_read_to_its_end() {
    let (server, (folder, goal)) = (Server::start(&[Step::Whole]).await, goal());
    let file = server.file_of(CONTENTS.len() - 1, CONTENTS);
    let error = server.downloader(no_proxy()).fetch(&file, &goal).await.unwrap_err();
    assert!(matches!(error, DownloadError::TooLong { .. }), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Answers that lead away from HTTPS.
const AWAY: [[Step; 1]; 3] = [
    [Step::Leads("http://localhost:1/file")],
    [Step::Leads("ftp://localhost/")],
    [Step::Leads("file:///etc/passwd")],
];

#[tokio::test]
async fn redirects_are_followed_within_https_only() {
    let server = Server::start(&[Step::Leads("/elsewhere"), Step::Whole]).await;
    let (_folder, goal) = goal();
    server.downloader(no_proxy()).fetch(&server.file(), &goal).await.unwrap();
    assert!(server.asked.lock()[1].starts_with("get /elsewhere "));

    for script in &AWAY {
        let [Step::Leads(to)] = script else { panic!("all of them lead away") };
        let server = Server::start(script).await;
        let error = server.downloader(no_proxy()).fetch(&server.file(), &goal).await.unwrap_err();
        assert!(matches!(&error, DownloadError::NotHttps(at) if at == to), "{error}");
        assert_eq!(server.asked.lock().len(), 1);
    }
    let server = Server::start(&[Step::Leads("/file")]).await;
    let error = server.downloader(no_proxy()).fetch(&server.file(), &goal).await.unwrap_err();
    assert!(matches!(error, DownloadError::Redirects(_)), "{error}");
}

#[tokio::test]
async fn a_server_that_refuses_is_named_and_not_asked_again() {
    let (server, (_folder, goal)) = (Server::start(&[Step::Status(404)]).await, goal());
    let error = server.downloader(no_proxy()).fetch(&server.file(), &goal).await.unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
    assert_eq!(server.asked.lock().len(), 1);
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_refused() {
    let (server, (_folder, goal)) = (Server::start(&[Step::Whole]).await, goal());
    let strict = Downloader::with(&JudgedHttp::new().unwrap(), no_proxy());
    let error = strict.fetch(&server.file(), &goal).await.unwrap_err();
    assert!(matches!(error, DownloadError::Unreachable { .. }), "{error}");
    assert!(server.asked.lock().is_empty());
}

/// Starts a proxy that opens tunnels to this machine, and returns its port and the heads of the requests.
async fn proxy() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let head = head(&mut stream).await;
            let to = head.split([' ', ':']).nth(2).and_then(|port| port.parse().ok()).unwrap();
            noted.lock().push(head);
            let mut server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut stream, &mut server).await });
        }
    });
    (port, asked)
}

#[tokio::test]
async fn a_proxy_is_used_unless_the_host_is_excepted() {
    let (server, (_folder, goal)) = (Server::start(&[Step::Whole]).await, goal());
    let (port, asked) = proxy().await;
    let through = || Matcher::builder().https(format!("http://user:word@127.0.0.1:{port}"));
    server.downloader(through().build()).fetch(&server.file(), &goal).await.unwrap();
    assert_eq!(std::fs::read(&goal).unwrap(), CONTENTS);
    let connected = asked.lock().clone();
    assert_eq!(connected.len(), 1);
    assert!(connected[0].starts_with(&format!("connect localhost:{} ", server.port)), "{connected:?}");
    assert!(connected[0].contains("proxy-authorization: basic "), "{connected:?}");

    server.downloader(through().no("localhost").build()).fetch(&server.file(), &goal).await.unwrap();
    assert_eq!(asked.lock().len(), 1);
    assert_eq!(server.asked.lock().len(), 2);
}

#[tokio::test]
async fn a_proxy_of_another_kind_is_named() {
    let (server, (_folder, goal)) = (Server::start(&[Step::Whole]).await, goal());
    let socks = Matcher::builder().https("socks5://127.0.0.1:1").build();
    let error = server.downloader(socks).fetch(&server.file(), &goal).await.unwrap_err();
    assert!(error.to_string().contains("HTTPS_PROXY"), "{error}");
}

#[test]
fn a_copy_that_is_not_the_published_file_is_refused_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (from, goal) = (folder.path().join("from"), folder.path().join("to"));
    let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned();
    let file = PublishedFile { url: "file:///from".to_owned(), size: 3, sha256 };
    for other in ["abd", "ab", "abcd", ""] {
        std::fs::write(&from, other).unwrap();
        let error = copy(&file, &from, &goal).unwrap_err();
        assert!(matches!(error, DownloadError::OtherFile { .. }), "{error}");
        assert!(!goal.exists() && !part(&goal).exists());
    }
    std::fs::write(&from, "abc").unwrap();
    copy(&file, &from, &goal).unwrap();
    assert_eq!(std::fs::read(goal).unwrap(), b"abc");
}
