//! Certificates, servers with TLS, and clients of both versions of HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::TokioIo;
use mgp_transport::http::{HttpConfig, TlsConfig, serve_until};
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::peer::Ask;
use crate::stack::{World, accept, world};

/// An authority that signs certificates for `localhost`.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) certificate: CertificateDer<'static>,
}

/// A certificate with its key.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    pub(crate) fn issue(&self) -> Identity {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        Identity { certificate, key: key.serialize_der() }
    }

    pub(crate) fn pem(&self) -> Vec<u8> {
        pem("CERTIFICATE", &self.certificate)
    }
}

impl Identity {
    pub(crate) fn chain(&self) -> Vec<u8> {
        pem("CERTIFICATE", &self.certificate)
    }

    pub(crate) fn key(&self) -> Vec<u8> {
        pem("PRIVATE KEY", &self.key)
    }

    pub(crate) fn tls(&self) -> TlsConfig {
        TlsConfig::from_pem(&self.chain(), &self.key()).unwrap()
    }
}

fn pem(label: &str, der: &[u8]) -> Vec<u8> {
    let encoded = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<_> = encoded.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n")).into_bytes()
}

/// A server with TLS on a loopback port.
pub(crate) struct Secured {
    pub(crate) world: Arc<World>,
    pub(crate) address: SocketAddr,
    pub(crate) authority: Authority,
    pub(crate) tls: TlsConfig,
    stop: Option<oneshot::Sender<()>>,
    ended: tokio::task::JoinHandle<std::io::Result<()>>,
}

pub(crate) async fn secured() -> Secured {
    secured_with(HttpConfig::default(), |tls| tls).await
}

/// Returns a server with TLS, and a client that has a connection of HTTP/2 to it.
pub(crate) async fn over_http2() -> (Secured, Http2) {
    let server = secured().await;
    let client = server.client().http2().await;
    (server, client)
}

pub(crate) async fn secured_with(config: HttpConfig, change: impl FnOnce(TlsConfig) -> TlsConfig) -> Secured {
    let world = world();
    let authority = Authority::new();
    let tls = change(authority.issue().tls());
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = serve_until(socket, accept(&world), config.tls(tls.clone()), async {
        let _ = stopped.await;
    });
    Secured { world, address, authority, tls, stop: Some(stop), ended: tokio::spawn(serving) }
}

impl Secured {
    /// Lets the server end.
    pub(crate) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Waits for the end of the server.
    pub(crate) async fn ended(self) {
        in_time(self.ended).await.unwrap().unwrap();
    }

    /// Returns the settings of a client that trusts the server's authority.
    pub(crate) fn client(&self) -> TlsClient {
        TlsClient {
            address: self.address,
            trusted: self.authority.certificate.clone(),
            identity: None,
            versions: rustls::ALL_VERSIONS.to_vec(),
        }
    }

    pub(crate) async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

/// The settings of a client.
#[derive(Clone)]
pub(crate) struct TlsClient {
    pub(crate) address: SocketAddr,
    pub(crate) trusted: CertificateDer<'static>,
    pub(crate) identity: Option<Identity>,
    pub(crate) versions: Vec<&'static rustls::SupportedProtocolVersion>,
}

impl TlsClient {
    /// Agrees on TLS and one of the `protocols`.
    pub(crate) async fn open(&self, protocols: &[&str]) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.trusted.clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(Identity { certificate, key }) => {
                let key = PrivateKeyDer::try_from(key.clone()).unwrap();
                builder.with_client_auth_cert(vec![certificate.clone()], key).unwrap()
            }
        };
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        in_time(TlsConnector::from(Arc::new(config)).connect(name, stream)).await
    }

    pub(crate) async fn http1(&self) -> http1::SendRequest<Full<Bytes>> {
        let stream = self.open(&["http/1.1"]).await.unwrap();
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender
    }

    pub(crate) async fn http2(&self) -> Http2 {
        let stream = self.open(&["h2", "http/1.1"]).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let tasks = ClientTasks::default();
        let (sender, connection) = http2::handshake(tasks.clone(), TokioIo::new(stream)).await.unwrap();
        Http2 { sender, connection: tokio::spawn(connection), tasks }
    }
}

/// A connection of HTTP/2.
pub(crate) struct Http2 {
    pub(crate) sender: http2::SendRequest<Full<Bytes>>,
    pub(crate) connection: tokio::task::JoinHandle<hyper::Result<()>>,
    tasks: ClientTasks,
}

/// The tasks of a connection, which can be ended together.
#[derive(Clone, Default)]
struct ClientTasks(Arc<Mutex<JoinSet<()>>>);

impl<F: Future<Output: Send> + Send + 'static> hyper::rt::Executor<F> for ClientTasks {
    fn execute(&self, work: F) {
        self.0.lock().spawn(async {
            work.await;
        });
    }
}

impl Http2 {
    pub(crate) async fn send(&self, ask: Ask) -> hyper::Result<http::Response<Incoming>> {
        in_time(self.sender.clone().send_request(on_http2(ask))).await
    }

    /// Begins a call, which goes on by itself.
    pub(crate) fn begin(&self, ask: Ask) -> Begun {
        Begun(tokio::spawn(self.sender.clone().send_request(on_http2(ask))))
    }

    /// Closes the connection without a word.
    pub(crate) fn hang_up(self) {
        self.connection.abort();
        self.tasks.0.lock().abort_all();
    }

    pub(crate) async fn json(&self, ask: Ask) -> Value {
        json(self.send(ask).await.unwrap()).await
    }
}

/// A call that was begun.
pub(crate) struct Begun(pub(crate) tokio::task::JoinHandle<hyper::Result<http::Response<Incoming>>>);

impl Begun {
    pub(crate) async fn ends_well(self) {
        assert_eq!(json(in_time(self.0).await.unwrap().unwrap()).await["result"]["done"], true);
    }
}

/// Returns the request in the form of HTTP/2, where the URL names the host.
pub(crate) fn on_http2(ask: Ask) -> http::Request<Full<Bytes>> {
    let Ask(mut request) = ask.without("host");
    *request.uri_mut() = format!("https://localhost{}", request.uri()).parse().unwrap();
    request.map(Full::new)
}

pub(crate) async fn json(response: http::Response<Incoming>) -> Value {
    assert_eq!(response.headers()["content-type"], "application/json", "{}", response.status());
    let body = in_time(response.into_body().collect()).await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}

/// Waits for `coming`, and fails the test in place of hanging.
pub(crate) async fn in_time<T>(coming: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(Duration::from_mins(1), coming).await;
    outcome.expect("it should have come long ago")
}

/// Waits until `holds`.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    in_time(async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
