//! Servers behind `https`: who is trusted, and that a connection then carries everything.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use mgp_client_sdk::Client;
use mgp_server_sdk::{Server, Tool};
use mgp_transport::http::{HttpClientBuilder, HttpServer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

/// Returns a server on a loopback port: its URL, and the certificate it shows.
async fn server() -> (String, Vec<u8>) {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = issued.cert.der().to_vec();
    let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.clone().into()],
            issued.signing_key.serialize_der().try_into().unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let accept = Server::new("secure", "1.0.0")
        .tool(Tool::new("hello", "Says hello."), async || "hello")
        .accept()
        .unwrap();
    let http = HttpServer::new(accept);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, http) = (acceptor.clone(), http.clone());
            tokio::spawn(async move {
                // A client that does not trust the certificate hangs up here.
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = hyper::service::service_fn(move |request| {
                    let http = http.clone();
                    async move { http.handle(request).await }
                });
                let stream = hyper_util::rt::TokioIo::new(stream);
                let _ = hyper::server::conn::http1::Builder::new().serve_connection(stream, service).await;
            });
        }
    });
    (url, certificate)
}

#[tokio::test]
async fn a_server_with_a_trusted_certificate_is_spoken_to() {
    let (url, certificate) = server().await;
    let encoded = mgp_server_sdk::base64(&certificate);
    let pem = format!("-----BEGIN CERTIFICATE-----\n{encoded}\n-----END CERTIFICATE-----\n");
    let trusting = |http: HttpClientBuilder| http.root_certificates_pem(pem.as_bytes());
    let client = Client::builder("test", "1.0.0").connect_http_with(&url, trusting).await.unwrap();
    let answer = client.call_tool("hello", mgp_types::Object::new()).await.unwrap();
    assert_eq!(answer.content[0].as_text(), Some("hello"));
    client.close().await.unwrap();
}

#[tokio::test]
async fn certificates_are_read_from_a_file_as_authorities_hand_them_out() {
    let (url, certificate) = server().await;
    let encoded = mgp_server_sdk::base64(&certificate);
    let lines: Vec<_> = encoded.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    let pem = format!("ours\n-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"));
    let trusting = |http: HttpClientBuilder| http.root_certificates_pem(pem.as_bytes());
    let client = Client::builder("test", "1.0.0").connect_http_with(&url, trusting).await.unwrap();
    client.close().await.unwrap();
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
