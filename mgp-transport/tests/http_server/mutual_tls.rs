//! A client that shows a certificate.

use mgp_transport::http::{ClientCertificates, HttpClient, HttpClientBuilder, HttpConfig, TlsConfig};
use mgp_types::{Error, Object, Origin, Outbox, PeerCertificate, Request, Response};
use tower_service::Service;

use crate::peer::Ask;
use crate::secure::{Authority, Secured, in_time, secured_with};
use crate::stack::{accept, world};

fn client(server: &Secured) -> HttpClientBuilder {
    HttpClient::builder(format!("https://localhost:{}/mcp", server.address.port()))
        .root_certificates_pem(server.authority.pem())
}

/// Asks the server what certificate it was shown.
async fn certificate(builder: HttpClientBuilder) -> Result<Response, Error> {
    // Nobody asks this client anything.
    let mut client =
        builder.connect_with(mgp_transport::Accept::accept(&accept(&world()), Outbox::CLOSED))?;
    let message = Object::parse(Ask::tool("certificate").0.into_body()).unwrap();
    let params = Object::from_raw(&message.get("params").unwrap()).unwrap();
    in_time(client.call(Request::call("tools/call", params))).await
}

async fn demanding(clients: &Authority) -> Secured {
    let accepting = |tls: TlsConfig| tls.client_authorities(&clients.pem(), ClientCertificates::Required);
    secured_with(HttpConfig::default(), |tls| accepting(tls).unwrap()).await
}

#[tokio::test]
async fn the_servers_authority_knows_the_client_by_its_certificate() {
    let clients = Authority::new();
    let server = demanding(&clients).await;
    let identity = clients.issue();
    let builder = client(&server).client_certificate_pem(identity.chain(), identity.key());
    let answer = certificate(builder).await.unwrap();
    let answer = String::from_utf8(answer.result.as_bytes().to_vec()).unwrap();
    let thumbprint = PeerCertificate::from_der(&identity.certificate).thumbprint().to_vec();
    let thumbprint = format!("{thumbprint:?}").replace(' ', "");
    assert!(answer.replace(' ', "").contains(&thumbprint), "{answer}");
}

#[tokio::test]
async fn without_a_certificate_the_server_is_not_reached() {
    let clients = Authority::new();
    let server = demanding(&clients).await;
    let error = certificate(client(&server)).await.unwrap_err();
    assert_eq!(error.origin(), Origin::Connection, "{error:?}");
}

#[tokio::test]
async fn a_certificate_of_another_authority_opens_nothing() {
    let clients = Authority::new();
    let server = demanding(&clients).await;
    let foreign = Authority::new().issue();
    let builder = client(&server).client_certificate_pem(foreign.chain(), foreign.key());
    assert_eq!(certificate(builder).await.unwrap_err().origin(), Origin::Connection);
}

#[tokio::test]
async fn a_client_may_trust_one_authority_alone() {
    let clients = Authority::new();
    let server = demanding(&clients).await;
    let (url, identity) = (format!("https://localhost:{}/mcp", server.address.port()), clients.issue());
    let trusting = |authority: &Authority| {
        let builder = HttpClient::builder(url.clone()).only_root_certificates_pem(authority.pem());
        builder.client_certificate_pem(identity.chain(), identity.key())
    };
    certificate(trusting(&server.authority)).await.unwrap();
    assert_eq!(certificate(trusting(&clients)).await.unwrap_err().origin(), Origin::Connection);
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_named_and_not_quoted() {
    let clients = Authority::new();
    let server = demanding(&clients).await;
    let (identity, other) = (clients.issue(), clients.issue());
    let secret = String::from_utf8(other.key()).unwrap().lines().nth(1).unwrap().to_owned();
    for (chain, key, expected) in [
        (identity.chain(), other.key(), "do not belong together"),
        (other.key(), other.key(), "the client's certificate: there is no certificate"),
        (identity.chain(), identity.chain(), "the key of the client's certificate"),
    ] {
        let builder = client(&server).client_certificate_pem(chain, key);
        assert!(!format!("{builder:?}").contains(&secret));
        let error = certificate(builder).await.unwrap_err();
        assert!(error.message().contains(expected), "{error:?}");
        assert!(!format!("{error:?}").contains(&secret), "{error:?}");
    }
}
