//! What a token adds to a request, with the keys of its issuer at hand.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use divan::{Bencher, black_box};
use mgp_security::Clock;
use mgp_security::auth::{HttpAuth, HttpAuthLayer, KeyRing};
use mgp_security::jose::{Algorithm, Header, SigningKey};
use mgp_security::network::{Fetcher, NetworkPolicy};
use mgp_security::oauth::{Issuer, ResourceServer, ResourceServerSettings};
use mgp_store::Database;
use mgp_types::Principal;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tower_layer::Layer as _;
use tower_service::Service;

fn main() {
    divan::main();
}

const RESOURCE: &str = "https://mgp.example/mcp";
/// An RSA key of 2048 bits, made for tests.
const RSA: &str = include_str!("../../mgp-client-sdk/tests/identity_provider/rsa.pem");

/// The server behind the layer, which does nothing.
#[derive(Clone)]
struct Nothing;

impl Service<http::Request<String>> for Nothing {
    type Response = http::Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<http::Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<String>) -> Self::Future {
        ready(Ok(http::Response::new(String::new())))
    }
}

/// A layer that knows the key of an issuer, and tokens of that issuer.
struct Scene {
    runtime: tokio::runtime::Runtime,
    door: HttpAuth<Nothing>,
    tokens: Vec<String>,
}

impl Scene {
    fn new(key: &SigningKey, tokens: usize) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let keys = json!({ "keys": [key.public_jwk()] }).to_string();
        let port = runtime.block_on(serve(keys));
        let issuer = format!("http://127.0.0.1:{port}");
        let fetcher = Fetcher::new(NetworkPolicy::default().allow_loopback()).unwrap();
        let keys = Some(format!("{issuer}/keys").into());
        let settings = ResourceServerSettings {
            issuers: vec![Issuer { jwks_uri: keys, ..Issuer::new(issuer.as_str()) }],
            principals: Box::new(|_, _| Some(Principal::new("agent.ada"))),
            ..ResourceServerSettings::default()
        };
        let server = ResourceServer::new(RESOURCE, settings, &fetcher).unwrap();
        let ring = KeyRing::open(Database::in_memory().unwrap(), Clock::system()).unwrap();
        let mut door = HttpAuthLayer::new(ring).tokens(server).layer(Nothing);
        let token = |id: usize| {
            let claims = json!({
                "iss": issuer, "sub": "3f1c9a", "aud": RESOURCE, "exp": 9_999_999_999_u64, "iat": 1, "jti": id,
                "scope": "mgp:use",
            });
            key.sign(Header::new(key.algorithm()), &claims).unwrap()
        };
        let tokens: Vec<_> = (0..tokens).map(token).collect();
        // The first one has the key fetched.
        let first = runtime.block_on(door.call(request(&token(usize::MAX)))).unwrap();
        assert_eq!(first.status(), 200);
        Self { runtime, door, tokens }
    }
}

fn request(token: &str) -> http::Request<String> {
    http::Request::post("/mcp")
        .header("authorization", format!("Bearer {token}"))
        .body(String::new())
        .unwrap()
}

async fn serve(document: String) -> u16 {
    let socket = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = socket.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = socket.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let length = document.len();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(format!("{head}{document}").as_bytes()).await;
        }
    });
    port
}

fn key(algorithm: Algorithm) -> SigningKey {
    match algorithm {
        Algorithm::RS256 => SigningKey::from_pem(RSA, algorithm).unwrap(),
        Algorithm::EdDSA => SigningKey::from_pkcs8(ED25519, algorithm).unwrap(),
        _ => SigningKey::generate().unwrap(),
    }
}

/// A key for Ed25519 in PKCS#8, made for this bench: the header of its kind, and 32 bytes.
const ED25519: [u8; 48] = {
    let mut der = [7; 48];
    let head =
        [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    let mut at = 0;
    while at < head.len() {
        der[at] = head[at];
        at += 1;
    }
    der
};

/// A token that was not seen before.
#[divan::bench(args = [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA], sample_count = 40, sample_size = 25)]
fn a_new_token(bencher: Bencher<'_, '_>, algorithm: Algorithm) {
    let Scene { runtime, mut door, tokens } = Scene::new(&key(algorithm), 2_000);
    let mut requests = tokens.iter().map(|token| request(token));
    bencher
        .with_inputs(|| requests.next().unwrap())
        .bench_local_values(|request| black_box(runtime.block_on(door.call(request)).unwrap()));
}

/// A token that was seen before.
#[divan::bench(sample_count = 100, sample_size = 100)]
fn a_known_token(bencher: Bencher<'_, '_>) {
    let Scene { runtime, mut door, tokens } = Scene::new(&key(Algorithm::ES256), 1);
    runtime.block_on(door.call(request(&tokens[0]))).unwrap();
    bencher
        .with_inputs(|| request(&tokens[0]))
        .bench_local_values(|request| black_box(runtime.block_on(door.call(request)).unwrap()));
}

/// A request behind the layer when no token is accepted: what the rest of the bench costs.
#[divan::bench(sample_count = 100, sample_size = 100)]
fn no_token(bencher: Bencher<'_, '_>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let ring = KeyRing::open(Database::in_memory().unwrap(), Clock::system()).unwrap();
    let mut door = HttpAuthLayer::new(ring).optional().layer(Nothing);
    bencher
        .with_inputs(|| http::Request::post("/mcp").body(String::new()).unwrap())
        .bench_local_values(|request| black_box(runtime.block_on(door.call(request)).unwrap()));
}
