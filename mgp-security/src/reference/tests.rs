use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::Response;
use mgp_types::ext::{Checksum, DataReference};
use mgp_types::mgp::Timestamp;
use mgp_types::{BoxFuture, Error, code};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::{InvalidOrigin, ReferenceImporter};
use crate::network::{GuardedConnector, NetworkPolicy};

const URL: &str = "https://data.example/data/ref-1?sig=SECRET&exp=1";

/// A server that answers with the given statuses and pieces, in order, and notes what it was asked for.
#[derive(Default)]
struct Scripted {
    answers: Mutex<Vec<Answer>>,
    asked: Mutex<Vec<(Vec<SocketAddr>, u64)>>,
}

struct Answer {
    status: u16,
    etag: &'static str,
    pieces: Vec<Option<&'static str>>,
}

impl Scripted {
    fn get(
        &self,
        addresses: Vec<SocketAddr>,
        from: u64,
    ) -> Response<BoxStream<'static, Result<Bytes, Error>>> {
        self.asked.lock().push((addresses, from));
        let mut answers = self.answers.lock();
        let Answer { status, etag, pieces } = if answers.len() > 1 {
            answers.remove(0)
        } else {
            let last = answers.first().unwrap();
            Answer { status: last.status, etag: last.etag, pieces: last.pieces.clone() }
        };
        let pieces = pieces.into_iter().map(|piece| match piece {
            Some(piece) => Ok(Bytes::from_static(piece.as_bytes())),
            None => Err(Error::new(code::UPSTREAM_UNAVAILABLE, "the line broke")),
        });
        let body = futures_util::stream::iter(pieces.collect::<Vec<_>>()).boxed();
        Response::builder().status(status).header("etag", etag).body(body).unwrap()
    }
}

fn answer(status: u16, pieces: &[Option<&'static str>]) -> Answer {
    Answer { status, etag: "\"one\"", pieces: pieces.to_vec() }
}

fn server(answers: Vec<Answer>) -> Arc<Scripted> {
    Arc::new(Scripted { answers: Mutex::new(answers), asked: Mutex::default() })
}

fn reference(data: &str) -> DataReference {
    let mut reference = DataReference::new("ref-1", "amplitude", "text/csv");
    reference.access_url = Some(URL.into());
    reference.size_bytes = Some(data.len() as u64);
    reference.checksum = Some(Checksum::sha256(&Sha256::digest(data).into()));
    reference
}

fn importer(server: &Arc<Scripted>, address: &'static str) -> ReferenceImporter {
    led_to(server, NetworkPolicy::default(), address)
        .with_origin("amplitude", "https://data.example")
        .unwrap()
}

/// Returns an importer for which every name leads to one address.
fn led_to(server: &Arc<Scripted>, policy: NetworkPolicy, address: &'static str) -> ReferenceImporter {
    let connector = GuardedConnector::answered(policy.clone(), || vec![address.parse().unwrap()]);
    let server = server.clone();
    let request = move |_: String, addresses: Vec<SocketAddr>, from: u64| -> BoxFuture<'static, _> {
        Box::pin(std::future::ready(Ok(server.get(addresses, from))))
    };
    ReferenceImporter { request: Box::new(request), connector, ..ReferenceImporter::new(policy).unwrap() }
}

async fn fetch(importer: &ReferenceImporter, reference: &DataReference) -> Result<String, Error> {
    let mut all = Vec::new();
    let mut sink = |piece: &[u8]| {
        all.extend_from_slice(piece);
        Ok(())
    };
    let bytes = importer.import(reference, Timestamp::now(), &mut sink).await?;
    assert_eq!(bytes, all.len() as u64);
    Ok(String::from_utf8(all).unwrap())
}

async fn code_of(importer: &ReferenceImporter, reference: &DataReference) -> i64 {
    let error = fetch(importer, reference).await.unwrap_err();
    assert!(!error.to_string().contains("SECRET"), "{error}");
    error.code()
}

#[tokio::test]
async fn data_comes_from_the_address_that_was_judged() {
    let server = server(vec![answer(200, &[Some("a,b\n"), Some("1,2\n")])]);
    let importer = importer(&server, "93.184.216.34");
    assert_eq!(fetch(&importer, &reference("a,b\n1,2\n")).await.unwrap(), "a,b\n1,2\n");
    assert_eq!(*server.asked.lock(), [(vec!["93.184.216.34:443".parse().unwrap()], 0)]);
}

#[tokio::test]
async fn an_interrupted_transfer_goes_on_where_it_stopped() {
    let parts = vec![
        answer(200, &[Some("a,"), None]),
        answer(206, &[Some("b\n"), Some("1")]),
        answer(206, &[None]),
        answer(206, &[Some(",2\n")]),
    ];
    let server = server(parts);
    let importer = importer(&server, "93.184.216.34");
    assert_eq!(fetch(&importer, &reference("a,b\n1,2\n")).await.unwrap(), "a,b\n1,2\n");
    let from: Vec<u64> = server.asked.lock().iter().map(|(_, from)| *from).collect();
    assert_eq!(from, [0, 2, 5, 5]);
}

#[tokio::test]
async fn a_transfer_does_not_go_on_with_other_data_or_for_ever() {
    let other = Answer { status: 206, etag: "\"two\"", pieces: vec![Some("b")] };
    for next in [other, answer(200, &[Some("a,b")])] {
        let server = server(vec![answer(200, &[Some("a"), None]), next]);
        let importer = importer(&server, "93.184.216.34");
        assert_eq!(code_of(&importer, &reference("a,b")).await, code::UPSTREAM_ERROR);
    }
    let server = server(vec![answer(200, &[Some("a"), None]), answer(206, &[None])]);
    assert_eq!(
        code_of(&importer(&server, "93.184.216.34"), &reference("a,b")).await,
        code::UPSTREAM_UNAVAILABLE
    );
    assert_eq!(server.asked.lock().len(), 9);
}

#[tokio::test]
async fn what_is_not_what_was_promised_is_refused() {
    let promised = reference("abc");
    for (pieces, expected) in [
        (vec![Some("abd")], code::REFERENCE_CHECKSUM_MISMATCH),
        (vec![Some("abc"), Some("d")], code::REFERENCE_CHECKSUM_MISMATCH),
    ] {
        let server = server(vec![answer(200, &pieces)]);
        assert_eq!(code_of(&importer(&server, "93.184.216.34"), &promised).await, expected);
    }
    let mut md5 = reference("abc");
    md5.checksum = serde_json::from_str(r#""md5:900150983cd24fb0d6963f7d28e17f72""#).unwrap();
    let server = server(vec![answer(200, &[Some("abc")])]);
    let importer = importer(&server, "93.184.216.34").max_bytes(3);
    assert_eq!(code_of(&importer, &md5).await, code::REFERENCE_CHECKSUM_MISMATCH);
    assert!(fetch(&importer, &promised).await.is_ok());
    assert_eq!(code_of(&importer, &reference("abcd")).await, code::PAYLOAD_TOO_LARGE);
    let mut unsized_one = reference("abcd");
    (unsized_one.size_bytes, unsized_one.checksum) = (None, None);
    let long = self::server(vec![answer(200, &[Some("ab"), Some("cd")])]);
    let importer = self::importer(&long, "93.184.216.34").max_bytes(3);
    assert_eq!(code_of(&importer, &unsized_one).await, code::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn nothing_is_fetched_from_where_nobody_expects_it() {
    let server = server(vec![answer(200, &[Some("abc")])]);
    let forbidden = code::REFERENCE_FORBIDDEN;
    for address in ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:192.168.0.1"] {
        assert_eq!(code_of(&importer(&server, address), &reference("abc")).await, forbidden, "{address}");
    }
    let public = importer(&server, "93.184.216.34");
    for url in [
        "http://data.example/data/ref-1?sig=SECRET",
        "https://data.example:8443/data/ref-1?sig=SECRET",
        "https://evil.example/data/ref-1?sig=SECRET",
        "https://data.example@evil.example/?sig=SECRET",
        "https://user:SECRET@data.example/",
        "file:///etc/passwd",
        "https://127.0.0.1/?sig=SECRET",
        "SECRET",
    ] {
        let mut elsewhere = reference("abc");
        elsewhere.access_url = Some(url.into());
        assert_eq!(code_of(&public, &elsewhere).await, forbidden, "{url}");
    }
    let mut other = reference("abc");
    other.origin_server = "mail".into();
    assert_eq!(code_of(&public, &other).await, forbidden, "the address is registered for another server");
    assert!(server.asked.lock().is_empty(), "no request left");
    for status in [301, 302, 307, 401, 403] {
        let server = self::server(vec![answer(status, &[])]);
        assert_eq!(
            code_of(&importer(&server, "93.184.216.34"), &reference("abc")).await,
            forbidden,
            "{status}"
        );
    }
}

#[tokio::test]
async fn a_reference_that_is_over_unknown_or_without_an_address_says_so() {
    for (status, expected) in [
        (404, code::REFERENCE_NOT_FOUND),
        (410, code::REFERENCE_EXPIRED),
        (500, code::UPSTREAM_ERROR),
        (206, code::UPSTREAM_ERROR),
    ] {
        let server = server(vec![answer(status, &[])]);
        assert_eq!(
            code_of(&importer(&server, "93.184.216.34"), &reference("abc")).await,
            expected,
            "{status}"
        );
    }
    let server = server(vec![answer(200, &[Some("abc")])]);
    let importer = importer(&server, "93.184.216.34");
    let mut over = reference("abc");
    over.expires_at = Timestamp::from_millis(1);
    assert_eq!(code_of(&importer, &over).await, code::REFERENCE_EXPIRED);
    let mut bare = reference("abc");
    bare.access_url = None;
    assert_eq!(code_of(&importer, &bare).await, code::REFERENCE_NOT_FOUND);
}

#[tokio::test]
async fn this_machine_serves_data_only_where_that_is_allowed() {
    let server = server(vec![answer(200, &[Some("abc")])]);
    let local = |to| {
        let policy = NetworkPolicy::default().allow_loopback();
        led_to(&server, policy, to).with_origin("amplitude", "http://localhost:8080").unwrap()
    };
    let mut here = reference("abc");
    here.access_url = Some("http://localhost:8080/data/ref-1?sig=SECRET".into());
    assert_eq!(fetch(&local("127.0.0.1"), &here).await.unwrap(), "abc");
    assert_eq!(
        code_of(&local("93.184.216.34"), &here).await,
        code::REFERENCE_FORBIDDEN,
        "plain HTTP elsewhere"
    );
}

#[test]
fn an_origin_has_nothing_behind_its_host_and_port() {
    let server = server(Vec::new());
    for wrong in [
        "data.example", "https://data.example/data", "https://data.example?x", "ftp://a.example",
        "https://u@a.example",
    ] {
        let made = importer(&server, "::1").with_origin("a", wrong);
        assert_eq!(made.err(), Some(InvalidOrigin), "{wrong}");
    }
}
