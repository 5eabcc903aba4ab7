//! Servers behind `https`: who is trusted, and that a connection then carries everything.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use mgp_client_sdk::Client;
use mgp_server_sdk::{HttpConfig, Server, TlsConfig, Tool};
use mgp_transport::http::{HttpClientBuilder, serve};
use tokio::net::TcpListener;

/// Returns a server on a loopback port: its URL, and the certificate it shows.
async fn server() -> (String, Vec<u8>) {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = issued.cert.der().to_vec();
    let chain = pem("CERTIFICATE", &mgp_server_sdk::base64(&certificate));
    let key = pem("PRIVATE KEY", &mgp_server_sdk::base64(issued.signing_key.serialize_der()));
    let config = HttpConfig::default().tls(TlsConfig::from_pem(chain.as_bytes(), key.as_bytes()).unwrap());
    let server = Server::new("secure", "1.0.0").tool(Tool::new("hello", "Says hello."), async || "hello");
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    tokio::spawn(async move { serve(listener, server.accept().unwrap(), config).await.unwrap() });
    (url, certificate)
}

fn pem(kind: &str, text: &str) -> String {
    format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n")
}

#[tokio::test]
async fn a_server_with_a_trusted_certificate_is_spoken_to() {
    let (url, certificate) = server().await;
    let encoded = mgp_server_sdk::base64(&certificate);
    // In one line, and as authorities hand them out.
    let lines: Vec<_> = encoded.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    for text in [&encoded, &lines.join("\n")] {
        let pem = format!("ours\n{}", pem("CERTIFICATE", text));
        let trusting = |http: HttpClientBuilder| http.root_certificates_pem(pem.as_bytes());
        let client = Client::builder("test", "1.0.0").connect_http_with(&url, trusting).await.unwrap();
        let answer = client.call_tool("hello", ()).await.unwrap();
        assert_eq!(answer.content[0].as_text(), Some("hello"));
        client.close().await.unwrap();
    }
    let empty = |http: HttpClientBuilder| http.root_certificates_pem("no certificate");
    let error = Client::builder("test", "1.0.0").connect_http_with(&url, empty).await.unwrap_err();
    assert!(error.message().contains("there is no certificate"), "{error:?}");
}

#[tokio::test]
async fn a_server_nobody_vouches_for_is_refused() {
    let (url, _) = server().await;
    let error = Client::builder("test", "1.0.0").connect_http(url).await.unwrap_err();
    assert_eq!(error.origin(), mgp_types::Origin::Connection, "{error:?}");
    assert!(format!("{error:?}").contains("UnknownIssuer"), "{error:?}");
}
