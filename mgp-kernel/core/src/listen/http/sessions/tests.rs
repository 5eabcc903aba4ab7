//! Tests with two kernels of which each has the sessions of one, and nothing else.

use std::io::ErrorKind;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http_body_util::{BodyExt as _, Either};
use hyper::body::Incoming;
use mgp_store::OrderKey;
use mgp_transport::http::{HttpConfig, HttpServer, serve_layered_until};
use mgp_types::{Outbox, PrincipalKind};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tower_layer::layer_fn;

use super::super::{FnService, ListenCertificate};
use super::*;
use crate::lifecycle::KernelEnd;
use crate::settings::running::AcceptedConfig;
use crate::test_kernel::TestServer;

/// The files of one certificate, which both kernels have, and which is its own authority.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let issued = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let write = |name: &str, label: &str, der: &[u8]| {
            let text = STANDARD.encode(der);
            let pem = format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n");
            std::fs::write(folder.path().join(name), pem).unwrap();
        };
        write("cert", "CERTIFICATE", issued.cert.der());
        write("key", "PRIVATE KEY", &issued.signing_key.serialize_der());
        Self(folder)
    }

    /// Returns what the kernel at this address knows of the others.
    fn peers(&self, address: &str, key: &str) -> Peers {
        let file = |name: &str| self.0.path().join(name).display().to_string();
        let cluster = serde_json::json!({
            "listen": address, "certificate": file("cert"), "key": file("key"), "authority": file("cert"),
        });
        let config = serde_json::from_value(serde_json::json!({ "cluster": cluster })).unwrap();
        Peers::of(&config, &AcceptedConfig::new("".as_ref()), &OrderKey::new(key)).unwrap().unwrap()
    }
}

/// Begins a session at this kernel, and returns the id that its client gets.
async fn begin<A: Accept>(peers: &Peers, routes: &Routes<A>, agent: &str) -> HeaderValue {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let begun = answer(peers, &Arc::default(), routes, post(agent, None, hello)).await.unwrap();
    assert_eq!(begun.status(), StatusCode::OK);
    begun.headers()[SESSION_ID].clone()
}

/// Returns the status of a ping in a session at this kernel.
async fn ping<A: Accept>(peers: &Peers, routes: &Routes<A>, agent: &str, id: &HeaderValue) -> StatusCode {
    let ping = post(agent, Some(id), r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    answer(peers, &Arc::default(), routes, ping).await.unwrap().status()
}

/// Returns a request as it is once the key of this agent was checked.
fn post(agent: &str, session: Option<&HeaderValue>, body: &'static str) -> Request<MessageBody> {
    let mut request = Request::post("/mcp")
        .header(HOST, "localhost")
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(Either::Right(HttpBody::from(Bytes::from_static(body.as_bytes()))))
        .unwrap();
    if let Some(id) = session {
        request.headers_mut().insert(SESSION_ID, id.clone());
    }
    request.extensions_mut().insert(Principal::of(PrincipalKind::KeyHolder, agent));
    request.extensions_mut().insert(CallerKey(HeaderValue::from_static("Bearer mgp_1")));
    request
}

/// Returns a server with sessions of its own.
fn routes() -> Routes<impl Accept> {
    let server = TestServer::default();
    server.answers(
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#,
    );
    HttpServer::new(move |_: Outbox| server.clone()).routes()
}

#[tokio::test]
async fn a_session_is_served_where_it_began_to_its_agent_alone() {
    let (files, routes) = (Files::new(), routes());
    let peers = files.peers("127.0.0.1:1", "secret");
    let id = begin(&peers, &routes, "ada").await;
    assert_eq!(ping(&peers, &routes, "ada", &id).await, StatusCode::OK);
    assert_eq!(ping(&peers, &routes, "bob", &id).await, StatusCode::NOT_FOUND);
    let other_key = files.peers("127.0.0.1:1", "another secret");
    assert_eq!(ping(&other_key, &routes, "ada", &id).await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn no_connection_is_made_for_an_id_that_is_not_sealed_for_the_caller_or_without_its_key() {
    let (files, routes) = (Files::new(), routes());
    let owner = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    owner.set_nonblocking(true).unwrap();
    let address = owner.local_addr().unwrap().to_string();
    let id = begin(&files.peers(&address, "secret"), &routes, "ada").await;
    let other = files.peers("127.0.0.1:1", "secret");
    assert_eq!(ping(&other, &routes, "bob", &id).await, StatusCode::NOT_FOUND, "another agent");
    for made_up in ["0".repeat(32), format!("A{}", id.to_str().unwrap()), "é".to_owned()] {
        let made_up = HeaderValue::from_bytes(made_up.as_bytes()).unwrap();
        assert_eq!(ping(&other, &routes, "ada", &made_up).await, StatusCode::NOT_FOUND, "{made_up:?}");
    }
    let mut without_key = post("ada", Some(&id), "{}");
    without_key.extensions_mut().remove::<CallerKey>();
    let answered = answer(&other, &Arc::default(), &routes, without_key).await.unwrap();
    assert_ne!(answered.status(), StatusCode::BAD_GATEWAY);
    assert_eq!(owner.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "somebody connected");
}

#[tokio::test]
async fn the_session_of_a_kernel_that_is_gone_is_unknown() {
    let (files, routes) = (Files::new(), routes());
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let id = begin(&files.peers(&gone, "secret"), &routes, "ada").await;
    let other = files.peers("127.0.0.1:1", "secret");
    assert_eq!(ping(&other, &routes, "ada", &id).await, StatusCode::NOT_FOUND);
}

/// The kernel with the sessions: it notes the headers of what is passed on to it, and answers by streams whose senders it hands out.
struct Owner {
    peers: Peers,
    asked: Arc<Mutex<Vec<Request<()>>>>,
    streams: mpsc::Receiver<mpsc::Sender<Bytes>>,
}

impl Owner {
    async fn start(files: &Files) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peers = files.peers(&socket.local_addr().unwrap().to_string(), "secret");
        let tls = ListenCertificate::read(&peers.tls, "cluster").unwrap().tls;
        let config = HttpConfig::default().allow_any_host().tls(tls);
        let (asked, (begun, streams)) = (Arc::<Mutex<Vec<_>>>::default(), mpsc::channel(8));
        let noted = Arc::clone(&asked);
        tokio::spawn(async move {
            let layer = layer_fn(|_: Routes<_>| {
                let (noted, begun) = (Arc::clone(&noted), begun.clone());
                FnService(move |request: Request<Incoming>| {
                    let (noted, begun) = (Arc::clone(&noted), begun.clone());
                    async move {
                        let (head, body) = request.into_parts();
                        drop(body.collect().await);
                        noted.lock().push(Request::from_parts(head, ()));
                        let (pieces, body) = mpsc::channel::<Bytes>(1);
                        begun.send(pieces).await.unwrap();
                        let answer = Response::builder().status(299).header("x-of-owner", "1");
                        Answer::Ok(answer.body(HttpBody::from(body)).unwrap())
                    }
                })
            });
            let accept = |_: Outbox| TestServer::default();
            serve_layered_until(socket, accept, config, layer, std::future::pending()).await
        });
        Self { peers, asked, streams }
    }
}

/// Waits for something that comes at once, on a busy machine too.
async fn soon<T>(coming: impl Future<Output = T>) -> T {
    timeout(Duration::from_mins(1), coming).await.unwrap()
}

async fn frame(body: &mut HttpBody) -> Option<Bytes> {
    soon(body.frame()).await.map(|frame| frame.unwrap().into_data().unwrap())
}

#[tokio::test]
async fn a_request_reaches_the_kernel_of_its_session_and_the_answer_comes_as_it_is() {
    let (files, routes) = (Files::new(), routes());
    let mut owner = Owner::start(&files).await;
    let id = begin(&owner.peers, &routes, "ada").await;
    let other = files.peers("127.0.0.1:1", "secret");
    let mut request = post("ada", Some(&id), "{}");
    request.headers_mut().insert(MARKS, HeaderValue::from_static("7 agent/root"));
    let mut answered = answer(&other, &Arc::default(), &routes, request).await.unwrap();
    assert_eq!(answered.status().as_u16(), 299);
    assert_eq!(answered.headers()["x-of-owner"], "1");
    assert!(!answered.headers().contains_key(TRANSFER_ENCODING));
    let asked = std::mem::take(&mut *owner.asked.lock()).pop().unwrap();
    let sent = |name: &str| asked.headers().get_all(name).iter().collect::<Vec<_>>();
    assert_eq!(sent("authorization"), ["Bearer mgp_1"]);
    assert_eq!(sent("mgp-peer"), [OF_CLIENT]);
    assert_eq!(sent("mcp-session-id"), [&id]);
    assert_eq!((asked.method(), asked.uri().path()), (&Method::POST, "/mcp"));

    let pieces = soon(owner.streams.recv()).await.unwrap();
    for piece in ["data: 1\n\n", "data: 2\n\n"] {
        pieces.send(piece.into()).await.unwrap();
        assert_eq!(frame(answered.body_mut()).await.unwrap(), piece, "each comes before the next");
    }
    drop(answered);
    soon(pieces.closed()).await;
}

#[tokio::test]
async fn a_stream_of_no_call_ends_with_the_kernel_that_passes_it_on() {
    let (files, routes) = (Files::new(), routes());
    let mut owner = Owner::start(&files).await;
    let id = begin(&owner.peers, &routes, "ada").await;
    let (other, lifecycle) = (files.peers("127.0.0.1:1", "secret"), Arc::<Lifecycle>::default());
    let mut bodies = Vec::new();
    for method in [Method::POST, Method::GET] {
        let mut request = post("ada", Some(&id), "{}");
        *request.method_mut() = method;
        bodies.push(answer(&other, &lifecycle, &routes, request).await.unwrap().into_body());
    }
    let of_call = soon(owner.streams.recv()).await.unwrap();
    let _of_none = soon(owner.streams.recv()).await.unwrap();
    lifecycle.set_ending(KernelEnd::Stop);
    assert_eq!(frame(&mut bodies[1]).await, None);
    of_call.send("data: 1\n\n".into()).await.unwrap();
    assert_eq!(frame(&mut bodies[0]).await.unwrap(), "data: 1\n\n");
}

#[tokio::test]
async fn a_kernel_that_is_lost_before_it_answers_may_have_done_what_it_was_asked_for() {
    let (files, routes) = (Files::new(), routes());
    let mut owner = Owner::start(&files).await;
    let id = begin(&owner.peers, &routes, "ada").await;
    // It takes the request, and fails.
    owner.streams.close();
    let other = files.peers("127.0.0.1:1", "secret");
    assert_eq!(ping(&other, &routes, "ada", &id).await, StatusCode::BAD_GATEWAY);
}

#[test]
fn a_key_is_kept_for_sessions_unless_it_came_with_a_proof_or_a_certificate_as_from_another_kernel() {
    let peers = Files::new().peers("127.0.0.1:1", "secret");
    let keeps = |peers: Option<&Peers>, change: fn(&mut Request<()>)| {
        let mut request = Request::new(());
        request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static("Bearer mgp_1"));
        request.headers_mut().insert(SESSION_ID, HeaderValue::from_static("1"));
        change(&mut request);
        keep_key(peers, &mut request);
        request.extensions().get::<CallerKey>().is_some()
    };
    assert!(keeps(Some(&peers), |_| {}));
    assert!(!keeps(None, |_| {}), "there is no other kernel");
    assert!(!keeps(Some(&peers), |request| drop(request.headers_mut().remove(SESSION_ID))));
    assert!(!keeps(Some(&peers), |request| {
        request.headers_mut().insert("dpop", HeaderValue::from_static("x.y.z"));
    }));
    assert!(!keeps(Some(&peers), |request| {
        request.extensions_mut().insert(PeerCertificate::from_der(b"that of another kernel"));
    }));
}
