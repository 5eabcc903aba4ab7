//! The authorization that a scenario of the suite expects of a client.

use std::env;
use std::sync::Arc;

use mgp_client_sdk::Error;
use mgp_client_sdk::oauth::{
    Algorithm, BoxFuture, Browser, ClientCredentials, EnterpriseGrant, Fetcher, Grant, NetworkPolicy, OAuth,
    OAuthError, RedirectTarget, SigningKey, TokenSource,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Returns the authorization for a scenario.
pub(super) fn of(url: &str, scenario: &str) -> Result<Arc<OAuth>, Error> {
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let text = |name: &str| context[name].as_str();
    let policy = NetworkPolicy::default().allow_loopback();
    let builder = OAuth::builder(url)
        .client_name("mgp-conformance")
        .client_metadata_url(CLIENT_METADATA)
        .fetcher(Fetcher::new(policy)?)
        .browser(ScriptedBrowser);
    let builder = match (text("client_id"), text("client_secret"), text("private_key_pem")) {
        (Some(id), Some(secret), _) => builder.credentials(ClientCredentials::with_secret(id, secret)),
        (Some(id), None, Some(pem)) => {
            let algorithm = match text("signing_algorithm") {
                Some("EdDSA") => Algorithm::EdDSA,
                Some("RS256") => Algorithm::RS256,
                _ => Algorithm::ES256,
            };
            let key = SigningKey::from_pem(pem, algorithm).map_err(OAuthError::from)?;
            builder.credentials(ClientCredentials::with_key(id, key))
        }
        (Some(id), None, None) => builder.credentials(ClientCredentials::public(id)),
        _ => builder,
    };
    let builder = match scenario {
        "auth/client-credentials-jwt" | "auth/client-credentials-basic" => {
            builder.grant(Grant::ClientCredentials)
        }
        "auth/enterprise-managed-authorization" => {
            let needed = |name: &str| text(name).unwrap_or_default();
            builder.grant(Grant::Enterprise(EnterpriseGrant::new(
                needed("idp_issuer"),
                needed("idp_token_endpoint"),
                ClientCredentials::public(needed("idp_client_id")),
                TokenSource::fixed(needed("idp_id_token")),
            )))
        }
        "auth/wif-jwt-bearer" => {
            builder.grant(Grant::WorkloadIdentity(TokenSource::fixed(text("valid_jwt").unwrap_or_default())))
        }
        "auth/dpop" | "auth/dpop-nonce" => builder.bound_tokens(),
        _ => builder,
    };
    builder.build()
}

/// A person who consents to everything: the page is fetched, and where it leads is the answer.
struct ScriptedBrowser;

impl Browser for ScriptedBrowser {
    fn redirect_target<'a>(
        &'a self,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn RedirectTarget>, OAuthError>> {
        let target: Box<dyn RedirectTarget> = Box::new(Self);
        Box::pin(std::future::ready(Ok(target)))
    }
}

impl RedirectTarget for ScriptedBrowser {
    fn uri(&self) -> &str {
        REDIRECT
    }

    fn sign_in(
        self: Box<Self>,
        page: String,
        is_answer: Box<dyn Fn(&str) -> bool + Send + Sync>,
    ) -> BoxFuture<'static, Result<String, OAuthError>> {
        Box::pin(async move {
            let location = location(&page).await;
            let query =
                location.as_deref().and_then(|location| location.strip_prefix(REDIRECT)?.strip_prefix('?'));
            let query = query.filter(|query| is_answer(query)).map(str::to_owned);
            query.ok_or(OAuthError::NoAnswer("the page led to no answer"))
        })
    }
}

/// Returns where a page of this machine leads.
async fn location(page: &str) -> Option<String> {
    let (host, path) = page.strip_prefix("http://")?.split_once('/')?;
    let mut stream = TcpStream::connect(host).await.ok()?;
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    let is_location = |line: &&str| line.to_ascii_lowercase().starts_with("location: ");
    Some(answer.lines().find(is_location)?[LOCATION..].to_owned())
}

const LOCATION: usize = "location: ".len();
/// The document that describes this client; the suite only looks at the address.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";
const REDIRECT: &str = "http://localhost:3000/callback";
