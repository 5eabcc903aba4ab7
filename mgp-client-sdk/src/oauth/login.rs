//! A login: from the page of the issuer to a token (authorization code with PKCE), or on another device (RFC 8628).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};
use url::Url;

use super::OAuthError;
use super::browser::RedirectTarget;
use super::discovery::IssuerMetadata;
use super::grant::joined;
use super::registration::random;
use super::token_request::{Form, Token, TokenEndpoint, read, refusal};

/// Has a person sign in, and returns the token.
pub(super) async fn sign_in(
    endpoint: &TokenEndpoint<'_>,
    target: Box<dyn RedirectTarget>,
    scopes: &[Box<str>],
) -> Result<Token, OAuthError> {
    let issuer = endpoint.issuer;
    let challenges = issuer.code_challenge_methods_supported.as_deref().unwrap_or_default();
    if !challenges.iter().any(|method| method == "S256") {
        let what =
            "the issuer does not bind codes to the client that asks for them (PKCE, S256), which logins need";
        return Err(OAuthError::Metadata(what));
    }
    let page = issuer.authorization_endpoint.as_deref();
    let page = page.ok_or(OAuthError::Metadata("the issuer has no page to sign in at"))?;
    let mut page = Url::parse(page).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
    let page =
        page.as_mut().ok_or(OAuthError::Metadata("the issuer's page to sign in at is no page of the web"))?;
    let (verifier, state) = (random(), random());
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
    let redirect_uri = target.uri().to_owned();
    let mut query = Form::of(&[
        ("response_type", "code"),
        ("client_id", &endpoint.client.id),
        ("redirect_uri", &redirect_uri),
        ("state", &state),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ]);
    query.set_if_some("resource", endpoint.resource);
    query.set_if_some("scope", joined(scopes).as_deref());
    if let Some(key) = &endpoint.key {
        query.set("dpop_jkt", key.thumbprint());
    }
    let before = page.query().filter(|before| !before.is_empty()).map(|before| format!("{before}&"));
    page.set_query(Some(&format!("{}{}", before.unwrap_or_default(), query.to_text())));
    let own = state.clone();
    let is_answer = move |query: &str| param(query, "state").is_some_and(|state| same(&state, &own));
    let answer = target.sign_in(page.to_string(), Box::new(is_answer)).await?;
    let code = code(&answer, &state, issuer)?;
    let form = Form::of(&[
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", &redirect_uri),
        ("code_verifier", &verifier),
    ]);
    endpoint.ask(form, scopes).await
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
