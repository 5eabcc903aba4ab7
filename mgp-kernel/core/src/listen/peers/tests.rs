//! Attacks on the place at which kernels pass calls on to each other: forged certificates, keys of agents, leases of others,
//! and requests that are sent again.

use std::net::SocketAddr;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt as _;
use mgp_client_sdk::{Client, EraMode};
use mgp_discovery::config::model::ListenTls;
use mgp_transport::http::HttpBody;
use mgp_types::{BoxedService, Object, Principal};
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd,
};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::*;
use crate::replicas::{ClientFront, ClusterLink, Peers};
use crate::servers::upstream::Upstream;
use crate::servers::upstream::fake_server::FakeServer;
use crate::test_kernel::{TestKernel, TestServer};

/// The address that certificates of kernels name.
const HOST: &str = "127.0.0.1";

/// The marks of a request for the client of an agent, by the lease that the kernel has.
const MARKS: &str = "mgp-peer: 7 agent/ada\r\n";

/// The key of an agent.
const KEY: &str = "Authorization: Bearer mgp_0123456789abcdef_0123456789abcdef0123456789abcdef\r\n";

const OPENING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mgp","version":"1"}}}"#;

/// The answer of the server to everything.
const ANSWER: &str = r#"{"protocolVersion":"2025-11-25","supportedVersions":["2025-11-25"],"capabilities":{"tools":{}},"serverInfo":{"name":"files","version":"1"},"tools":[],"content":[]}"#;

/// The error where the lease is not that of the request.
const MOVED: &str = "another kernel runs the server by now";

/// An authority that signs certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

/// A certificate with its key.
struct Identity {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    fn kernel(&self) -> Identity {
        self.issue(HOST, |_| {})
    }

    fn issue(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        Identity { certificate, key: key.serialize_der() }
    }
}

impl Identity {
    /// Writes the files of a kernel with this certificate, which knows others by an authority.
    fn write(&self, folder: &Path, authority: &Authority) -> ListenTls {
        let file = |name: &str, label: &str, der: &[u8]| {
            let (path, text) = (folder.join(name), STANDARD.encode(der));
            let pem = format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n");
            std::fs::write(&path, pem).unwrap();
            path.display().to_string()
        };
        let mut tls = ListenTls::default();
        tls.certificate = file("kernel.pem", "CERTIFICATE", &self.certificate);
        tls.key = file("kernel.key", "PRIVATE KEY", &self.key);
        tls.client_ca = Some(file("authority.pem", "CERTIFICATE", &authority.certificate));
        tls
    }
}

/// A kernel that runs the servers `files` and `mail` for others, by leases with the number 7.
struct Owner {
    at: SocketAddr,
    authority: CertificateDer<'static>,
    link: Arc<ClusterLink>,
    files: TestServer,
    _closing: watch::Sender<bool>,
    _serving: JoinSet<()>,
    _held: (TestKernel, TempDir),
}

impl Owner {
    async fn start(authority: &Authority, identity: &Identity) -> Self {
        Self::start_in(TestKernel::open().await, authority, identity).await
    }

    async fn start_in(scene: TestKernel, authority: &Authority, identity: &Identity) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = TestServer::default();
        files.answers(ANSWER);
        let fake = FakeServer {
            handshake: BoxedService::new(files.clone()),
            service: BoxedService::new(files.clone()),
            capabilities: Object::parse(r#"{"tools":{}}"#).unwrap(),
            instructions: None,
            start: None,
        };
        scene.fleet.put(Upstream::fake(&scene.support, "files", fake).await);
        scene.server("mail").await;
        let link = ClusterLink::with_peers(Peers::at_loopback(identity.write(folder.path(), authority)));
        let kernel = Sections { link: Some(Arc::clone(&link)), ..scene.sections.clone() };
        let socket = PeerSocket::open(&kernel).await.unwrap().unwrap();
        let at = socket.socket.local_addr().unwrap();
        let ((closing, closed), mut serving) = (watch::channel(false), JoinSet::new());
        serving.spawn(socket.serve(Arc::new(kernel), closed));
        let authority = authority.certificate.clone();
        let owner =
            Self { at, authority, link, files, _closing: closing, _serving: serving, _held: (scene, folder) };
        owner.learn(r#"{"files":[null,7,600000],"mail":[null,7,600000]}"#);
        owner
    }

    /// Has the kernel learn these leases.
    fn learn(&self, leases: &str) {
        self.link.peers.as_ref().unwrap().leases.tell(leases);
    }

    /// Sends a request over a connection of its own, and returns the answer; empty if there is none.
    async fn send(&self, shown: Option<&Identity>, request: &str) -> String {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match shown {
            None => builder.with_no_client_auth(),
            Some(Identity { certificate, key }) => {
                let key = PrivateKeyDer::try_from(key.clone()).unwrap();
                builder.with_client_auth_cert(vec![certificate.clone()], key).unwrap()
            }
        };
        let (name, mut answer) = (ServerName::try_from(HOST).unwrap(), Vec::new());
        let asking = async {
            let stream = TcpStream::connect(self.at).await?;
            let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
            stream.write_all(request.as_bytes()).await?;
            stream.read_to_end(&mut answer).await
        };
        // A client that is refused loses its connection.
        let _ = timeout(Duration::from_mins(1), asking).await.unwrap();
        String::from_utf8(answer).unwrap()
    }

    /// Opens a session with `files`, and returns the headers of a request in it.
    async fn open(&self, identity: &Identity) -> String {
        self.open_with(identity, MARKS).await
    }

    async fn open_with(&self, identity: &Identity, marks: &str) -> String {
        let answer = self.send(Some(identity), &post("/servers/files", marks, OPENING)).await;
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        format!("mcp-session-id: {}\r\n", id.unwrap_or_else(|| panic!("no session: {answer}")))
    }

    /// Returns the number of calls that came to `files` since the last look.
    fn calls(&self) -> usize {
        self.files.methods().iter().filter(|method| *method == "tools/call").count()
    }
}

fn post(path: &str, headers: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns a request that calls a tool.
fn call(path: &str, headers: &str, id: u32) -> String {
    let params = r#"{"name":"pay","arguments":{}}"#;
    post(path, headers, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#))
}

#[tokio::test]
async fn only_a_certificate_of_the_authority_opens_the_socket_and_no_key_does() {
    let (authority, another) = (Authority::new(), Authority::new());
    let owner = Owner::start(&authority, &authority.kernel()).await;
    let expired = authority.issue(HOST, |of| of.not_after = date_time_ymd(2020, 1, 1));
    let for_servers = |of: &mut CertificateParams| {
        of.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    };
    let of_web_server = authority.issue(HOST, for_servers);
    let opening = post("/servers/files", &format!("{MARKS}{KEY}"), OPENING);
    for (shown, who) in [
        (None, "an agent with its key"),
        (Some(another.kernel()), "a kernel of another authority"),
        (Some(expired), "a kernel that was"),
        (Some(of_web_server), "a web server that the authority knows"),
    ] {
        assert_eq!(owner.send(shown.as_ref(), &opening).await, "", "{who}");
    }
    let opened = owner.send(Some(&authority.kernel()), &opening).await;
    assert!(opened.starts_with("HTTP/1.1 200"), "{opened}");
}

#[tokio::test]
async fn a_request_that_no_kernel_would_send_finds_nothing() {
    let authority = Authority::new();
    let (owner, kernel) = (Owner::start(&authority, &authority.kernel()).await, authority.kernel());
    for marks in ["", "mgp-peer: 7\r\n", "mgp-peer: 7 nobody/ada\r\n", "mgp-peer: all agent/ada\r\n"] {
        let answer =
            owner.send(Some(&kernel), &post("/servers/files", &format!("{marks}{KEY}"), OPENING)).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{marks}: {answer}");
    }
    let alone =
        format!("{MARKS}mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: pay\r\n");
    let body = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pay","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    for request in [post("/mcp", MARKS, OPENING), post("/servers/files", &alone, body)] {
        let answer = owner.send(Some(&kernel), &request).await;
        assert!(answer.contains("only sessions with servers"), "{answer}");
    }
    assert_eq!(owner.calls(), 0);
}

#[tokio::test]
async fn a_lease_that_ended_or_never_began_opens_nothing() {
    let authority = Authority::new();
    let (owner, kernel) = (Owner::start(&authority, &authority.kernel()).await, authority.kernel());
    let session = owner.open(&kernel).await;
    let marks = |epoch: i64| format!("mgp-peer: {epoch} agent/ada\r\n");
    for (number, epoch) in [6, 8, i64::MAX].into_iter().enumerate() {
        let opened = owner.send(Some(&kernel), &post("/servers/files", &marks(epoch), OPENING)).await;
        assert!(opened.contains(MOVED), "{epoch}: {opened}");
        let id = u32::try_from(number).unwrap() + 2;
        let in_session = format!("{}{session}", marks(epoch));
        let called = owner.send(Some(&kernel), &call("/servers/files", &in_session, id)).await;
        assert!(called.contains(MOVED), "{epoch}: {called}");
    }
    // The lease is another kernel's, as somebody may have written into the database.
    owner.learn(r#"{"files":["127.0.0.1:1",8,600000]}"#);
    for (id, epoch) in [(10, 7), (11, 8)] {
        let in_session = format!("{}{session}", marks(epoch));
        let called = owner.send(Some(&kernel), &call("/servers/files", &in_session, id)).await;
        assert!(called.contains(MOVED), "{epoch}: {called}");
    }
    assert_eq!(owner.calls(), 0);
}

#[tokio::test]
async fn a_call_that_is_sent_again_runs_once() {
    let authority = Authority::new();
    let (owner, kernel) = (Owner::start(&authority, &authority.kernel()).await, authority.kernel());
    let session = owner.open(&kernel).await;
    let recorded = call("/servers/files", &format!("{MARKS}{session}"), 2);
    let answer = owner.send(Some(&kernel), &recorded).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(owner.calls(), 1);
    for by in [&kernel, &authority.kernel()] {
        let again = owner.send(Some(by), &recorded).await;
        assert!(again.starts_with("HTTP/1.1 400") && again.contains("an earlier call"), "{again}");
    }
    assert_eq!(owner.calls(), 0);
    owner.send(Some(&kernel), &call("/servers/files", &format!("{MARKS}{session}"), 3)).await;
    assert_eq!(owner.calls(), 1);
}

#[tokio::test]
async fn a_kernel_that_ends_answers_what_was_passed_on_to_it_and_says_that_later_requests_did_not_run() {
    let authority = Authority::new();
    let (owner, kernel) = (Owner::start(&authority, &authority.kernel()).await, authority.kernel());
    let peers = owner.link.peers.as_ref().unwrap();
    let (begun, done) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (begins, ends) = (Arc::clone(&begun), Arc::clone(&done));
    let front: Arc<ClientFront> = Arc::new(move |_| {
        let (begins, ends) = (Arc::clone(&begins), Arc::clone(&ends));
        Box::pin(async move {
            begins.add_permits(1);
            ends.acquire().await.unwrap().forget();
            Ok(HttpResponse::new(HttpBody::from("paid".to_owned())))
        })
    });
    peers.clients.set(Arc::downgrade(&front)).unwrap();
    let request = call("/mcp", &format!("mgp-peer: client\r\n{KEY}"), 2);
    let (first, refusing) = (owner.send(Some(&kernel), &request), peers.refuse_clients());
    tokio::pin!(first, refusing);
    tokio::select! {
        answer = &mut first => panic!("{answer}"),
        begun = begun.acquire() => begun.unwrap().forget(),
    }
    assert!((&mut refusing).now_or_never().is_none(), "a call is in work");
    let second = owner.send(Some(&kernel), &request).await;
    assert!(second.starts_with("HTTP/1.1 404") && second.contains("did not do"), "{second}");
    done.add_permits(2);
    let (first, _refused) = tokio::join!(first, refusing);
    assert!(first.starts_with("HTTP/1.1 200") && first.contains("paid"), "{first}");
    assert_eq!(begun.available_permits(), 0, "the second one ran");
}

#[tokio::test]
async fn a_session_is_one_of_its_client_with_its_server() {
    let authority = Authority::new();
    let (owner, kernel) = (Owner::start(&authority, &authority.kernel()).await, authority.kernel());
    let session = owner.open(&kernel).await;
    let of_another = format!("mgp-peer: 7 agent/eve\r\n{session}");
    let answer = owner.send(Some(&kernel), &call("/servers/files", &of_another, 2)).await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    // Else the lease of one server would open another one.
    let answer = owner.send(Some(&kernel), &call("/servers/mail", &format!("{MARKS}{session}"), 3)).await;
    assert!(answer.contains("with another server"), "{answer}");
    assert_eq!(owner.calls(), 0);
}

#[tokio::test]
async fn an_agent_without_sessions_has_one_instance_whichever_kernel_passes_its_calls_on() {
    let authority = Authority::new();
    // A second instance of the server cannot begin.
    let server = r#"{"access":{"default":"opt-out"},
        "servers":[{"id":"files","url":"http://127.0.0.1:1/mcp","sharing":"client","restart_policy":"never"}]}"#;
    let owner = Owner::start_in(TestKernel::with(server).await, &authority, &authority.kernel()).await;
    let marks = format!("{MARKS}mgp-peer-sessionless: 1\r\n");
    for (id, kernel) in [(2, authority.kernel()), (3, authority.kernel())] {
        let session = owner.open_with(&kernel, &marks).await;
        let called =
            owner.send(Some(&kernel), &call("/servers/files", &format!("{marks}{session}"), id)).await;
        assert!(called.starts_with("HTTP/1.1 200"), "{called}");
        assert_eq!(owner.calls(), 1);
    }
    // The connection that lists for all takes no instance of a client.
    let listing = owner.open_with(&authority.kernel(), "mgp-peer: 7 operator/other-kernel\r\n").await;
    assert!(!listing.is_empty());
    let of_session = owner.send(Some(&authority.kernel()), &post("/servers/files", MARKS, OPENING)).await;
    assert!(!of_session.contains("mcp-session-id"), "{of_session}");
}

#[tokio::test]
async fn calls_are_passed_on_to_nobody_but_the_kernel_at_the_address_of_the_lease() {
    let (authority, another) = (Authority::new(), Authority::new());
    for (identity, who, is_owner) in [
        (another.kernel(), "somebody who wrote an address of theirs into the database", false),
        (authority.issue("10.0.0.6", |_| {}), "a kernel at another address", false),
        (authority.kernel(), "the owner", true),
    ] {
        let (owner, folder) = (Owner::start(&authority, &identity).await, tempfile::tempdir().unwrap());
        let here = Peers::at_loopback(authority.kernel().write(folder.path(), &authority));
        here.leases.tell(&format!(r#"{{"files":["{}",7,600000]}}"#, owner.at));
        let lease = here.leases.of("files").await;
        let marks = PeerMarks { epoch: lease.epoch, caller: Principal::new("ada"), has_session: true };
        let configure = here.transport(&marks).unwrap();
        let url = format!("https://{}/servers/files", owner.at);
        let client = Client::builder("mgp", "1").era(EraMode::Session);
        let error = client.connect_http_with(&url, configure).await.err();
        assert_eq!(error.is_none(), is_owner, "{who}: {error:?}");
    }
}
