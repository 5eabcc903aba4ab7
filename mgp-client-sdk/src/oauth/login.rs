//! How a token is obtained: the client, the grant, and a login (in a browser with PKCE, or on another device).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use mgp_security::jose::SigningKey;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};
use url::Url;

use super::authorizer::Authorizer;
use super::discovery::{Discovered, IssuerMetadata};
use super::registration::{ProvenClient, random, register};
use super::store::StoredLogin;
use super::token_request::{
    Form, Token, TokenEndpoint, enterprise_assertion, exchanged, joined, jwt_bearer, read, refusal,
};
use super::{Grant, OAuthError};

/// A login by a code, whose only secret is its verifier: the state and the challenge follow from it.
pub(super) struct CodeLogin<'a> {
    pub(super) redirect_uri: String,
    pub(super) verifier: String,
    pub(super) scopes: &'a [Box<str>],
}

impl CodeLogin<'_> {
    /// Returns the page of the issuer at which a person signs in.
    pub(super) fn page(&self, endpoint: &TokenEndpoint<'_>) -> Result<String, OAuthError> {
        let issuer = endpoint.issuer;
        let challenges = issuer.code_challenge_methods_supported.as_deref().unwrap_or_default();
        if !challenges.iter().any(|method| method == "S256") {
            let what = "the issuer does not bind codes to the client that asks for them (PKCE, S256), which logins need";
            return Err(OAuthError::Metadata(what));
        }
        let page = issuer.authorization_endpoint.as_deref();
        let page = page.ok_or(OAuthError::Metadata("the issuer has no page to sign in at"))?;
        let mut page = Url::parse(page).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        let page = page
            .as_mut()
            .ok_or(OAuthError::Metadata("the issuer's page to sign in at is no page of the web"))?;
        let mut query = Form::of(&[
            ("response_type", "code"),
            ("client_id", &endpoint.client.id),
            ("redirect_uri", &self.redirect_uri),
            ("state", &self.state()),
            ("code_challenge", &URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier))),
            ("code_challenge_method", "S256"),
        ]);
        query.set_if_some("resource", endpoint.resource);
        query.set_if_some("scope", joined(self.scopes).as_deref());
        if let Some(key) = &endpoint.key {
            query.set("dpop_jkt", key.thumbprint());
        }
        let before = page.query().filter(|before| !before.is_empty()).map(|before| format!("{before}&"));
        page.set_query(Some(&format!("{}{}", before.unwrap_or_default(), query.to_text())));
        Ok(page.to_string())
    }

    /// Returns the text by which the answer to this login is known. Whoever sees it learns nothing of the verifier.
    fn state(&self) -> String {
        let digest = Sha256::new().chain_update("the state of ").chain_update(&self.verifier);
        URL_SAFE_NO_PAD.encode(digest.finalize())
    }

    /// Returns the token for the code in the answer.
    pub(super) async fn token(
        &self,
        endpoint: &TokenEndpoint<'_>,
        answer: &str,
    ) -> Result<Token, OAuthError> {
        let code = code(answer, &self.state(), endpoint.issuer)?;
        let form = Form::of(&[
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", &self.verifier),
        ]);
        endpoint.ask(form, self.scopes).await
    }
}

/// Returns the code in the answer to a login, once it is known that the answer is to this login and from this issuer.
fn code(answer: &str, state: &str, expected: &IssuerMetadata) -> Result<String, OAuthError> {
    if !param(answer, "state").is_some_and(|theirs| same(&theirs, state)) {
        return Err(OAuthError::OtherLogin);
    }
    // The answer of another issuer could be an attack, and nothing of it is repeated.
    match param(answer, "iss") {
        Some(issuer) if issuer != expected.issuer => return Err(OAuthError::OtherIssuer),
        None if expected.authorization_response_iss_parameter_supported => {
            return Err(OAuthError::OtherIssuer);
        }
        _ => {}
    }
    if let Some(error) = param(answer, "error") {
        return Err(OAuthError::refused(&error));
    }
    let code = param(answer, "code").filter(|code| !code.is_empty());
    code.ok_or(OAuthError::Metadata("the issuer's answer to the login has no code"))
}

/// Returns the one value of this name in a query. A name that comes twice has none.
fn param(query: &str, name: &str) -> Option<String> {
    let mut found = url::form_urlencoded::parse(query.as_bytes()).filter(|(own, _)| own == name);
    let (_, value) = found.next()?;
    found.next().is_none().then(|| value.into_owned())
}

/// Compares two texts in a time that does not tell how much of them is equal.
fn same(one: &str, other: &str) -> bool {
    let (one, other) = (Sha256::digest(one), Sha256::digest(other));
    one.iter().zip(other).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

/// The address and the code that a person needs to sign in on another device.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeviceCode {
    /// The page to open.
    pub page: Box<str>,
    /// The code to type there.
    pub code: Box<str>,
    /// The page with the code in it, if the issuer has such.
    pub whole_page: Option<Box<str>>,
}

#[derive(Deserialize)]
struct DeviceAnswer {
    device_code: Box<str>,
    user_code: Box<str>,
    verification_uri: Box<str>,
    verification_uri_complete: Option<Box<str>>,
    expires_in: Option<u64>,
    interval: Option<u64>,
}

/// Has a person sign in on another device, and waits for the token.
pub(super) async fn sign_in_elsewhere(
    endpoint: &TokenEndpoint<'_>,
    scopes: &[Box<str>],
    show: impl FnOnce(&DeviceCode) + Send,
) -> Result<Token, OAuthError> {
    let url = endpoint.issuer.device_authorization_endpoint.as_deref();
    let url =
        url.ok_or(OAuthError::Metadata("the issuer has no logins on other devices; sign in with a browser"))?;
    let (mut form, mut headers) = (Form::default(), http::HeaderMap::new());
    endpoint.client.prove(endpoint.issuer, &mut form, &mut headers)?;
    if headers.contains_key(http::header::AUTHORIZATION) {
        form.set("client_id", &endpoint.client.id);
    }
    form.set_if_some("scope", joined(scopes).as_deref());
    form.set_if_some("resource", endpoint.resource);
    let posted = endpoint.fetcher.post_form(url, &headers, form.to_text()).await;
    let fetched = posted.map_err(OAuthError::unfetched("a code for another device"))?;
    if !fetched.status.is_success() {
        return Err(refusal(&fetched));
    }
    let device: DeviceAnswer = read(&fetched)?;
    let is_page = |page: &str| page.starts_with("https://") || page.starts_with("http://");
    if !is_page(&device.verification_uri) {
        return Err(OAuthError::Metadata("the issuer's page to sign in at is no page of the web"));
    }
    show(&DeviceCode {
        page: device.verification_uri,
        code: device.user_code,
        whole_page: device.verification_uri_complete.filter(|page| is_page(page)),
    });
    let mut interval = Duration::from_secs(device.interval.unwrap_or(5).clamp(1, 60));
    let end = Instant::now() + Duration::from_secs(device.expires_in.unwrap_or(600).min(3600));
    loop {
        sleep(interval).await;
        if Instant::now() >= end {
            return Err(OAuthError::NoAnswer("the time for it is over; try again"));
        }
        let form = Form::of(&[("grant_type", DEVICE_GRANT), ("device_code", &device.device_code)]);
        match endpoint.ask(form, scopes).await {
            Err(OAuthError::Refused(code)) if *code == *"authorization_pending" => {}
            Err(OAuthError::Refused(code)) if *code == *"slow_down" => interval += Duration::from_secs(5),
            done => return done,
        }
    }
}

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

impl Authorizer {
    /// Obtains a token by the grant, and keeps the login.
    pub(super) async fn obtain(
        &self,
        login: &mut Option<StoredLogin>,
        discovered: &Discovered,
        scopes: Vec<Box<str>>,
    ) -> Result<(), OAuthError> {
        let mut fresh = self.fresh(login.as_ref(), discovered)?;
        fresh.token = Some(match &self.settings.grant {
            Grant::Login => self.by_login(&mut fresh, discovered, &scopes).await?,
            other => {
                let endpoint = self.endpoint(&mut fresh, discovered, "", &scopes).await?;
                self.by_grant(other, &endpoint, &scopes).await?
            }
        });
        self.keep(login, fresh).await
    }

    /// Has a person sign in, and returns the token.
    async fn by_login(
        &self,
        fresh: &mut StoredLogin,
        discovered: &Discovered,
        scopes: &[Box<str>],
    ) -> Result<Token, OAuthError> {
        let browser = self.settings.browser.as_ref();
        let browser = browser.ok_or_else(|| OAuthError::LoginNeeded(self.settings.login_advice.clone()))?;
        let before = fresh.client.as_ref().map(|client| client.redirect_uri.clone());
        let target = browser.redirect_target(before.as_deref()).await?;
        let login = CodeLogin { redirect_uri: target.uri().to_owned(), verifier: random(), scopes };
        let endpoint = self.endpoint(fresh, discovered, target.uri(), scopes).await?;
        let (page, state) = (login.page(&endpoint)?, login.state());
        let is_answer = move |query: &str| param(query, "state").is_some_and(|theirs| same(&theirs, &state));
        let answer = target.sign_in(page, Box::new(is_answer)).await?;
        login.token(&endpoint, &answer).await
    }

    async fn by_grant(
        &self,
        grant: &Grant,
        endpoint: &TokenEndpoint<'_>,
        scopes: &[Box<str>],
    ) -> Result<Token, OAuthError> {
        let mut form = match grant {
            Grant::ClientCredentials | Grant::Login => Form::of(&[("grant_type", "client_credentials")]),
            Grant::Enterprise(grant) => {
                let of = endpoint.resource.unwrap_or(self.server.as_str());
                jwt_bearer(&enterprise_assertion(endpoint, grant, of, scopes).await?)
            }
            Grant::WorkloadIdentity(source) => jwt_bearer(&source.token().await?),
            Grant::TokenExchange(source) => exchanged(&source.token().await?),
        };
        form.set_if_some("scope", joined(scopes).as_deref());
        // A refusal is final: nothing else is tried.
        endpoint.ask(form, scopes).await
    }

    /// Returns a login at the issuer without a token, with what is known of the one before.
    pub(super) fn fresh(
        &self,
        before: Option<&StoredLogin>,
        discovered: &Discovered,
    ) -> Result<StoredLogin, OAuthError> {
        let key = match before.and_then(|login| login.key.clone()) {
            _ if !self.settings.binds_tokens => None,
            Some(key) => Some(key),
            None => Some(SigningKey::generate()?.to_der().to_vec()),
        };
        let client = before.and_then(|login| login.client.clone());
        Ok(StoredLogin { issuer: discovered.issuer.issuer.as_str().into(), client, token: None, key })
    }

    /// Returns who the client is at the issuer: the configured one, the one that a document describes, the one that was
    /// registered before, or one that is registered now.
    async fn client(
        &self,
        fresh: &mut StoredLogin,
        discovered: &Discovered,
        redirect_uri: &str,
        scopes: &[Box<str>],
    ) -> Result<ProvenClient, OAuthError> {
        let issuer = &discovered.issuer;
        if let Some(configured) = self.configured(issuer) {
            return Ok(configured);
        }
        if let Some(url) = &self.settings.metadata_url
            && issuer.client_id_metadata_document_supported
        {
            return Ok(ProvenClient::public(url));
        }
        if let Some(registered) = &fresh.client
            && *registered.redirect_uri == *redirect_uri
        {
            return Ok(ProvenClient::registered(registered));
        }
        let name = &self.settings.client_name;
        let scope = joined(scopes);
        let registered = register(&self.fetcher, issuer, name, redirect_uri, scope.as_deref()).await?;
        let client = ProvenClient::registered(&registered);
        fresh.client = Some(registered);
        Ok(client)
    }

    /// Returns the configured client, unless it belongs to another issuer.
    fn configured(&self, issuer: &IssuerMetadata) -> Option<ProvenClient> {
        let configured = self.settings.credentials.as_ref()?;
        let is_here = configured.issuer.as_deref().is_none_or(|of| of == issuer.issuer);
        is_here.then(|| ProvenClient::configured(configured, issuer))
    }

    pub(super) async fn endpoint<'a>(
        &'a self,
        fresh: &mut StoredLogin,
        discovered: &'a Discovered,
        redirect_uri: &str,
        scopes: &[Box<str>],
    ) -> Result<TokenEndpoint<'a>, OAuthError> {
        Ok(TokenEndpoint {
            fetcher: &self.fetcher,
            issuer: &discovered.issuer,
            resource: discovered.resource.as_deref(),
            client: self.client(fresh, discovered, redirect_uri, scopes).await?,
            key: fresh.signing_key()?,
            nonce: &self.issuer_nonce,
        })
    }

    /// Tells the issuer that the tokens of a login are no longer needed (RFC 7009), as far as it can be told.
    pub(super) async fn revoke(&self, login: StoredLogin) {
        let Some(token) = &login.token else { return };
        let issuer = super::discovery::issuer_metadata(&self.fetcher, &login.issuer).await;
        let Ok(Some(issuer)) = issuer else { return };
        let Some(endpoint) = issuer.revocation_endpoint.clone() else { return };
        let registered = || login.client.as_ref().map(ProvenClient::registered);
        let Some(client) = self.configured(&issuer).or_else(registered) else { return };
        let tokens = [("refresh_token", token.refresh.as_deref()), ("access_token", Some(&*token.access))];
        for (hint, token) in tokens {
            let Some(token) = token else { continue };
            let (mut form, mut headers) =
                (Form::of(&[("token", token), ("token_type_hint", hint)]), HeaderMap::new());
            if client.prove(&issuer, &mut form, &mut headers).is_err() {
                return;
            }
            if let Err(error) = self.fetcher.post_form(&endpoint, &headers, form.to_text()).await {
                tracing::warn!(%error, "the issuer could not be told that a token is no longer needed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(advertised: bool) -> IssuerMetadata {
        let mut issuer = IssuerMetadata::default_at("https://id.example");
        issuer.authorization_response_iss_parameter_supported = advertised;
        issuer
    }

    #[test]
    fn the_answer_is_from_the_issuer_that_was_asked() {
        let answer = |iss: &str| format!("code=c&state=s{iss}");
        for (advertised, iss, is_taken) in [
            (true, "&iss=https%3A%2F%2Fid.example", true),
            (true, "", false),
            (false, "", true),
            (false, "&iss=https%3A%2F%2Fid.example", true),
            (false, "&iss=https%3A%2F%2Fevil.example", false),
            (true, "&iss=https%3A%2F%2Fid.example%2F", false),
            (true, "&iss=https%3A%2F%2FID.example", false),
            (true, "&iss=https%3A%2F%2Fid.example&iss=https%3A%2F%2Fevil.example", false),
        ] {
            assert_eq!(code(&answer(iss), "s", &at(advertised)).is_ok(), is_taken, "{advertised} {iss}");
        }
        let refused = code("error=access_denied&state=s&iss=https%3A%2F%2Fevil.example", "s", &at(true));
        assert!(matches!(refused, Err(OAuthError::OtherIssuer)));
    }

    #[test]
    fn an_answer_to_another_login_is_refused_and_an_error_is_told_without_its_prose() {
        assert!(matches!(code("code=c&state=other", "s", &at(false)), Err(OAuthError::OtherLogin)));
        assert!(matches!(code("code=c", "s", &at(false)), Err(OAuthError::OtherLogin)));
        assert!(matches!(code("code=c&state=s&state=s", "s", &at(false)), Err(OAuthError::OtherLogin)));
        let refused = code("error=access_denied&error_description=%1b%5b31mrm&state=s", "s", &at(false));
        assert_eq!(refused.unwrap_err().to_string(), "the issuer refuses: access_denied");
        let odd = code("error=%1b%5b31m&state=s", "s", &at(false)).unwrap_err().to_string();
        assert_eq!(odd, "the issuer refuses: it gives no reason that can be shown");
    }
}
