//! The issuers of the tokens of a server, and the documents in which servers and issuers describe themselves.

use http::HeaderMap;
use mgp_security::network::{Fetcher, issuer_metadata_urls};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::OAuthError;
use super::challenge::{Challenge, param};
use super::token_request::parsed;

/// The issuer of a server's tokens, and what tokens for the server are for.
#[derive(Debug, Clone)]
pub(super) struct Discovered {
    pub(super) issuer: IssuerMetadata,
    /// The resource that tokens are asked for; `None` at servers of 2025-03-26, which know none.
    pub(super) resource: Option<String>,
    /// The scopes that the server knows.
    pub(super) scopes_supported: Option<Vec<String>>,
}

/// Finds the issuer of the tokens of `server`. With `pinned`, no other issuer is accepted.
pub(super) async fn discover(
    fetcher: &Fetcher,
    server: &Url,
    challenges: &[Challenge],
    pinned: Option<&str>,
) -> Result<Discovered, OAuthError> {
    let Some(resource) = resource_metadata(fetcher, server, challenges).await? else {
        return legacy(fetcher, server, pinned).await;
    };
    if !covers(&resource.resource, server) {
        return Err(OAuthError::OtherResource);
    }
    let mut named = resource.authorization_servers.iter().take(MAX_ISSUERS);
    let issuer = named.find(|issuer| pinned.is_none_or(|pinned| *issuer == pinned));
    let issuer =
        issuer.ok_or(OAuthError::Metadata("the server names no issuer of tokens that may be used"))?;
    let issuer = issuer_metadata(fetcher, issuer)
        .await?
        .ok_or(OAuthError::Metadata("the issuer of the server's tokens publishes no metadata"))?;
    Ok(Discovered { issuer, resource: Some(resource.resource), scopes_supported: resource.scopes_supported })
}

/// Returns the metadata of the server: what its challenge names, or else what stands at the usual places.
async fn resource_metadata(
    fetcher: &Fetcher,
    server: &Url,
    challenges: &[Challenge],
) -> Result<Option<ResourceMetadata>, OAuthError> {
    if let Some(url) = param(challenges, "resource_metadata") {
        let found = document(fetcher, url, "the server's metadata").await?;
        return found
            .map(Some)
            .ok_or(OAuthError::Metadata("the server's metadata is not where its challenge says"));
    }
    let path = server.path().trim_end_matches('/');
    let origin = server.origin().ascii_serialization();
    let places = [format!("{origin}{RESOURCE}{path}"), format!("{origin}{RESOURCE}")];
    let places = if path.is_empty() { &places[1..] } else { &places[..] };
    for place in places {
        if let Some(found) = document(fetcher, place, "the server's metadata").await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns what a server of 2025-03-26 is: its own issuer, with or without metadata at its root.
async fn legacy(fetcher: &Fetcher, server: &Url, pinned: Option<&str>) -> Result<Discovered, OAuthError> {
    let origin = server.origin().ascii_serialization();
    if pinned.is_some_and(|pinned| pinned.trim_end_matches('/') != origin) {
        return Err(OAuthError::Metadata("the server names no issuer of tokens that may be used"));
    }
    let found: Option<IssuerMetadata> =
        document(fetcher, &format!("{origin}{ISSUER}"), "the issuer's metadata").await?;
    let issuer = match found {
        Some(issuer) if issuer.issuer.trim_end_matches('/') == origin => issuer,
        Some(_) => return Err(OAuthError::Metadata(OTHER_ISSUER)),
        None => IssuerMetadata::default_at(&origin),
    };
    Ok(Discovered { issuer, resource: None, scopes_supported: None })
}

/// Returns the metadata of an issuer, which has to name exactly this issuer.
pub(super) async fn issuer_metadata(
    fetcher: &Fetcher,
    issuer: &str,
) -> Result<Option<IssuerMetadata>, OAuthError> {
    let places = issuer_metadata_urls(issuer)
        .ok_or(OAuthError::Metadata("the issuer is no URL, or one with a query or a fragment"))?;
    for place in places {
        if let Some(found) = document::<IssuerMetadata>(fetcher, &place, "the issuer's metadata").await? {
            // A comparison of characters: two spellings of one address may be two issuers.
            let is_same = found.issuer == issuer;
            return is_same.then_some(Some(found)).ok_or(OAuthError::Metadata(OTHER_ISSUER));
        }
    }
    Ok(None)
}

/// Fetches a document; `None` if it is not there.
async fn document<T: DeserializeOwned>(
    fetcher: &Fetcher,
    url: &str,
    what: &'static str,
) -> Result<Option<T>, OAuthError> {
    let answer = fetcher.get(url, &HeaderMap::new()).await.map_err(OAuthError::unfetched(what))?;
    match answer.status.as_u16() {
        200 => {}
        status if (400..500).contains(&status) => return Ok(None),
        _ => {
            let what = "the metadata of the server or its issuer cannot be had now; try again later";
            return Err(OAuthError::Metadata(what));
        }
    }
    let document = parsed(&answer);
    document.map(Some).ok_or(OAuthError::Metadata("the metadata of the server or its issuer is malformed"))
}

/// Returns whether tokens for `resource` are for `server`: the same origin, and the same path or one above it.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (own, wanted) = (resource.path().trim_end_matches('/'), server.path().trim_end_matches('/'));
    let below = wanted.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == server.origin() && below && resource.fragment().is_none()
}

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const ISSUER: &str = "/.well-known/oauth-authorization-server";
const OTHER_ISSUER: &str = "the issuer's metadata names another issuer, so it is not used";
/// The number of issuers that a server may name.
const MAX_ISSUERS: usize = 16;

/// The metadata of a protected resource (RFC 9728).
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ResourceMetadata {
    pub(super) resource: String,
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
    pub(super) scopes_supported: Option<Vec<String>>,
}

/// The metadata of an issuer (RFC 8414, and OpenID Connect Discovery).
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct IssuerMetadata {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    pub(super) registration_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) device_authorization_endpoint: Option<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
    pub(super) code_challenge_methods_supported: Option<Vec<String>>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
}

impl IssuerMetadata {
    /// Returns the metadata of an issuer that publishes none: a server of 2025-03-26, with the endpoints where that revision
    /// has them.
    pub(super) fn default_at(origin: &str) -> Self {
        Self {
            issuer: origin.to_owned(),
            authorization_endpoint: Some(format!("{origin}/authorize")),
            token_endpoint: Some(format!("{origin}/token")),
            registration_endpoint: Some(format!("{origin}/register")),
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_for_the_server_its_path_or_one_above_it() {
        let server = Url::parse("https://a.example/team/mcp?x=1").unwrap();
        for resource in [
            "https://a.example",
            "https://a.example/",
            "https://a.example/team",
            "https://A.example:443/team/mcp/",
        ] {
            assert!(covers(resource, &server), "{resource}");
        }
        for resource in [
            "https://b.example/team/mcp",
            "http://a.example/team/mcp",
            "https://a.example/tea",
            "https://a.example/team/mcp/x",
            "https://a.example:444/",
            "https://evil.example/?https://a.example/team/mcp",
            "a.example",
        ] {
            assert!(!covers(resource, &server), "{resource}");
        }
    }
}
