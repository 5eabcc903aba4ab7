//! TLS at the listener.

use std::time::Duration;

use http_body_util::Full;
use mgp_transport::http::{ClientCertificates, HttpConfig, TlsConfig};
use mgp_types::PeerCertificate;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tracing::Level;

use crate::peer::Ask;
use crate::secure::{Authority, TlsClient, in_time, json, secured, secured_with, until};
use crate::support::Notes;

/// Calls a tool over a new connection of HTTP/1.1.
async fn call(client: &TlsClient, tool: &str) -> Value {
    let mut sender = client.http1().await;
    json(in_time(sender.send_request(Ask::tool(tool).0.map(Full::new))).await.unwrap()).await
}

/// Returns whether a connection was agreed and a call over it answered. With TLS 1.3 the server's refusal of a client's
/// certificate comes after the client's side of the handshake.
async fn is_served(client: &TlsClient) -> bool {
    let Ok(mut stream) = client.open(&["http/1.1"]).await else { return false };
    let request = b"GET /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut answer = Vec::new();
    let exchange = async {
        stream.write_all(request).await?;
        stream.read_to_end(&mut answer).await
    };
    in_time(exchange).await.is_ok_and(|_| answer.starts_with(b"HTTP/1.1 "))
}

#[tokio::test]
async fn both_versions_of_tls_are_served() {
    let server = secured().await;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let client = TlsClient { versions: vec![version], ..server.client() };
        let stream = client.open(&["http/1.1"]).await.unwrap();
        assert_eq!(stream.get_ref().1.protocol_version(), Some(version.version));
        assert_eq!(call(&client, "x").await["result"]["done"], true);
    }
}

#[tokio::test]
async fn a_client_that_names_no_protocol_is_served_over_http_1() {
    let server = secured().await;
    let stream = server.client().open(&[]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), None);
    assert!(server.client().open(&["smtp"]).await.is_err());
}

#[tokio::test]
async fn a_client_that_does_not_know_the_authority_hangs_up() {
    let server = secured().await;
    let client = TlsClient { trusted: Authority::new().certificate, ..server.client() };
    let error = client.open(&["http/1.1"]).await.unwrap_err();
    assert!(error.to_string().contains("invalid peer certificate"), "{error}");
}

#[tokio::test]
async fn a_new_certificate_is_shown_to_new_connections_and_open_ones_live_on() {
    let server = secured().await;
    let mut open = server.client().http1().await;
    let renewed = server.authority.issue();
    server.tls.reload(&renewed.chain(), &renewed.key()).unwrap();

    let stream = server.client().open(&["http/1.1"]).await.unwrap();
    let shown = stream.get_ref().1.peer_certificates().unwrap();
    assert_eq!(shown, std::slice::from_ref(&renewed.certificate));
    let answer = in_time(open.send_request(Ask::tool("x").0.map(Full::new))).await.unwrap();
    assert_eq!(json(answer).await["result"]["done"], true);
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_leaves_the_one_before() {
    let server = secured().await;
    let before = server.client().open(&[]).await.unwrap();
    let (one, other) = (server.authority.issue(), server.authority.issue());
    server.tls.reload(&one.chain(), &other.key()).unwrap_err();
    server.tls.reload(b"", &other.key()).unwrap_err();
    let after = server.client().open(&[]).await.unwrap();
    assert_eq!(after.get_ref().1.peer_certificates(), before.get_ref().1.peer_certificates());
}

#[tokio::test]
async fn settings_that_cannot_be_used_are_refused_without_quoting_a_key() {
    let identity = Authority::new().issue();
    let key = String::from_utf8(identity.key()).unwrap();
    let secret = key.lines().nth(1).unwrap();
    let broken = key.replace("-----END", "-----EDN");
    for (chain, key, expected) in [
        (identity.chain(), Authority::new().issue().key(), "do not belong together"),
        (identity.chain(), b"no PEM".to_vec(), "no PEM of an unencrypted private key"),
        (identity.chain(), broken.into_bytes(), "no PEM of an unencrypted private key"),
        (b"no PEM".to_vec(), identity.key(), "there is no certificate"),
        (identity.key(), identity.key(), "there is no certificate"),
    ] {
        let error = TlsConfig::from_pem(&chain, &key).unwrap_err();
        assert!(error.message().contains(expected), "{error:?}");
        assert!(!format!("{error:?}").contains(secret), "{error:?}");
    }
    let tls = identity.tls();
    let error = tls.client_authorities(b"", ClientCertificates::Optional).unwrap_err();
    assert!(error.message().contains("the authorities of clients"), "{error:?}");
    assert!(!format!("{:?}", HttpConfig::default().tls(identity.tls())).contains(secret));
}

#[tokio::test]
async fn an_optional_client_certificate_is_shown_to_the_service() {
    let clients = Authority::new();
    let accepting = |tls: TlsConfig| tls.client_authorities(&clients.pem(), ClientCertificates::Optional);
    let server = secured_with(HttpConfig::default(), |tls| accepting(tls).unwrap()).await;
    assert_eq!(call(&server.client(), "certificate").await["result"]["thumbprint"], json!([]));

    let identity = clients.issue();
    let thumbprint = json!(PeerCertificate::from_der(&identity.certificate).thumbprint());
    let client = TlsClient { identity: Some(identity), ..server.client() };
    let mut sender = client.http1().await;
    for _ in 0..2 {
        let answer = in_time(sender.send_request(Ask::tool("certificate").0.map(Full::new))).await.unwrap();
        assert_eq!(json(answer).await["result"]["thumbprint"], thumbprint);
    }
    let http2 = client.http2().await;
    assert_eq!(http2.json(Ask::tool("certificate")).await["result"]["thumbprint"], thumbprint);
}

#[tokio::test]
async fn no_connection_comes_to_be_without_a_certificate_that_is_required() {
    let clients = Authority::new();
    let requiring = |tls: TlsConfig| tls.client_authorities(&clients.pem(), ClientCertificates::Required);
    let server = secured_with(HttpConfig::default(), |tls| requiring(tls).unwrap()).await;
    assert!(!is_served(&server.client()).await);
    assert!(is_served(&TlsClient { identity: Some(clients.issue()), ..server.client() }).await);
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused_even_where_none_is_needed() {
    let clients = Authority::new();
    for needed in [ClientCertificates::Optional, ClientCertificates::Required] {
        let accepting = |tls: TlsConfig| tls.client_authorities(&clients.pem(), needed).unwrap();
        let server = secured_with(HttpConfig::default(), accepting).await;
        let stranger = Authority::new().issue();
        assert!(!is_served(&TlsClient { identity: Some(stranger), ..server.client() }).await, "{needed:?}");
        // Who may sign for servers may not for clients.
        let servers = server.authority.issue();
        assert!(!is_served(&TlsClient { identity: Some(servers), ..server.client() }).await, "{needed:?}");
    }
}

#[tokio::test]
async fn a_certificate_proves_nothing_where_no_authority_is_accepted() {
    let server = secured().await;
    let client = TlsClient { identity: Some(server.authority.issue()), ..server.client() };
    assert_eq!(call(&client, "certificate").await["result"]["thumbprint"], json!([]));
}

#[tokio::test]
async fn other_authorities_hold_for_new_connections() {
    let (before, after) = (Authority::new(), Authority::new());
    let accepting = |tls: TlsConfig| tls.client_authorities(&before.pem(), ClientCertificates::Required);
    let server = secured_with(HttpConfig::default(), |tls| accepting(tls).unwrap()).await;
    let changed = server.tls.clone().client_authorities(&after.pem(), ClientCertificates::Required);
    drop(changed.unwrap());
    assert!(!is_served(&TlsClient { identity: Some(before.issue()), ..server.client() }).await);
    assert!(is_served(&TlsClient { identity: Some(after.issue()), ..server.client() }).await);
    // The authorities outlive another certificate of the server.
    let renewed = server.authority.issue();
    server.tls.reload(&renewed.chain(), &renewed.key()).unwrap();
    assert!(!is_served(&server.client()).await);
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_ends() {
    let config = HttpConfig::default().header_timeout(Duration::from_millis(50));
    let server = secured_with(config, |tls| tls).await;
    for begun in [&b""[..], b"\x16\x03\x01\x02\x00\x01"] {
        let mut stream = server.tcp().await;
        stream.write_all(begun).await.unwrap();
        let mut rest = Vec::new();
        let _ = in_time(stream.read_to_end(&mut rest)).await;
        assert_eq!(rest, b"");
    }
}

#[tokio::test]
async fn handshakes_in_work_make_room_for_others() {
    let config = HttpConfig::default().max_connections(3).header_timeout(Duration::from_hours(1));
    let server = secured_with(config, |tls| tls).await;
    let mut slow = Vec::new();
    for _ in 0..8 {
        slow.push(server.tcp().await);
    }
    assert_eq!(call(&server.client(), "x").await["result"]["done"], true);
    // The oldest had to go.
    assert_eq!(in_time(slow[0].read(&mut [0])).await.unwrap_or_default(), 0);
}

#[tokio::test]
async fn a_request_without_tls_is_not_answered_and_the_operator_hears_why() {
    let warnings = Notes::up_to(Level::WARN);
    let _heard = tracing::subscriber::set_default(warnings.clone());
    let server = secured().await;
    let mut stream = server.tcp().await;
    stream.write_all(b"GET /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = in_time(stream.read_to_end(&mut answer)).await;
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    let heard = || warnings.noted().join(" ");
    until(|| heard().contains("clients have to use https://")).await;
    assert!(heard().contains("peer=127.0.0.1"), "{}", heard());
}

#[tokio::test]
async fn the_end_of_the_server_does_not_wait_for_handshakes() {
    let config = HttpConfig::default().shutdown_grace(Duration::from_hours(1));
    let mut server = secured_with(config, |tls| tls).await;
    let mut begun = server.tcp().await;
    // The server has taken the connection in when a later one is served.
    assert!(is_served(&server.client()).await);
    server.stop();
    let _ = in_time(begun.read(&mut [0])).await;
    server.ended().await;
}
